"""Small simulated data, which `--quick` takes in the place of real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from _common import seqmtl

ORGANISMS = ("a", "b", "c")
TREE = "((a:1,b:1):1,c:2);"
#: Simulated genomes have the names of organisms of the starter models, which scan them.
GENOMES = ("c_elegans", "d_melanogaster")


def windows(folder: Path) -> dict[str, Any]:
    """Write 360 windows of three organisms in two splits, and their tree.

    True sites, one in four, tend to have TTC after the AG in the middle.
    """
    rng, rows = np.random.default_rng(0), ["organism\tlabel\tsplit\tsequence"]
    for n in range(360):
        bases, is_true = rng.choice(list("ACGT"), 20), n % 4 == 0
        bases[8:10] = list("AG")
        if is_true:
            bases[10:13] = np.where(rng.random(3) < 0.8, list("TTC"), bases[10:13])
        split = "train" if n // 12 % 2 else "test"
        label = 1 if is_true else -1
        rows.append(f"{ORGANISMS[n // 4 % 3]}\t{label}\t{split}\t{''.join(bases)}")
    (folder / "windows.tsv").write_text("\n".join(rows) + "\n")
    (folder / "tree.nwk").write_text(TREE)
    return {"data": str(folder / "windows.tsv"), "tree": str(folder / "tree.nwk")}


def numbers(folder: Path) -> Path:
    """Write 240 examples of three columns and three tasks, of which the first column decides."""
    rng = np.random.default_rng(0)
    X, task = rng.standard_normal((240, 3)), np.arange(240) % 3
    y = np.sign(X[:, 0] + 0.3 * rng.standard_normal(240))
    np.savez(folder / "data.npz", X=X, y=y, task=task)
    return folder / "data.npz"


def genomes(folder: Path, names: tuple[str, ...] = GENOMES, kilobases: int = 12) -> Path:
    """Simulate genomes of four chromosomes with annotation; return a configuration of a dataset."""
    tree = "(" + ",".join(f"{name}:0.1" for name in names) + ");"
    options = ["--chromosomes", 4, "--chromosome-length", 1000 * kilobases]
    seqmtl("simulate", "-o", folder, "--tree", tree, "--windows", 5 * kilobases, *options)
    config = folder / "dataset.toml"
    splits = [f'\n[organisms.{name}.split]\nvalid = ["chr2"]\ntest = ["chr1"]\n' for name in names]
    config.write_text("window = 61\n" + config.read_text() + "".join(splits))
    return config


def datasets(folder: Path, *options: Any) -> tuple[Path, Path]:
    """Make the datasets of donors and acceptors of simulated genomes."""
    config, places = genomes(folder, *options), (folder / "donors", folder / "acceptors")
    for signal, place in zip(("donor", "acceptor"), places, strict=True):
        seqmtl("dataset", config, "--signal", signal, "-o", place)
    return places
