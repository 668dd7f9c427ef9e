"""Stretches of a genome: the right letters, at most so many, in two folds."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from seqmtl.exceptions import SeqmtlError
from seqmtl.pairs.genome_sample import sample_genome
from seqmtl.sequences import encode

PADDING = 7


def _genome(write, *sizes):
    rng = np.random.default_rng(0)
    contigs = {f"c{k}": "".join(rng.choice(list("ACGTN"), size)) for k, size in enumerate(sizes)}
    return write("".join(f">{name}\n{text}\n" for name, text in contigs.items()), "g.fa"), contigs


@pytest.mark.parametrize("most", [10_000_000, 450_000, 60_000])
def test_stretches_are_pieces_of_the_contigs_with_n_around(write, most):
    path, contigs = _genome(write, 400_000, 599, 300_000, 700)
    sample = sample_genome(path, PADDING, most)
    assert abs(sample.size - min(most, 700_700)) < 50_000
    outside = np.ones(sample.codes.size, dtype=bool)
    for k, (name, begin) in enumerate(sample.origins):
        first, last = sample.bounds[k]
        assert_array_equal(sample.stretch(k), encode(contigs[name][begin : begin + last - first]))
        outside[first:last] = False
    assert (sample.codes[outside] == 4).all()
    edges = [0, *sample.bounds.ravel().tolist(), sample.codes.size]
    assert min(np.diff(edges)[::2]) >= PADDING
    assert sample.codes.size - sample.bounds[-1, 1] >= PADDING
    names = {name for name, _ in sample.origins}
    assert "c1" not in names  # too short
    assert most < 700_000 or names == {"c0", "c2", "c3"}
    sizes = np.bincount(sample.fold, np.diff(sample.bounds, axis=1)[:, 0], minlength=2)
    assert abs(sizes[0] - sizes[1]) <= 60_000


def test_backwards_is_the_same_letters_in_reverse(write):
    sample = sample_genome(_genome(write, 120_000, 90_000)[0], PADDING)
    turned = sample.backwards()
    for k in range(len(sample.bounds)):
        assert_array_equal(turned.stretch(k), sample.stretch(k)[::-1])
    assert_array_equal(turned.fold, sample.fold)


def test_contigs_too_short_for_pairs_are_refused(write):
    with pytest.raises(SeqmtlError, match=r"g\.fa: no contig has the 600 bases"):
        sample_genome(_genome(write, 599, 300)[0], PADDING)
