"""Scores of windows around alleles, against those cut from edited sequences."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from seqmtl.io import load_genome
from seqmtl.sequences import Windows
from seqmtl.variant_effects import score_variants
from tests.oracles.annotation import reverse_complement
from tests.oracles.variants import zone
from tests.scanning.cases import make_contig
from tests.scanning.test_sliding import FEATURES, LENGTH, make_model
from tests.variant_effects.test_vcf import COLUMNS, HEADER, RECORDS, SCORED, I

MODEL = make_model(FEATURES[0])


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    path = tmp_path_factory.mktemp("genome") / "g.fa"
    contig = make_contig(np.random.default_rng(3), 120)
    contig = contig[:50] + "CACACACA" + contig[58:]
    path.write_text(f">I\n{contig}\n")
    return contig, load_genome(path, padding=1)


def score_of(model, string, start, size):
    """Return the score of the window with `size` bases from start on in its middle."""
    padded = "N" * LENGTH + string + "N" * LENGTH
    begin = start + size // 2 - LENGTH // 2 + LENGTH
    window = padded[begin : begin + LENGTH]
    strands = [window, reverse_complement(window)] if model.features.is_stranded else [window]
    return model.decision_function(Windows.from_strings(strands), "fly").max()


@settings(max_examples=60)
@given(
    st.integers(0, 119),
    st.sampled_from([0, 1, 1, 2, 4, 30]),
    st.text("ACGT", max_size=5) | st.sampled_from(["CA", "CACA"]),
    st.sampled_from([*FEATURES[:2], "wd:2+gapped:5/3"]),
)
def test_both_windows_are_cut_around_the_change(genome, start, n_ref, alt, features):
    contig, loaded = genome
    model = make_model(features)
    ref = contig[start : start + n_ref]
    edited = contig[:start] + alt + contig[start + len(ref) :]
    effects = score_variants(model, loaded, [("I", start, ref, alt)], "fly")
    if contig == edited:
        assert not effects.changes.any()
        return
    first, n_before, n_after = zone(contig, edited)
    expected = [score_of(model, contig, first, n_before), score_of(model, edited, first, n_after)]
    assert_allclose(effects.scores[0], [expected, expected], atol=1e-6)
    delta = expected[1] - expected[0]
    assert_allclose(effects.changes[0], [max(delta, 0), max(-delta, 0)], atol=1e-6)


def test_vcf(seqmtl, tmp_path, write):
    """Records of all kinds: entries, lines of the table, and what is left out."""
    MODEL.save(tmp_path / "m.seqmtl")
    fasta = write(f">I\n{I}\n", "genome.fa")
    vcf = write(HEADER + COLUMNS + "\n" + "".join(RECORDS[:5]), "in.vcf")
    run = f"variants {tmp_path}/m.seqmtl --vcf {vcf} --fasta {fasta} --organism fly"
    seqmtl(f"{run} -o {tmp_path}/out.vcf --tsv {tmp_path}/out.tsv")
    text = (tmp_path / "out.vcf").read_text()
    assert "SCORE_REF|SCORE_ALT|DELTA" in text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    entries = [
        entry.split("|")
        for line in lines
        for entry in line.split("\t")[7].split("SeqMTL_score=")[1].split(",")
    ]
    assert len(lines) == len([i for i in SCORED if i < 5])
    with (tmp_path / "out.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    variants = [(r["contig"], int(r["pos"]) - 1, r["ref"], r["alt"]) for r in rows]
    effects = score_variants(MODEL, load_genome(fasta, padding=1), variants, "fly")
    for row, entry, (before, after) in zip(rows, entries, effects.scores[:, 0], strict=True):
        assert entry[:2] == [row["alt"], "fly"]
        assert [float(x) for x in entry[2:]] == pytest.approx(
            [before, after, after - before], abs=1e-4
        )
        numbers = [float(row[name]) for name in ("score_ref", "score_alt", "delta")]
        assert numbers == pytest.approx([before, after, after - before], abs=2e-5)
