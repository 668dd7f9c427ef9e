"""Effects of variants against whole mutated contigs with every window cut by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqmtl import MultiTaskModel, PositionalKmers, TaskKernel
from seqmtl.core.weights import TaskWeights
from seqmtl.linear_model.site import Site
from seqmtl.sequences import encode
from seqmtl.sequences.genome import ContigTable, Genome
from seqmtl.variant_effects import EffectScorer, effects, score_variants
from seqmtl.variant_effects.alleles import Alleles
from tests.oracles.variants import effect, scorer

LENGTH, ORGANISM = 11, "worm"
SITES = {
    "donor": Site(4, 2, "GT,GC", "donor"),
    "acceptor": Site(7, 2, "AG", "acceptor"),
    "tss": Site(5, 1, "", "tss"),
    "stop": Site(3, 3, "TAA,TAG,TGA", "stop"),
    "edge": Site(0, 1, "", ""),
    "pair": Site(4, 2, "", ""),
}


def make_model(site, seed=0):
    rng = np.random.default_rng(seed)
    features = PositionalKmers("wd:3")
    W = rng.normal(size=(features.n_features(LENGTH), 2))
    return MultiTaskModel(
        features,
        LENGTH,
        (ORGANISM, "fly"),
        TaskKernel([ORGANISM, "fly"], np.eye(2), "none"),
        TaskWeights.of(W, features.view_columns(LENGTH)),
        np.array([-0.3, 0.1]),
        np.array([[-2.0, 0.3], [-1.0, 0.0]]),
        site,
        {},
    )


SITES["words"] = SITES["donor"]  # each with its own prior
MODELS = {name: make_model(site) for name, site in SITES.items()}
MODELS["words"].consensus_bias = np.array([[0.0, -1.7], [0.4, 0.0]])
SCORES = {name: scorer(model, ORGANISM) for name, model in MODELS.items()}


def make_genome(**contigs):
    """Put contigs into one buffer, with other letters than N between them, which must not count."""
    buffer, starts = [encode("GTAG")], []
    for text in contigs.values():
        starts.append(sum(part.size for part in buffer))
        buffer += [encode(text), encode("GTAGGTAAG")]
    lengths = np.array([len(text) for text in contigs.values()])
    table = ContigTable(tuple(contigs), np.array(starts), lengths)
    return Genome(np.concatenate(buffer), table)


def check(name, contig, start, ref, alt, genome=None):
    """Compare one allele with the oracle, and return gain and loss."""
    model = MODELS[name]
    genome = make_genome(I=contig) if genome is None else genome
    found = score_variants(model, genome, [("I", start, ref, alt)], ORGANISM)
    assert found.reasons == [""]
    args = (SCORES[name], model.site, LENGTH, contig, start, ref, alt)
    for c, (change, places) in enumerate(effect(*args)):
        assert found.changes[0, c] == pytest.approx(change, abs=2e-4)
        if not places or change < 1e-3:
            continue
        here = (int(found.strands[0, c]), int(found.positions[0, c]))
        assert here in places
        before, after = found.probabilities[0, c]
        assert (1 - 2 * c) * (after - before) == pytest.approx(change, abs=2e-4)
    return tuple(found.changes[0])


RNG = np.random.default_rng(5)
CONTIG = "".join(RNG.choice(list("ACGT"), 90))
REPEATS = "ACGTCCCCCCCCGTAG" + "AG" * 8 + "TTGTAAGTGTGTGTGTCAGCAGCAGCAGGTAAGTACGNNNNNGTAAGTCAG"
bases = st.text("ACGT", max_size=6)
repeats = st.builds(
    lambda unit, n: unit * n, st.text("ACGT", min_size=1, max_size=3), st.integers(2, 6)
)
pieces = st.lists(st.one_of(bases, repeats, st.sampled_from(["GTAAGT", "CAG", "NN"])), max_size=8)


@st.composite
def variants(draw):
    """Draw a contig with repeats, and an allele of it that may be written clumsily."""
    contig = "".join(draw(pieces)) + "GTA"
    start = draw(st.integers(0, len(contig) - 1))
    ref = contig[start : start + draw(st.integers(1, 7) | st.integers(8, 90))]
    inner = draw(st.one_of(bases, repeats, pieces.map("".join)))
    cut = draw(st.integers(0, len(ref)))
    alt = draw(st.sampled_from([inner, ref[:cut] + inner + ref[cut:], ref[cut:], ref * 2]))
    return contig, start, ref, alt


@settings(max_examples=150)
@given(variants(), st.sampled_from(sorted(SITES)))
def test_any_variant(variant, name):
    check(name, *variant)


def changes_of(name, contig, start, ref, alt):
    genome = make_genome(I=contig)
    found = score_variants(MODELS[name], genome, [("I", start, ref, alt)], ORGANISM)
    return tuple(found.changes[0])


@settings(max_examples=40)
@given(variants(), st.sampled_from(sorted(SITES)), st.integers(0, 9), st.integers(0, 9))
def test_how_a_variant_is_written_does_not_matter(variant, name, before, after):
    contig, start, ref, alt = variant
    first, last = max(0, start - before), start + len(ref) + after
    wide = contig[first:last]
    wide_alt = contig[first:start] + alt + contig[start + len(ref) : last]
    assert changes_of(name, *variant) == changes_of(name, contig, first, wide, wide_alt)


@pytest.mark.parametrize("letters", [("A", "A"), ("ACG", "ACG"), ("a", "A")])
def test_an_allele_equal_to_the_reference_changes_nothing(letters):
    contig = "GTACG" * 8
    found = score_variants(MODELS["tss"], make_genome(I=contig), [("I", 2, *letters)], ORGANISM)
    assert np.all(found.changes == 0)
    assert np.all(found.strands == -1)
    assert np.all(found.positions == -1)
    assert np.all(np.isnan(found.scores))


def test_many_alleles_at_once_are_those_one_by_one(monkeypatch):
    monkeypatch.setattr(effects, "_BASES", 300)  # several groups
    genome = make_genome(I=CONTIG, II=REPEATS)
    rows = [("II", 4, "CCC", "C")]
    for start in range(0, 80, 3):
        rows += [("I", start, CONTIG[start : start + 2], alt) for alt in ("G", "TTT", "CA")]
    rows.append(("II", 50, REPEATS[50], "T"))
    together = score_variants(MODELS["acceptor"], genome, rows, ORGANISM)
    for i, row in enumerate(rows):
        alone = score_variants(MODELS["acceptor"], genome, [row], ORGANISM)
        for one, all_ in zip(alone[:5], together[:5], strict=True):
            np.testing.assert_array_equal(one[0], all_[i])


def test_what_cannot_be_scored_has_a_reason_and_nan():
    rows = {
        ("X", 3, "A", "C"): "unknown_contig",
        ("I", 90, "A", "C"): "outside_contig",
        ("I", 88, CONTIG[88:] + "A", "C"): "outside_contig",
        ("I", -1, "A", "C"): "outside_contig",
        ("I", 4, "-", "C"): "ref_letters",
        ("I", 4, "ACGT"["ACGT".index(CONTIG[4]) - 1], "C"): "ref_mismatch",
        ("I", 4, "N", "*"): "overlapping_deletion",
        ("I", 4, "N", "<DEL>"): "symbolic",
        ("I", 4, "N", "G]17:198982]"): "breakend",
        ("I", 4, "N", "]13:123456]T"): "breakend",
        ("I", 4, "N", ".A"): "breakend",
        ("I", 4, "N", "AR"): "alt_letters",
        ("I", 4, "N", "A" * 10_001): "too_long",
        ("I", 4, "N", "t"): "",
        ("I", 4, CONTIG[4].lower(), "n"): "",
        ("I", 4, "N", "A" * 10_000): "",
    }
    found = score_variants(MODELS["donor"], make_genome(I=CONTIG), list(rows), ORGANISM)
    assert found.reasons == list(rows.values())
    refused = np.array([reason != "" for reason in found.reasons])
    assert np.all(np.isnan(found.changes[refused]))
    assert np.all(found.changes[~refused] >= 0)


@pytest.mark.parametrize("name", SITES)
def test_n_stands_for_an_empty_allele_or_the_base_of_the_genome(name):
    """Sniffles 2.0 to 2.5 has no anchor base: N is ALT of a deletion, REF of an insertion."""
    letters = "GTAAGTCAGG"
    for start in range(1, 80, 13):
        anchor, deleted = CONTIG[start], CONTIG[start + 1 : start + 7]
        deletion = changes_of(name, CONTIG, start, anchor + deleted, anchor)
        for row in ((start + 1, deleted, "N"), (start, "N" + deleted, "n")):
            assert changes_of(name, CONTIG, *row) == deletion
        insertion = changes_of(name, CONTIG, start, anchor, anchor + letters)
        for row in ((start, "N", letters), (start, "n", "N" + letters)):
            assert changes_of(name, CONTIG, *row) == insertion
        before = changes_of(name, CONTIG, start, anchor, letters + anchor)
        assert changes_of(name, CONTIG, start, "N", letters + "N") == before
    check(name, CONTIG, 40, CONTIG[40], "N")  # one base for an unknown one
    masked = CONTIG[:40] + "N" + CONTIG[41:]
    check(name, masked, 40, "N", letters)  # a base of the genome


def test_case_does_not_matter():
    upper = changes_of("donor", CONTIG, 40, CONTIG[40:42], "GTA")
    assert upper == changes_of("donor", CONTIG.lower(), 40, CONTIG[40:42].lower(), "gta")
    assert max(upper) > 0


def test_no_variants():
    found = score_variants(MODELS["donor"], make_genome(I=CONTIG), [], ORGANISM)
    assert found.changes.shape == (0, 2)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="task 'mouse' is not in the model's task kernel"):
        EffectScorer(MODELS["donor"], "mouse")
    regression = make_model(SITES["donor"])
    regression.kind = "regression"
    with pytest.raises(ValueError, match="probabilities need a model of classification"):
        EffectScorer(regression, ORGANISM)


def test_zones_are_followed_only_so_far():
    genome = make_genome(I="C" + "A" * 50 + "G")
    alleles, _ = Alleles.of(genome, [("I", 20, b"AA", b"A")])
    begin = int(genome.starts[0])
    assert alleles.zones(genome.codes).tolist() == [[begin + 1, 50, 49]]
    # what is written, and 5 bases more on either side
    assert alleles.zones(genome.codes, max_shift=5).tolist() == [[begin + 15, 12, 11]]
