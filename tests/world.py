"""The simulated world that the tests of a session share: genomes, datasets and models on disk."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.invocation import run

SIMULATION = "--tree '(a:0.1,b:0.1);' --chromosomes 4 --chromosome-length 40000"
TRAINING = "--selection none --features wd:5 -C 10 --window 41"


@dataclass(frozen=True)
class World:
    """Organisms `a` and `b` with four chromosomes each: chr1 is for tests, chr2 to validate.

    Every part is made when a test first asks for it, once for all processes of the session. Tests
    read it and never write into it.
    """

    folder: Path

    def make(self, name: str, build: Callable[[Path], None]) -> Path:
        """Return the path of a part, which is built if no test has asked for it yet."""
        path = self.folder / name
        with open(self.folder / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                build(path)
        return path

    @property
    def simulation(self) -> Path:
        """Folder of genomes, annotations, a ``dataset.toml`` of both, and an ``a.toml``.

        The latter is of one organism, without a split by chromosomes.
        """
        return self.make("sim", _simulate)

    def dataset(self, signal: str) -> Path:
        """Return the folder of the dataset of a signal."""
        command = f"dataset {self.simulation}/dataset.toml --signal {signal}"
        return self.make(f"{signal}s", lambda path: run(f"{command} -o {path}"))

    def trained(self, signal: str) -> Path:
        """Return the model of a signal, not calibrated."""
        command = f"train {self.dataset(signal)} {TRAINING}"
        return self.make(f"{signal}_raw", lambda path: run(f"{command} -o {path}"))

    def calibrated(self, signal: str) -> Path:
        """Return the model of a signal, calibrated."""
        command = f"calibrate {self.trained(signal)} {self.dataset(signal)}"
        return self.make(signal, lambda path: run(f"{command} -o {path}"))

    @property
    def paired(self) -> Path:
        """The paired model."""
        models = " ".join(str(self.calibrated(signal)) for signal in ("donor", "acceptor"))
        datasets = " ".join(str(self.dataset(signal)) for signal in ("donor", "acceptor"))
        command = f"pair {models} {datasets}"
        return self.make("splice", lambda path: run(f"{command} -o {path}"))


def _simulate(folder: Path) -> None:
    run(f"simulate {SIMULATION} -o {folder}")
    text = "window = 61\n" + (folder / "dataset.toml").read_text()
    split = '\n[organisms.{}.split]\nvalid = ["chr2"]\ntest = ["chr1"]\n'
    (folder / "dataset.toml").write_text(text + split.format("a") + split.format("b"))
    (folder / "a.toml").write_text(text[: text.index('[organisms."b"]')])
