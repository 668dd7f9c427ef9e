"""Related true sites of different splits: found, counted, and left out of train if asked."""

import math

import numpy as np
from numpy.testing import assert_array_equal

from seqmtl.datasets.homologues import has_homologue
from tests.datasets.test_build import (
    build,
    config_text,
    make_genome,
    read_excluded,
    read_rows,
    write_inputs,
)

LENGTH = 120


def mutate(rng, windows, share):
    """Return copies of which a share of the bases are other ones."""
    other = (windows + rng.integers(1, 4, size=windows.shape)) % 4
    return np.where(rng.random(windows.shape) < share, other, windows).astype(np.uint8)


def test_copies_are_found_until_they_differ_too_much_and_others_are_not():
    rng = np.random.default_rng(0)
    others = rng.integers(0, 4, size=(3000, LENGTH), dtype=np.uint8)
    kinds = np.zeros(3000, dtype=int)
    for share, least, most in ((0, 1, 1), (0.1, 0.99, 1), (0.2, 0.7, 1), (0.7, 0, 0.005)):
        found = has_homologue(mutate(rng, others[:1000], share), kinds[:1000], others, kinds)
        assert least <= found.mean() <= most, share
    half = rng.integers(0, 4, size=(1000, LENGTH), dtype=np.uint8)
    half[:, 60:] = others[:1000, 60:]  # the exon alone is related
    assert has_homologue(half, kinds[:1000], others, kinds).all()
    # moved by one base, they are no longer aligned at their sites
    moved = np.roll(others[:1000], 1, axis=1)
    assert has_homologue(moved, kinds[:1000], others, kinds).mean() < 0.005


def test_what_all_windows_of_an_organism_share_is_no_relation():
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(4, 0.3), size=LENGTH)  # a strong motif at every position
    draws = [
        np.column_stack([rng.choice(4, size=400, p=p) for p in shares]).astype(np.uint8)
        for _ in range(2)
    ]
    equal = (draws[0][:, np.newaxis] == draws[1][np.newaxis]).mean(axis=2)
    assert equal.mean() > 0.5  # far above a quarter
    kinds = np.zeros(400, dtype=int)
    assert has_homologue(draws[0], kinds, draws[1], kinds).mean() < 0.01
    runs = np.repeat(rng.integers(0, 4, size=(400, LENGTH // 12), dtype=np.uint8), 12, axis=1)
    assert not has_homologue(runs, kinds, np.roll(runs, 12, axis=0), kinds).any()


def test_the_bound_is_the_likelihood_ratio_by_hand():
    rng = np.random.default_rng(2)
    others = rng.integers(0, 4, size=(1, LENGTH), dtype=np.uint8)
    zero = np.zeros(1, dtype=int)
    # one window of each side: a pair of bases has 2 of 5 counts in its row, all others 1
    least = math.log2(2 * 1 / 1e-3)
    for n_other in range(60):
        window = others.copy()
        window[0, 60:] = (window[0, 60:] + 2) % 4  # the right half says nothing for it
        window[0, 1 : 1 + n_other] = (window[0, 1 : 1 + n_other] + 1) % 4
        total = 0.0
        for p in range(1, 60):
            before, base = int(others[0, p - 1]), int(others[0, p])
            of_other = 2 / 5
            of_window = (1 + (int(window[0, p - 1]) == before and int(window[0, p]) == base)) / (
                4 + (int(window[0, p - 1]) == before)
            )
            ratio = 0.75 if window[0, p] == base else 0.25 / 3
            total += math.log2(ratio / max(of_other, of_window))
        word = others[0, 1 + n_other : 60]
        has_word = any(
            len(set(word[begin : begin + 8].tolist())) > 2 for begin in range(len(word) - 7)
        )
        if abs(total - least) > 1e-6:
            expected = total >= least and (has_word or n_other == 0)
            assert has_homologue(window, zero, others, zero)[0] == expected, n_other


def test_letters_short_windows_and_nothing():
    rng = np.random.default_rng(3)
    others = rng.integers(0, 4, size=(50, LENGTH), dtype=np.uint8)
    kinds = np.zeros(50, dtype=int)
    hidden = others.copy()
    hidden[:, ::7] = 4  # no word of eight known bases is left
    assert not has_homologue(hidden, kinds, others, kinds).any()
    some = others.copy()
    some[:, 30:34] = 4
    assert has_homologue(some, kinds, others, kinds).all()
    assert not has_homologue(others[:, :9], kinds, others[:, :9], kinds).any()
    assert has_homologue(others[:0], kinds[:0], others, kinds).shape == (0,)
    assert not has_homologue(others, kinds, others[:0], kinds[:0]).any()


def test_sites_of_train_with_a_homologue_in_test_are_counted_and_left_out(tmp_path):
    rng = np.random.default_rng(4)
    contigs, genes = make_genome(12, n_genes=90, length=12_000, n_contigs=3)
    letters = np.array(list(contigs["chr1"]))
    copy = letters.copy()
    changed = rng.random(letters.size) < 0.08
    changed[letters == "N"] = False
    copy[changed] = rng.choice(list("ACGT"), size=int(changed.sum()))
    own = [gene for gene in genes if gene[0] == "chr1"]
    for _, strand, exons in own:  # the sites themselves are kept
        copy[exons[0][1] : exons[0][1] + 2] = list("GT" if strand == "+" else "CT")
        copy[exons[1][0] - 2 : exons[1][0]] = list("AG" if strand == "+" else "AC")
    contigs["chr4"] = "".join(copy)
    genes += [("chr4", strand, exons) for _, strand, exons in own]
    write_inputs(tmp_path, contigs, genes)
    text = config_text().replace("window = 21", "window = 101")
    text += 'split = { test = ["chr4"], valid = ["chr2"] }\n'
    summary = build(tmp_path, text)
    n_test = summary["organisms"]["x"]["splits"]["test"]["sites"]
    assert summary["leakage"]["test_sites_compared"] == {"x": n_test}
    assert summary["leakage"]["test_sites_with_homologue_in_train"]["x"] > 0.9 * n_test
    rows = {
        split: [r for r in read_rows(tmp_path) if r["split"] == split]
        for split in ("valid", "test")
    }
    after = build(
        tmp_path, text.replace("[organisms", "[split]\nhomologues = false\n[organisms", 1)
    )
    assert after["leakage"]["test_sites_with_homologue_in_train"]["x"] < 0.05 * n_test
    assert_array_equal(
        [r for r in read_rows(tmp_path) if r["split"] in rows], rows["valid"] + rows["test"]
    )
    reason = "site of train with a homologue in valid or test"
    lines = [row for row in read_excluded(tmp_path) if row["reason"] == reason]
    assert {row["contig"] for row in lines} == {"chr1"}
    assert len(lines) == after["excluded"][reason] > 0.9 * n_test
