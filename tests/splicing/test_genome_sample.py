"""Stretches of a genome: the right letters, at most so many, in two folds."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.loading import load
from seqmtl.sequences import encode
from seqmtl.splicing import genome_sample
from seqmtl.splicing.candidates import end_finders
from seqmtl.splicing.genome_sample import find_candidates, sample_genome
from seqmtl.splicing.layer import EDGES, Edge
from tests.invocation import write_pieces

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


def test_reversed_has_the_same_letters_in_reverse(write):
    sample = sample_genome(_genome(write, 120_000, 90_000)[0], PADDING)
    turned = sample.reversed()
    for k in range(len(sample.bounds)):
        assert_array_equal(turned.stretch(k), sample.stretch(k)[::-1])
    assert_array_equal(turned.fold, sample.fold)


def test_contigs_too_short_for_pairs_are_refused(write):
    with pytest.raises(SeqmtlError, match=r"g\.fa: no contig has the 600 bases"):
        sample_genome(_genome(write, 599, 300)[0], PADDING)


def test_proteins_with_an_index_are_refused_as_such(tmp_path):
    """The index has their lengths, so that no letter is read."""
    (tmp_path / "p.fa").write_text(">p\nMKLVEFGHPQ\n")
    (tmp_path / "p.fa.fai").write_text("p\t10\t3\t10\t11\n")
    with pytest.raises(InputFormatError, match=r"p\.fa:2 .*got 'L'; this looks like a protein"):
        sample_genome(tmp_path / "p.fa", 10)


def test_stretches_in_groups_are_as_each_alone(new, tmp_path, monkeypatch):
    """A genome in many small contigs: they are weighed together, and no intron joins two."""
    sizes = np.random.default_rng(0).integers(600, 2_500, 60)
    path = write_pieces(new / "sim/genomes/c.fa", tmp_path / "small.fa", sizes)
    model = load(new / "pair.seqmtl")
    layer = model.layer["a"]._replace(edges=tuple(Edge(kind, 0, -5.0, -1e9) for kind in EDGES))
    finders = [end_finders((model.donor, model.acceptor), task, layer) for task in ("a", "b")]
    sample = sample_genome(path, 61)
    assert len(sample.groups()) < len(sample.bounds) / 10
    for own in (sample, sample.reversed(), sample.part(20_000)):
        found = []
        for size in (50_000, 1):
            monkeypatch.setattr(genome_sample, "_GROUP", size)
            told = []
            scored = find_candidates(own, finders[0], layer).rescored(finders)
            weighed = scored.posteriors(layer, 0.3, told.append)
            assert told[-1] == 1.0
            found.append(weighed)
        assert len(own.groups()) == len(own.bounds) == len(found[0]) == len(found[1])
        n_introns = 0
        for k, ((sites, one), (alone, other)) in enumerate(zip(*found, strict=True)):
            assert_array_equal(sites.starts, alone.starts)
            assert_array_equal(sites.is_reverse, alone.is_reverse)
            columns = [(sites[name], alone[name]) for name in alone.columns]
            for a, b in (*columns, *zip(one, other, strict=True)):
                assert_array_equal(a, b)
            first, last = own.bounds[k]
            assert ((sites.starts >= first) & (sites.starts <= last - 2)).all()
            n_introns += len(one.introns)
        assert n_introns > (100 if own is sample else -1)
