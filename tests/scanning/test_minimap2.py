"""Splice scores move ambiguous junctions in the aligner that they are written for."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

from tests.oracles.annotation import reverse_complement
from tests.scanning.cases import make_contig, make_model, run_scan, text_rows

UNIT = "GTAGGT"  # a junction before it or 4 bases later gives the same transcript


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if shutil.which("minimap2") is None:
        pytest.skip("minimap2 is not installed")
    told = subprocess.run(["minimap2", "--version"], capture_output=True, text=True, check=True)
    if tuple(map(int, re.findall(r"\d+", told.stdout)[:2])) < (2, 29):
        pytest.skip("minimap2 is too old for splice scores")
    folder = tmp_path_factory.mktemp("minimap2")
    for signal, letters, seed in (("donor", "GT", 0), ("acceptor", "AG", 1)):
        make_model(folder / f"{signal}.seqmtl", letters=letters, signal=signal, seed=seed)
    return folder


def introns(genome, transcript, scores):
    """Introns that minimap2 finds, and how many scores it has read."""
    command = ["minimap2", "-cx", "splice:hq", "-uf", f"--spsc={scores}", genome, transcript]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    fields = done.stdout.splitlines()[0].split("\t")
    cigar = next(field[5:] for field in fields if field.startswith("cg:Z:"))
    place, found = int(fields[7]), []
    for n, kind in re.findall(r"(\d+)([MIDN=X])", cigar):
        if kind == "N":
            found.append((place, place + int(n)))
        place += int(n) if kind != "I" else 0
    return found, int(re.search(r"read (\d+) splice scores", done.stderr)[1])


@pytest.mark.parametrize("strand", ["+", "-"])
def test_the_better_of_two_junctions_is_chosen(folder, tmp_path, strand):
    chosen = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        exons = make_contig(rng, 200), make_contig(rng, 200)
        intron = f"{UNIT}A{make_contig(rng, 300).replace('GT', 'GA')}TTTTCCTTTTAG"
        before = make_contig(rng, 500) + exons[0]
        text = before + intron + UNIT + exons[1] + make_contig(rng, 500)
        text = text if strand == "+" else reverse_complement(text)
        genome = tmp_path / "genome.fa"
        genome.write_text(f">c\n{text}\n")
        (tmp_path / "rna.fa").write_text(f">rna\n{exons[0]}{UNIT}{exons[1]}\n")
        both, by_place = "", {}  # as cat would join them
        for signal in ("donor", "acceptor"):
            options = {"model": f"{signal}.seqmtl", "genome": genome}
            out = run_scan(folder, tmp_path / f"{signal}.spsc", "-q", **options)
            both += out.read_text()
            for _, place, side, kind, score in text_rows(out):
                by_place[int(place), side, kind] = int(score)
        (tmp_path / "both.tsv").write_text(both)
        sums, places = [], []
        for shift in (0, 4):
            first = len(before) + shift
            ends = (first, first + len(intron))
            if strand == "-":
                ends = tuple(len(text) - end for end in ends)
            keys = [(end, strand, kind) for end, kind in zip(ends, "DA", strict=True)]
            sums.append(sum(by_place.get(key, -7) for key in keys))
            places.append(tuple(sorted(ends)))
        if abs(sums[0] - sums[1]) < 6:
            continue
        found, n_read = introns(genome, tmp_path / "rna.fa", tmp_path / "both.tsv")
        assert n_read == len(by_place)
        best = int(sums[1] > sums[0])
        assert found == [places[best]]
        chosen.add(best)
    assert chosen == {0, 1}
