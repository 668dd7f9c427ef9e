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
from seqmtl.features.joint import parse_features
from seqmtl.sequences import Windows
from tests.scanning.cases import flip, make_contig
from tests.scanning.test_sliding import FEATURES, make_model

ONE_VIEW = ["spectrum:1-3", "gapped:5/3", "gapped:5/3:stranded", "gapped:4/2:counts=0.3"]


def listed(features, w):
    """Return the text, the index and the weight of every k-mer."""
    return [
        (kmers.text(i), int(kmers.indices[i]), float(kmers.weights[i]))
        for kmers in features.kmers(w)
        for i in range(kmers.codes.size)
    ]


def turned(kmer):
    return kmer.translate(str.maketrans("ACGT", "TGCA"))[::-1]


def fits(kmer, stretch):
    """Return whether a stretch of as many bases or more begins with a k-mer, without N."""
    pairs = zip(kmer, stretch, strict=False)
    return "N" not in stretch[: len(kmer)] and all(a in (".", b) for a, b in pairs)


@pytest.mark.parametrize("text", ONE_VIEW)
@pytest.mark.parametrize("hashed", ["", ",hash:20"])
def test_kmers_are_those_of_their_features(text, hashed):
    """The features of a stretch include that of a k-mer, whatever is in the gaps."""
    features, rng = parse_features(text + hashed), np.random.default_rng(2)
    w = rng.normal(size=features.n_features())
    rows = listed(features, w)
    assert len({kmer for kmer, _, _ in rows}) == len(rows)
    all_kmers = {kmer for kmer, _, _ in rows}
    for kmer, index, weight in [rows[i] for i in rng.choice(len(rows), 25)]:
        filled = ["".join(rng.choice(list("ACGT")) if c == "." else c for c in kmer) for _ in "12"]
        first = next(j for j, c in enumerate(kmer) if c != ".")
        changed = "ACGT"["CGTA".index(kmer[first])] + filled[0][1:]
        strings = [*filled, changed] + [flip(filled[0])] * ("stranded" not in text)
        has = features.transform(strings).toarray()[:, index] > 0
        assert has[:2].all()
        assert has[3:].all()
        assert has[2] == ("stranded" not in text and fits(kmer, flip(changed)))
        root = features.count_views()[0].weight ** 0.5
        assert weight == pytest.approx(root * w[index])
        if "stranded" not in text and kmer != turned(kmer):
            assert turned(kmer) not in all_kmers


def parts_of(string, features, w):
    """Return what every base adds: each k-mer looked for at every base of both strands."""
    (view,) = features.count_views()
    parts, norm = np.zeros(len(string)), 0.0
    strands = [string] if view.is_stranded else [string, flip(string)]
    change = {"sqrt": lambda n: n**0.5, "binary": lambda n: 1.0, "counts": float}[view.transform]
    for kmer, _, weight in listed(features, w):
        bases = []  # of each occurrence
        for strand, read in enumerate(strands):
            if strand and kmer == turned(kmer):
                continue
            for l in range(len(read) - len(kmer) + 1):
                if fits(kmer, read[l:]):
                    at = [l + j for j, c in enumerate(kmer) if c != "."]
                    bases.append([len(read) - 1 - b for b in at] if strand else at)
        if bases:
            s = change(len(bases))
            norm += s * s
            for of_one in bases:
                parts[of_one] += weight * s / len(bases) / len(of_one)
    return parts / norm**0.5 if norm else parts


@pytest.mark.parametrize("text", ONE_VIEW)
def test_parts_of_bases(text):
    features, rng = parse_features(text), np.random.default_rng(3)
    w = rng.normal(size=features.n_features())
    strings = [make_contig(rng, 30, share) for share in (0.0, 0.2, 0.2)] + ["ACAC" * 6 + "N" * 6]
    windows = Windows.from_strings(strings)
    expected = [parts_of(string, features, w) for string in strings]
    assert_allclose(features.base_parts(windows, w), expected, atol=1e-9)
    windows.is_reverse[:] = True
    expected = [parts_of(flip(string), features, w) for string in strings]
    assert_allclose(features.base_parts(windows, w), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "length"), [*itertools.product(FEATURES, [24, 40]), ("wd:3+gapped:5/3", 24)]
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
    read = Windows.from_strings([flip(string) for string in strings])
    assert_allclose(mutagenesis(model, windows, "fly"), mutagenesis(model, read, "fly"), atol=1e-12)


def test_top_kmers_are_the_largest_and_smallest_of_all_views():
    model = make_model("spectrum:3+gapped:4/3,spectrum:2:stranded=0.5")
    strings = ["ACGTTGCATGCATTTGACCA", "TTTTTTTTTTTTTTTTTTTT", "GGCATNNNNNNNNNNNNNNN"]
    rows = top_kmers(model, "fly", 5, Windows.from_strings(strings))
    W, begin, every = model.W[:, 1].astype(float), 0, []
    for view in model.features.flat_views():
        end = begin + view.n_features()
        every += [weight for _, _, weight in listed(view, W[begin:end])]
        begin = end
    every.sort(reverse=True)
    assert_allclose([row.weight for row in rows], every[:5] + every[-5:], atol=1e-6)
    for row in top_kmers(model, "fly", 10**6, Windows.from_strings(strings)):
        kmers = {row.kmer, row.other_strand} - {"."}
        found = [
            any(
                fits(kmer, string[l:]) for kmer in kmers for l in range(len(string) - len(kmer) + 1)
            )
            for string in strings
        ]
        assert row.n_windows == sum(found), row


def logo_of(heights):
    """Return the letters of a motif as a dict from position to letter and height."""
    return [
        {letter: height for letter, height in zip("ACGT", row, strict=True) if height}
        for row in heights.round(9).tolist()
    ]


def test_kmers_are_aligned_to_motifs():
    """TGACTC fits as GAGTCA; GAG.CAT has no letter at the T; TGAGAC differs once; AAA is short."""
    rows = [("TGAGTC", 6.0), ("TGACTC", 3.0), ("GAG.CAT", 2.4), ("GGGG", 4.0), ("AAA", 9.0)]
    rows += [("TGAGAC", 0.6)]
    kmers = [CountedKmer(kmer, turned(kmer), weight, None) for kmer, weight in rows]
    kmers.append(CountedKmer("TGAGTT", ".", -5.0, None))
    first, second = align_kmers(kmers)
    assert logo_of(first) == [
        {"T": 1.1},
        {"G": 2.0},
        {"A": 2.0},
        {"G": 2.0},
        {"A": 0.1, "T": 1.5},
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
    options = f"-o {out} --organism fly --top 7"
    seqmtl(f"explain {tmp_path}/m.seqmtl {tmp_path}/w.tsv {options}")
    kmers = rows_of(out / "top_kmers.tsv")
    assert len(kmers) == 14
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
    err = seqmtl(f"explain {tmp_path}/m.seqmtl {options} --max-order 3", 2).err
    assert "--max-order is for models of sites" in err
