# Two commands: `make demo` and `make test`. Each makes .venv from the lock if it is missing, and does its job.
# Needs Python >= 3.11, make, and a package index that pip can reach. `make lock` alone also fetches uv.

PYTHON ?= python3
ifeq ($(OS),Windows_NT)
  BIN := .venv/Scripts
else
  BIN := .venv/bin
endif
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test check format bench torture evidence lock wheel clean

demo: .venv/run.ready
	$(BIN)/bestarm demo

test: .venv/dev.ready
	$(BIN)/python -m pytest

check: .venv/dev.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/dev.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/dev.ready
	$(BIN)/python benchmarks/run.py bench

torture: .venv/dev.ready
	$(BIN)/python benchmarks/run.py torture

evidence: .venv/dev.ready
	$(BIN)/python benchmarks/run.py evidence

wheel: .venv/dev.ready
	$(PIP) wheel --no-build-isolation --no-deps --wheel-dir dist .

# The project itself is installed in place, with the locked build backend and without looking for anything more.
.venv/%.ready: locks/%.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bestarm needs Python 3.11 or newer; try: make PYTHON=python3.12 demo")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing from $< ..." >&2
	@$(PIP) install --require-hashes --no-deps -r $<
	@$(PIP) install --no-build-isolation --no-deps -e .
	@touch $@

# Versions and hashes for every platform and Python that pyproject.toml admits; no index address.
lock:
	@test -x .venv-lock/bin/uv || ($(PYTHON) -m venv .venv-lock && .venv-lock/bin/python -m pip --quiet install uv)
	.venv-lock/bin/uv --quiet pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-emit-find-links --no-header --no-annotate --upgrade pyproject.toml --group pyproject.toml:run -o locks/run.txt
	.venv-lock/bin/uv --quiet pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-emit-find-links --no-header --no-annotate -c locks/run.txt pyproject.toml --group pyproject.toml:dev -o locks/dev.txt

clean:
	rm -rf .venv .venv-lock dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
