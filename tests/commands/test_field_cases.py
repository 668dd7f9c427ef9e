"""Files and habits of public reports, in the folder `field_cases2` of the real data.

The `expected.md` of each case has the source, and what is right and why. Cases that a made-up file
shows as well are tests of the reader that takes them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from seqmtl import MultiTaskModel

PLAIN = "--selection none --features spectrum:1-4 --threads 1 -o m.seqmtl"


@pytest.fixture
def enter(shared_data, tmp_path, monkeypatch):
    """Return a function that changes to a copy of the folder of a case."""

    def run(case):
        monkeypatch.chdir(shutil.copytree(shared_data / "field_cases2" / case, tmp_path / "case"))
        os.chmod(".", 0o755)  # the data may be read-only

    return run


def test_repeated_peaks_are_told(enter, seqmtl):
    enter("macs_call_summits_repeats")
    rows = [line.split("\t")[:3] for line in Path("p.narrowPeak").read_text().splitlines()]
    n_repeated = len(rows) - len(set(map(tuple, rows)))
    log = seqmtl(f"train p.narrowPeak --reference g.fa {PLAIN}").err
    assert re.search(rf"warning.*\b{n_repeated} of {len(rows)} intervals", log)


def test_negatives_of_summits_have_the_letters_of_their_windows(enter, seqmtl):
    enter("macs_summits_window")
    log = seqmtl(f"train summits.bed --reference g.fa --window 200 {PLAIN}").err
    assert "there are fewer negatives" in log  # than positives, which are the islands of GC
    environment = os.environ | {"NUMBA_NUM_THREADS": "1"}
    lines = subprocess.run(
        [sys.executable, "check.py"], capture_output=True, text=True, check=True, env=environment
    ).stdout.splitlines()
    positives, negatives = map(float, re.findall(r"0\.\d+", lines[0]))
    assert positives > negatives > 0.55  # 0.40 in the genome
    assert re.search("overlap a positive: 0 of [1-9]", lines[1])


def test_adapters_of_mpra_are_no_site(enter, seqmtl):
    enter("mpra_constant_adapters")
    log = seqmtl("train p.fa --negatives n.fa --threads 1 -o m.seqmtl").err
    assert "adapter" in log
    assert MultiTaskModel.load("m.seqmtl").features.is_position_free


@pytest.mark.parametrize(
    ("case", "signal", "n_sites"),
    [
        ("ok_braker582_no_gene_rows", "donor", 55),
        ("ok_braker582_no_gene_rows", "stop", 28),
        ("ok_gemoma_prediction", "donor", 55),
        ("ok_gemoma_prediction", "start", 28),
        ("ok_tair10_protein_parent", "tss", 28),
        ("ok_tair10_protein_parent", "start", 28),
        ("ncbi_pseudogene_tss", "polya", 14),
    ],
)
def test_annotations_have_the_sites_of_their_genes(enter, seqmtl, case, signal, n_sites):
    enter(case)
    seqmtl(f"dataset {signal}.toml -o out --threads 1")
    lines = Path("out", "windows.tsv").read_text().splitlines()
    column = lines[0].split("\t").index("label")
    assert Counter(line.split("\t")[column] for line in lines[1:])["1"] == n_sites
