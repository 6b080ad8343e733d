"""2,000 mutated model files: each is read as a model or refused with an InputError, never anything else."""

import tempfile
import warnings
from pathlib import Path

import numpy as np

import bestarm as ba

NUMBER = 2000
MODELS = (
    ba.Gaussian.independent([0.1, 1 / 3], [0.5, 0.0], names=["NO", "1e3"], payloads=[{"t": [1, None]}, "x"]),
    ba.Gaussian.hierarchical([[0.2, 0.8], [1.0, 0.0]], [0, 1], np.eye(2), 0.1),
    ba.Gaussian.independent([0, 1], 1, ba.UnknownNoise(2, 1)).update([0, 0, 1], [1.0, 2.5, 0.1]),
    ba.Bernoulli.independent([1, 2], [3, 4], direction="minimize"),
    ba.Logistic([[1, 0.1], [0.3, 2]], [0.2, -1], np.eye(2)).condition([3, 0], [2, 0]),
)
PIECES = [
    "-1",
    "nan",
    ".inf",
    "1e400",
    "null",
    "[]",
    "{}",
    "!!python/object:os.system",
    "&a",
    "*a",
    "\x00",
    "\ufeff",
    "é",
    ":",
    "- ",
]


def mutated(text: str, rng: np.random.Generator) -> bytes:
    data = bytearray(text.encode())
    for _ in range(rng.integers(1, 3)):
        at = int(rng.integers(0, len(data) + 1))
        kind = rng.choice(6, p=[0.35, 0.15, 0.2, 0.1, 0.1, 0.1])
        if kind == 0 and data:
            data[min(at, len(data) - 1)] = int(rng.integers(32, 127))
        elif kind == 1:
            del data[at : at + int(rng.integers(1, 30))]
        elif kind == 2:
            data[at:at] = str(rng.choice(PIECES)).encode()
        elif kind == 3:
            data[at:at] = data[: int(rng.integers(0, 200))]
        elif kind == 4:
            lines = bytes(data).split(b"\n")
            rng.shuffle(lines)
            data = bytearray(b"\n".join(lines))
        else:
            data = bytearray(bytes(data).replace(b"0.", str(rng.choice(PIECES)).encode()))
    return bytes(data)


def main() -> None:
    read, refused = 0, 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ba.PrecisionWarning)
        for seed in range(NUMBER):
            rng = np.random.default_rng(seed)
            path = Path(folder) / ("m.json" if seed % 3 == 0 else "m.yaml")
            ba.save(MODELS[seed % len(MODELS)], path)
            path.write_bytes(mutated(path.read_text(), rng))
            try:
                model = ba.load(path)
                assert np.isfinite(model.mean).all()
                read += 1
            except ba.InputError as error:
                refused += 1
                if "\n" in str(error):
                    raise SystemExit(f"seed {seed}: more than a sentence: {error}") from error
            except Exception as error:
                print(f"seed {seed}: {type(error).__name__}: {error}")
                raise SystemExit(1) from error
    print(f"\n{NUMBER:,} mutated model files: {read} read, {refused} refused with one sentence, nothing else")
