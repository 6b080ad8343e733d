"""A real PostgreSQL server for tests and torture, where its programs are installed; stopped and removed afterwards."""

import contextlib
import glob
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

PASSWORD = "s3cret-pass"


def programs():
    """The folder with initdb and pg_ctl, or None."""
    there = [os.path.dirname(path) for path in [shutil.which("initdb")] if path]
    there += sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    return next(
        (folder for folder in there if os.path.exists(f"{folder}/pg_ctl") and os.path.exists(f"{folder}/initdb")), None
    )


@contextlib.contextmanager
def postgres(durable=False):
    """The address of a server with an empty database; None where no server can be started."""
    given = os.environ.get("BESTARM_TEST_POSTGRES")
    if given:
        yield given
        return
    folder = programs()
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if folder is None or (root and shutil.which("runuser") is None):
        yield None
        return
    home = Path(tempfile.mkdtemp(prefix="bestarm-postgres-"))
    as_user = []
    if root:  # the server refuses to run as root
        shutil.chown(home, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    secret = home / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def call(*words):
        subprocess.run(
            [*as_user, *words], check=True, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120
        )

    data = str(home / "data")
    call(
        f"{folder}/initdb",
        "-D",
        data,
        "-U",
        "tester",
        "--auth=scram-sha-256",
        f"--pwfile={secret}",
        "-E",
        "UTF8",
        "--no-sync",
    )
    durable = "on" if durable else "off"  # tests of what is computed need no disk
    options = f"-p {port} -c listen_addresses=127.0.0.1 -k {home} -c max_connections=60 -c fsync={durable}"
    call(f"{folder}/pg_ctl", "-D", data, "-w", "-l", str(home / "log"), "-o", options, "start")
    try:
        yield f"postgresql://tester:{PASSWORD}@127.0.0.1:{port}/postgres"
    finally:
        call(f"{folder}/pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(home, ignore_errors=True)
