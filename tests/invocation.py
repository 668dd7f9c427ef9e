"""Commands in this process, for fixtures that live longer than a test; and what they write."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from seqmtl.commands.main import main
from seqmtl.sequences import Windows


def exit_code(words: list[str]) -> int:
    """Run a command and return its exit code: 1 if data or a file is at fault, 2 an option."""
    try:
        return main(words)
    except SystemExit as stop:
        return stop.code


def run(command: str, code: int = 0) -> None:
    """Run a command without its messages, and check its exit code."""
    assert exit_code([*shlex.split(command), "-q"]) == code, command


def python(folder: Path | None, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, in a folder, with other variables."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def write_windows(
    path: Path, *parts: Windows, splits: Sequence[str] = (), has_organisms: bool = True
) -> Path:
    """Write windows as a table, with the split of every one if there are any."""
    names = ["organism"] * has_organisms + ["label", "sequence"] + ["split"] * bool(splits)
    rows = [names]
    for part in parts:
        columns = [part.tasks] * has_organisms + [part.labels.astype(str), part.sequences()]
        rows += zip(*columns, *[splits] * bool(splits), strict=True)
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    return path


def rows_of(path: Path) -> list[list[str]]:
    """Return the fields of the lines of a table that are no comments."""
    lines = path.read_text().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def sites_in(path: Path, column: int = 7) -> dict[tuple[str, int, str], float]:
    """Return the probabilities of the sites of a BED file by contig, start and strand."""
    return {(row[0], int(row[1]), row[5]): float(row[column]) for row in rows_of(path)}


def write_vcf(path: Path, variants: list[tuple[str, int, str, str]]) -> Path:
    """Write variants, (contig, 0-based start, ref, alt), with rs0, rs1... as names."""
    rows = [
        f"{contig}\t{start + 1}\trs{k}\t{ref}\t{alt}\t.\t.\t."
        for k, (contig, start, ref, alt) in enumerate(variants)
    ]
    header = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def write_pieces(genome: Path, path: Path, sizes: np.ndarray) -> Path:
    """Write the first letters of a genome as many contigs, c0, c1... of these sizes."""
    lines = genome.read_text().split()
    text = "".join(line for line in lines if line[0] != ">")
    cuts = pairwise([0, *sizes.cumsum().tolist()])
    pieces = (f">c{k}\n{text[first:last]}\n" for k, (first, last) in enumerate(cuts))
    path.write_text("".join(pieces))
    return path
