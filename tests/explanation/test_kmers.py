"""K-mers without positions, and what they add to each base, against counts in strings."""

from __future__ import annotations

import csv
import itertools
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seqmtl.explanation import contributions, mutagenesis
from seqmtl.explanation.kmers import CountedKmer, align_kmers, top_kmers
from seqmtl.sequences import Windows
from tests.oracles.annotation import reverse_complement
from tests.scanning.cases import make_contig
from tests.scanning.test_sliding import FEATURES, make_model


@pytest.mark.parametrize(
    ("text", "length"), [*itertools.product(FEATURES[:4], [24, 40]), ("wd:3+gapped:5/3", 24)]
)
def test_parts_sum_to_the_score_and_changes_are_those_of_edited_windows(text, length):
    model, rng = make_model(text), np.random.default_rng(4)
    strings = [make_contig(rng, length, share) for share in (0.0, 0.3)]
    windows = Windows.from_strings(strings)
    scores = model.decision_function(windows, "fly")
    parts = contributions(model, windows, "fly")
    assert_allclose(parts.sum(axis=1), scores + 0.2, atol=1e-5)
    assert not parts[windows.matrix() > 3].any()
    changes = mutagenesis(model, windows, "fly")
    for i, j, code in itertools.product(range(2), range(length), range(4)):
        edited = strings[i][:j] + "ACGT"[code] + strings[i][j + 1 :]
        score = model.decision_function(Windows.from_strings([edited]), "fly")[0]
        assert changes[i, j, code] == pytest.approx(score - scores[i], abs=1e-6)
    windows.is_reverse[:] = True
    read = Windows.from_strings([reverse_complement(string) for string in strings])
    assert_allclose(mutagenesis(model, windows, "fly"), mutagenesis(model, read, "fly"), atol=1e-12)


@pytest.mark.parametrize("text", ["spectrum:1-2,gapped:3/2", "spectrum:2:stranded+gapped:3/2=0.5"])
def test_top_kmers_raise_the_mean_score_of_random_windows(text):
    """Of all 4**7 windows, those with a 3-mer in the middle, where all stretches of it fit."""
    model = make_model(text, length=7)
    every = np.array(list(itertools.product(range(4), repeat=7)), dtype=np.uint8)
    strings = ["".join("ACGT"[code] for code in row) for row in every]
    scores = model.decision_function(Windows.from_strings(strings), "fly")
    found = [
        "ACGTTGCATGCATTTGACCA",
        "TTTTTTTTTTTTTTTTTTTT",
        "GGCATNNNNNNNNNNNNNNN",
        "AC" + "N" * 18,
    ]
    rows = top_kmers(model, "fly", 64, Windows.from_strings(found), k=3)
    is_stranded = "stranded" in text
    assert len(rows) == (64 if is_stranded else 32)
    for row in rows:
        has = [string[2:5] == row.kmer for string in strings]
        assert row.weight == pytest.approx(scores[has].mean() - scores.mean(), abs=1e-6)
        assert row.other_strand == ("." if is_stranded else reverse_complement(row.kmer))
        kmers = {row.kmer, row.other_strand}
        assert row.n_windows == sum(any(kmer in string for kmer in kmers) for string in found)
    weights = [row.weight for row in rows]
    assert weights == sorted(weights, reverse=True)
    some = top_kmers(model, "fly", 5, k=3)
    assert [row.weight for row in some] == [*weights[:5], *weights[-5:]]
    assert some[0].n_windows is None


def test_a_kmer_anywhere_is_listed_once_beside_features_of_positions():
    rows = top_kmers(make_model("wd:2,spectrum:1-3", length=7), "fly", 64, k=3)
    assert len(rows) == 32
    assert all(row.other_strand == reverse_complement(row.kmer) for row in rows)


def logo_of(heights):
    """Return the letters of a motif as a dict from position to letter and height."""
    return [
        {letter: height for letter, height in zip("ACGT", row, strict=True) if height}
        for row in heights.round(9).tolist()
    ]


def test_kmers_are_aligned_to_motifs():
    """TGACTC fits as GAGTCA; TGAGAC differs once; AAA is short."""
    rows = [("TGAGTC", 6.0), ("TGACTC", 3.0), ("GAGTCAT", 2.8), ("GGGG", 4.0), ("AAA", 9.0)]
    rows += [("TGAGAC", 0.6)]
    kmers = [CountedKmer(kmer, reverse_complement(kmer), weight, None) for kmer, weight in rows]
    kmers.append(CountedKmer("TGAGTT", ".", -5.0, None))
    first, second = align_kmers(kmers)
    assert logo_of(first) == [
        {"T": 1.1},
        {"G": 2.0},
        {"A": 2.0},
        {"G": 2.0},
        {"A": 0.1, "T": 1.9},
        {"C": 2.0},
        {"A": 0.9},
        {"T": 0.4},
    ]
    assert logo_of(second) == [{"G": 1.0}] * 4
    assert len(align_kmers(kmers, 1)) == 1
    assert align_kmers([]) == []


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_folder(seqmtl, tmp_path):
    make_model(FEATURES[0]).save(tmp_path / "m.seqmtl")
    rng = np.random.default_rng(6)
    rows = [f"fly\t1\t{make_contig(rng, 24 - 4 * (i % 2))}\ttest\n" for i in range(6)]
    (tmp_path / "w.tsv").write_text("organism\tlabel\tsequence\tsplit\n" + "".join(rows))
    out = tmp_path / "out"
    options = f"-o {out} --organism fly"
    seqmtl(f"explain {tmp_path}/m.seqmtl {tmp_path}/w.tsv {options}")
    kmers = rows_of(out / "top_kmers.tsv")
    assert len(kmers) == 200
    assert {len(row["kmer"]) for row in kmers} == {6}
    assert all(0 <= int(row["windows"]) <= 6 for row in kmers)
    bases = rows_of(out / "contributions.tsv")
    assert Counter(Counter(row["window"] for row in bases).values()) == {24: 3, 20: 3}
    sums = Counter()
    for row in bases:
        sums[row["window"], row["score"]] += float(row["contribution"])
    assert_allclose(list(sums.values()), [float(score) + 0.2 for _, score in sums], atol=1e-4)
    assert {path.name for path in out.glob("*.png")} == {
        f"{name}_fly.png" for name in ("kmers", "motifs", "contributions")
    }
    seqmtl(f"explain {tmp_path}/m.seqmtl {options}")
    assert {row["windows"] for row in rows_of(out / "top_kmers.tsv")} == {"."}
    seqmtl(f"explain {tmp_path}/m.seqmtl {options} --max-order 3")
    assert {len(row["kmer"]) for row in rows_of(out / "top_kmers.tsv")} == {3}
