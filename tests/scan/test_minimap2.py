"""Splice scores move ambiguous junctions in the aligner that they are written for."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

from tests.scan.cases import TURNED, make_model, run_scan

UNIT = "GTAGGT"  # a junction before it or 4 bases later gives the same transcript


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if shutil.which("minimap2") is None:
        pytest.skip("minimap2 is not installed")
    folder = tmp_path_factory.mktemp("minimap2")
    for signal, letters, seed in (("donor", "GT", 0), ("acceptor", "AG", 1)):
        (folder / signal).mkdir()
        make_model(folder / signal / "model.seqmtl", letters=letters, signal=signal, seed=seed)
    return folder


def draw(rng, n):
    return "".join(rng.choice(list("ACGT"), n))


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
        exons = draw(rng, 200), draw(rng, 200)
        intron = f"{UNIT}A{draw(rng, 300).replace('GT', 'GA')}TTTTCCTTTTAG"
        before = draw(rng, 500) + exons[0]
        text = before + intron + UNIT + exons[1] + draw(rng, 500)
        if strand == "-":
            text = text[::-1].translate(TURNED)
        (tmp_path / "rna.fa").write_text(f">rna\n{exons[0]}{UNIT}{exons[1]}\n")
        lines, by_place = [], {}
        for signal in ("donor", "acceptor"):
            (folder / signal / "genome.fa").write_text(f">c\n{text}\n")
            out = run_scan(folder / signal, tmp_path / f"{signal}.spsc", "-q")
            lines += out.read_text().splitlines()
        for line in lines:
            if line[0] != "#":
                _, place, side, kind, score = line.split("\t")
                by_place[int(place), side, kind] = int(score)
        (tmp_path / "both.tsv").write_text("\n".join(lines) + "\n")  # as cat would join them
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
        genome = folder / "donor" / "genome.fa"
        found, n_read = introns(genome, tmp_path / "rna.fa", tmp_path / "both.tsv")
        assert n_read == len(by_place)
        best = int(sums[1] > sums[0])
        assert found == [places[best]]
        chosen.add(best)
    assert chosen == {0, 1}
