"""AUGUSTUS obeys the hints that are written for it, on a piece of the worm."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from seqmtl.scanning.writers.gff import hint_fields
from seqmtl.scanning.writers.lines import format_lines

CONFIG = Path(__file__).resolve().parents[2] / "examples" / "augustus" / "extrinsic.S.cfg"
CONTIG, LENGTH = "II", 20_000


@pytest.fixture(scope="module")
def piece(tmp_path_factory, shared_data):
    """Return the FASTA of a piece of the worm, and its introns (start, end, is_reverse)."""
    if shutil.which("augustus") is None:
        pytest.skip("augustus is not installed")
    pieces = shared_data / "genomes_1pct"
    with gzip.open(pieces / "c_elegans.1pct.fa.gz", "rt") as stream:
        records = {r.split()[0]: "".join(r.split("\n")[1:]) for r in stream.read().split(">")[1:]}
    path = tmp_path_factory.mktemp("augustus") / "piece.fa"
    path.write_text(f">{CONTIG}\n{records[CONTIG][:LENGTH]}\n")
    introns = set()
    with gzip.open(pieces / "c_elegans.1pct.gff3.gz", "rt") as stream:
        for row in (line.split("\t") for line in stream):
            if row[0] == CONTIG and row[1:3] == ["WormBase", "intron"] and int(row[4]) < LENGTH:
                introns.add((int(row[3]) - 1, int(row[4]), row[6] == "-"))
    return path, sorted(introns)


def predict(fasta, hints):
    """Return the introns that AUGUSTUS predicts, and how many hints of S support them."""
    options = [f"--extrinsicCfgFile={CONFIG}", f"--hintsfile={hints}"]
    done = subprocess.run(
        ["augustus", "--species=caenorhabditis", *options, fasta],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split("\t") for line in done.stdout.splitlines() if "\tintron\t" in line]
    introns = {(int(row[3]) - 1, int(row[4]), row[6] == "-") for row in rows}
    obeyed = re.findall(r"hint groups fully obeyed: (\d+)", done.stdout)
    return introns, sum(map(int, obeyed))


def write(path, introns, p):
    """Write donors and acceptors of introns as hints."""
    start, end, is_reverse = (np.array(column) for column in zip(*introns, strict=True))
    text = b""
    for kind, at_start in (("dss", ~is_reverse), ("ass", is_reverse)):
        base = np.where(at_start, start, end - 1)
        text += b"".join(format_lines(hint_fields(CONTIG.encode(), kind, base, 1, is_reverse, p)))
    path.write_bytes(text)
    return path


def test_hints_are_obeyed_and_add_introns(piece, tmp_path):
    fasta, introns = piece
    sure, none = np.full(len(introns), 0.99), np.full(len(introns), 0.01)
    with_hints, n_obeyed = predict(fasta, write(tmp_path / "a", introns, sure))
    without, _ = predict(fasta, write(tmp_path / "b", introns[:1], none[:1]))
    assert len(set(introns)) > 20
    assert len(with_hints & set(introns)) > len(without & set(introns))
    assert n_obeyed > 1.2 * len(introns)  # two for each intron that is found
    moved = [(start + 1, end + 1, is_reverse) for start, end, is_reverse in introns]
    assert predict(fasta, write(tmp_path / "c", moved, sure))[1] < 0.1 * n_obeyed


@pytest.mark.parametrize("page", ["howto/gene_finders.md"])
def test_the_documented_line_makes_hints_of_certain_introns_only(tmp_path, page):
    """Introns of ``annotate`` begin at probability 0.1; hints of reads are believed."""
    text = (Path(__file__).resolve().parents[2] / "docs" / page).read_text()
    (line,) = (line for line in text.splitlines() if line.startswith("awk "))
    rows = [
        f"c\tseqmtl\tintron\t{k}1\t{k}9\t{p}\t+\t.\tID=i{k}" for k, p in enumerate((0.1, 0.9, 0.95))
    ]
    (tmp_path / "introns.gff3").write_text("##gff-version 3\n" + "\n".join(rows) + "\n")
    subprocess.run(line, shell=True, check=True, cwd=tmp_path)
    hints = (tmp_path / "introns.hints").read_text().splitlines()
    assert [hint.split("\t")[3] for hint in hints] == ["11", "21"]
