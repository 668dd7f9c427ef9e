"""Coding content: pieces against lists of exons, frames that were hidden, sums of strings."""

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from seqmtl.sequences import encode, reverse_complement
from seqmtl.splicing.chain import content_between, join_ends
from seqmtl.splicing.coding import (
    CODING_SHAPE,
    Stretch,
    Transcribed,
    gc_classes,
    learn_contents,
    transcribed,
    with_stops,
)
from seqmtl.splicing.coding_loops import list_words, sum_content
from tests.oracles.pairs import ends

CODONS = ["".join(letters) for letters in product("ACGT", repeat=3)]
STOPS = ("TAA", "TAG", "TGA")
ALONE = np.zeros((1, 1))
PLACES = 4 ** np.arange(4, -1, -1)  # of the letters of a word


def _word(codes):
    return int((codes * PLACES).sum())


def _isochores(rng, shares, size):
    """Return letters in stretches of a size, with these shares of G and C."""
    is_gc = rng.random(len(shares) * size) < np.repeat(shares, size)
    codes = np.where(is_gc, rng.integers(1, 3, is_gc.size), 3 * rng.integers(0, 2, is_gc.size))
    return codes.astype(np.uint8)


# --- classes of G and C


def test_classes_are_by_the_share_of_g_and_c_around():
    rng = np.random.default_rng(0)
    codes = _isochores(rng, [0.25, 0.4, 0.6, 0.3, 0.47], 900)
    codes[1000:1400] = 4
    codes[2500:4000] = 4  # a gap within which no letter is near
    expected = []
    for at in range(codes.size):
        near = codes[max(0, at - 500) : at + 501]
        clean = near[near < 4]
        share = np.isin(clean, (1, 2)).mean() if clean.size else 0.0
        expected.append(int(share > 0.38) + int(share > 0.48))
    assert_array_equal(gc_classes(codes), expected)
    assert set(expected) == {0, 1, 2}
    assert_array_equal(gc_classes(reverse_complement(codes)), expected[::-1])
    assert gc_classes(np.zeros(0, dtype=np.uint8)).size == 0


# --- pieces


def _region(rng, genes):
    """Letters in three isochores, with the sites of genes: exons of one strand, in order."""
    codes, strands = _isochores(rng, [0.3, 0.43, 0.6], 10_000), []
    for is_reverse in (False, True):
        sites = []
        for strand, exons in genes:
            if strand == is_reverse:
                sites += [(end, True) for _, end in exons[:-1]]
                sites += [(begin, False) for begin, _ in exons[1:]]
        sites.sort()
        places, is_donor = zip(*sites, strict=True)
        strands.append((np.array(places), np.array(is_donor)))
    return Stretch(codes, strands)


#: Exons of genes, in reading direction, by strand; the last begins near the end of the region.
GENES = [
    (False, [(100, 130), (400, 1000), (1200, 1801), (1850, 1869), (5000, 5030), (9000, 9900)]),
    (False, [(12_000, 12_500), (12_540, 12_640), (12_700, 13_000)]),
    (True, [(8_000, 8_200), (8_300, 8_450), (12_000, 12_900), (13_100, 13_200)]),
    (True, [(25_000, 25_050), (25_400, 25_600), (29_970, 30_000)]),
]


def _pieces_by_hand(size):
    """The bounds of the pieces of exons and introns of ``GENES``, and their strand."""
    exons, introns = [], []
    for strand, bounds in GENES:
        for k, (begin, end) in enumerate(bounds):
            is_inner = 0 < k < len(bounds) - 1
            if is_inner and end - begin <= 600:
                exons.append((strand, begin, end))
            else:
                exons += [(strand, begin, min(begin + 60, size))] * (k > 0)
                exons += [(strand, max(0, end - 60), end)] * (k < len(bounds) - 1)
        for (_, donor), (acceptor, _) in pairwise(bounds):
            first, last = donor + 10, acceptor - 30
            introns.append((strand, first, min(last, first + 2000)))
    return [[piece for piece in own if piece[2] - piece[1] >= 20] for own in (exons, introns)]


def test_pieces_are_whole_exons_or_flanks_and_introns_without_what_sites_shape():
    regions = [_region(np.random.default_rng(seed), GENES) for seed in (1, 2)]
    for kind, pieces in enumerate(transcribed(regions)):
        expected = []
        for region in regions:
            strands = region.codes, reverse_complement(region.codes)
            for strand, begin, end in _pieces_by_hand(region.codes.size)[kind]:
                near = strands[strand][max(0, (begin + end) // 2 - 500) : (begin + end) // 2 + 501]
                share = np.isin(near, (1, 2)).mean()
                number = int(share > 0.38) + int(share > 0.48)
                expected.append((strands[strand][begin:end].tobytes(), number))
        assert sorted((piece.tobytes(), number) for piece, number in pieces) == sorted(expected)
        assert {number for _, number in pieces} == {0, 1, 2}
    assert transcribed([]) == Transcribed([], [])


# --- learning


def _usage(seed):
    """Shares of codons, without stops, of which some are far more frequent."""
    share = np.random.default_rng(seed).exponential(size=64) ** 2
    share[[CODONS.index(stop) for stop in STOPS]] = 0
    return share / share.sum()


def _coding(rng, share, n):
    """Pieces of coding sequence from unknown positions of codons on, and these positions."""
    frames, sizes = rng.integers(0, 3, n).tolist(), rng.integers(60, 180, n).tolist()
    codons = np.array([list(encode(codon)) for codon in CODONS], dtype=np.uint8)
    drawn = rng.choice(64, (n, 62), p=share)
    return [
        codons[row].ravel()[frame : frame + size]
        for row, frame, size in zip(drawn, frames, sizes, strict=True)
    ], frames


def _anything(rng, n, size=150, p=(0.3, 0.2, 0.2, 0.3)):
    return [rng.choice(4, size, p=p).astype(np.uint8) for _ in range(n)]


def _sample(exons, introns, number=0):
    return Transcribed(*([(piece, number) for piece in pieces] for pieces in (exons, introns)))


def _words(piece):
    """The numbers of the words of a piece, from that which ends at its base 4."""
    return np.lib.stride_tricks.sliding_window_view(piece, 5) @ PLACES


def _frame_of(piece, table):
    """The position of the first base by which the content of a piece is largest."""
    words, at = _words(piece), np.arange(4, piece.size)
    sums = [table[(at + frame) % 3, words].sum() for frame in range(3)]
    return int(np.argmax(sums)), max(sums)


def _counts(pieces, frames):
    """Counts of words by the position of the last letter, from known frames."""
    counts = np.zeros((3, 4**5))
    for piece, frame in zip(pieces, frames, strict=True):
        np.add.at(counts, ((np.arange(4, piece.size) + frame) % 3, _words(piece)), 1)
    return counts


def _log_ratios(counts, of_introns):
    """Log ratios of conditional probabilities, and the counts of contexts in all frames."""
    by_context = counts.reshape(3, -1, 4)
    of_introns = of_introns.reshape(-1, 4)
    p = by_context / by_context.sum(axis=2, keepdims=True)
    q = of_introns / of_introns.sum(axis=1, keepdims=True)
    return np.log(p / q).reshape(3, -1), np.repeat(by_context.sum(axis=2), 4, axis=1)


def test_frames_that_were_hidden_are_recovered_with_the_log_ratios_of_their_words():
    rng = np.random.default_rng(5)
    exons, frames = _coding(rng, _usage(5), 8_000)
    introns = _anything(rng, 3_000)
    (content,) = learn_contents([_sample(exons, introns, 1)], ALONE)
    table = content.table[1]
    held, hidden = _coding(rng, _usage(5), 300)
    right = [_frame_of(piece, table)[0] == frame for piece, frame in zip(held, hidden, strict=True)]
    assert np.mean(right) > 0.99
    assert content.n_bases == pytest.approx(sum(piece.size - 4 for piece in exons), rel=0.01)
    # counts in the frames that it was not given
    of_introns = _counts(introns, [0] * len(introns)).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected, n = _log_ratios(_counts(exons, frames), of_introns)
    is_frequent = (n > 5_000) & (expected > -3)
    assert is_frequent.sum() > 50
    assert_allclose(table[is_frequent], expected[is_frequent], atol=0.15)
    is_seen = (n > 500) & np.isfinite(expected)
    assert np.corrcoef(table[is_seen], expected[is_seen])[0, 1] > 0.97
    # a stop codon in frame, whose last letter is at position 2
    for stop in STOPS:
        words = [_word(encode(a + b + stop)) for a, b in product("ACGT", repeat=2)]
        contexts = [word for word in words if n[2, word] > 200]
        assert contexts  # of which there is enough to tell
        assert (table[2, contexts] < -1).all()


def test_frames_with_stop_codons_that_code_count_where_they_do():
    """Glutamine is TAA or TAG, as in ciliates, and frequent."""
    rng = np.random.default_rng(8)
    share = _usage(8)
    share[[CODONS.index(codon) for codon in ("TAA", "TAG")]] = 0.06
    share /= share.sum()
    exons, _ = _coding(rng, share, 3_000)
    introns = _anything(rng, 1_000)
    n_words = sum(piece.size - 4 for piece in exons)
    standard, ciliate = (
        learn_contents([_sample(exons, introns)], ALONE, stops=stops)[0]
        for stops in (None, [("TGA",)])
    )
    assert ciliate.n_bases == pytest.approx(n_words, rel=0.02)
    assert standard.n_bases < 0.5 * n_words
    held, hidden = _coding(rng, share, 300)
    frames = [_frame_of(piece, ciliate.table[0])[0] for piece in held]
    assert np.mean(np.equal(frames, hidden)) > 0.99


def test_a_stop_codon_that_codes_has_the_content_of_its_amino_acid():
    table = np.random.default_rng(3).normal(size=CODING_SHAPE).astype(np.float32)
    for stops, like in ((("TGA",), {"TAA": "CAA", "TAG": "CAG"}), (STOPS[:2], {"TGA": "TGT"})):
        expected = table.copy()
        for a, b in product("ACGT", repeat=2):
            for stop, codon in like.items():
                to, of = (_word(encode(a + b + word)) for word in (stop, codon))
                expected[:, 2, to] = table[:, 2, of]
        assert_array_equal(with_stops(table, stops), expected)
    assert_array_equal(with_stops(table, STOPS), table)


def test_pieces_that_do_not_code_do_not_count():
    rng = np.random.default_rng(6)
    exons, _ = _coding(rng, _usage(1), 3_000)
    others, introns = _anything(rng, 3_000, 120), _anything(rng, 3_000)
    mixed = [piece for pair in zip(exons, others, strict=True) for piece in pair]
    (alone,) = learn_contents([_sample(exons, introns)], ALONE)
    (content,) = learn_contents([_sample(mixed, introns)], ALONE)
    n_words = sum(piece.size - 4 for piece in exons)
    assert content.n_bases == pytest.approx(n_words, rel=0.05)
    strong = np.abs(alone.table[0]) > 0.7
    assert np.corrcoef(content.table[0][strong], alone.table[0][strong])[0, 1] > 0.98
    held, _ = _coding(rng, _usage(1), 200)
    of_exons, of_others = (
        np.array([_frame_of(piece, content.table[0])[1] for piece in pieces])
        for pieces in (held, _anything(rng, 200, 120))
    )
    assert np.mean(of_exons > 0) > 0.98
    assert np.mean(of_others < 0) > 0.95


def test_pieces_with_a_stop_codon_in_every_frame_count_nothing():
    rng = np.random.default_rng(7)
    exons, _ = _coding(rng, _usage(2), 500)
    introns = _anything(rng, 500)
    closed = [encode("ATAACTAACTAAC" + "GCA" * k) for k in range(5, 40)]
    for piece in closed:
        text = "".join("ACGT"[code] for code in piece)
        assert all(
            any(text[k : k + 3] in STOPS for k in range(f, len(text) - 2, 3)) for f in range(3)
        )
    with_them = _sample(exons[:200] + closed + exons[200:], introns)
    first = learn_contents([_sample(exons, introns)], ALONE)[0]
    second = learn_contents([with_them], ALONE)[0]
    assert first.n_bases == second.n_bases > 3_000
    assert_allclose(second.table, first.table, atol=1e-6)


def test_less_than_3000_coding_bases_have_no_content():
    rng = np.random.default_rng(8)
    exons, _ = _coding(rng, _usage(1), 200)
    introns = _anything(rng, 300)
    few = exons[: int(np.searchsorted(np.cumsum([p.size - 4 for p in exons]), 2_900))]
    for sample in (_sample(few, introns), _sample([], introns), _sample([], [])):
        (content,) = learn_contents([sample], ALONE)
        assert content.table.shape == CODING_SHAPE
        assert not content.table.any()
        assert content.n_bases < 3_000
        given = rng.normal(size=CODING_SHAPE).astype(np.float32)
        assert_array_equal(learn_contents([sample], ALONE, given)[0].table, given)
    (content,) = learn_contents([_sample(exons, introns)], ALONE)
    assert content.table.any()
    unknown = [np.full(100, 4, dtype=np.uint8)] * 50
    (content,) = learn_contents([_sample(unknown, introns)], ALONE)
    assert content.n_bases == 0


def test_an_organism_with_few_pieces_is_drawn_to_its_relatives():
    rng = np.random.default_rng(9)
    first, second = (
        _sample(_coding(rng, _usage(seed), 2_000)[0], _anything(rng, 1_000)) for seed in (1, 2)
    )
    third = _coding(rng, _usage(3), 4_000)[0]
    introns = _anything(rng, 1_000)

    def table_of(n, weights):
        """The table of an organism of n pieces, whose relatives count by weights."""
        of_all = np.zeros((3, 3))
        of_all[2, :2] = weights
        samples = [first, second, _sample(third[:n], introns)]
        return [content.table[0] for content in learn_contents(samples, of_all)]

    def apart(a, b):
        return float(np.abs(a - b).mean())

    (own,) = learn_contents([_sample(third, introns)], ALONE)
    for weights, near in (([1.0, 0.0], 0), ([0.0, 1.0], 1)):
        *relatives, none = table_of(0, weights)
        assert apart(none, relatives[near]) < 0.4 * apart(none, relatives[1 - near])
        distances = [apart(table_of(n, weights)[2], own.table[0]) for n in (0, 100, 4_000)]
        assert distances[0] > distances[1] > 1.5 * distances[2]
    # one's own weight does not count: pieces are not counted twice
    samples = [first, second, _sample(third[:500], introns)]
    some = np.array([[0, 0.5, 0.2], [0.5, 0, 0.4], [0.2, 0.4, 0]])
    for a, b in zip(
        learn_contents(samples, some), learn_contents(samples, some + np.eye(3)), strict=True
    ):
        assert_array_equal(a.table, b.table)


def test_a_class_without_pieces_has_what_is_given():
    """Of contexts that were not seen, letters have the ratios of the table that is given."""
    rng = np.random.default_rng(10)
    relative = _sample(_coding(rng, _usage(1), 3_000)[0], _anything(rng, 1_000), 2)
    (prior,) = learn_contents([relative], ALONE)
    sample = _sample(_coding(rng, _usage(2), 1_000)[0], _anything(rng, 1_000), 2)
    (content,) = learn_contents([sample], ALONE, prior.table)
    change = (content.table - prior.table).reshape(3, 3, -1, 4)
    assert_allclose(change[:2], np.broadcast_to(change[:2, :, :, :1], change[:2].shape), atol=1e-4)
    assert np.ptp(change[2], axis=2).max() > 0.5


def test_classes_of_g_and_c_learn_apart():
    rng = np.random.default_rng(11)
    exons = [_coding(rng, _usage(seed), 3_000)[0] for seed in (1, 2)]
    introns = _anything(rng, 1_000)
    parts = [_sample(of_class, introns, 2 * k) for k, of_class in enumerate(exons)]
    (both,) = learn_contents([parts[0].plus(parts[1])], ALONE)
    for k, (alone,) in enumerate(learn_contents([part], ALONE) for part in parts):
        held, _ = _coding(rng, _usage(k + 1), 200)
        most, own, other = (
            np.mean([_frame_of(piece, table)[1] for piece in held])
            for table in (alone.table[2 * k], both.table[2 * k], both.table[2 - 2 * k])
        )
        assert own > 0.85 * most > 1.5 * other


# --- sums


@pytest.mark.parametrize("size", [3, 5])
def test_words_are_numbers_of_base_4(size):
    rng = np.random.default_rng(12)
    codes = rng.integers(0, 5, 300).astype(np.uint8)
    expected = []
    for at in range(300):
        word = codes[at - size + 1 : at + 1]
        is_whole = word.size == size and word.max() < 4
        expected.append(int("".join(map(str, word)), 4) if is_whole else -1)
    assert_array_equal(list_words(codes, size), expected)
    assert max(expected) > 0 > min(expected)


def _per_base(codes, classes, table):
    """The content of each base in six frames; codons of frame r begin at places p % 3 == r."""
    size, found = codes.size, np.zeros((6, codes.size))
    for turned, text in ((False, codes), (True, reverse_complement(codes))):
        for at in range(4, size):
            word = text[at - 4 : at + 1]
            if word.max() > 3:
                continue
            place = size - 1 - at if turned else at
            value = table[classes[place], :, _word(word)]
            for frame in range(3):
                # on the minus strand, a codon that begins at place p has p - 1 as its first base
                position = (frame - 1 - place) % 3 if turned else (place - frame) % 3
                found[3 * turned + frame, place] = value[position]
    return found


def test_sums_are_those_of_the_words_of_six_frames_by_the_class_of_each_base():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 4, 400).astype(np.uint8)
    codes[[120, 121, 300]] = 4
    classes = rng.integers(0, 3, 400).astype(np.uint8)
    table = rng.normal(size=CODING_SHAPE)
    per_base = _per_base(codes, classes, table)
    by_word = np.ascontiguousarray(np.swapaxes(table, 1, 2))
    for places in (
        np.sort(rng.choice(401, 30, replace=False)),
        np.array([0, 0, 1, 2, 3, 200, 200, 399, 400]),
        np.array([398, 400]),
        np.array([7]),
    ):
        sums = np.full((places.size, 6), np.nan)
        sum_content(codes, classes, places, by_word, sums)
        expected = [per_base[:, places[0] : place].sum(axis=1) for place in places]
        assert_allclose(sums, expected, atol=1e-9)


def test_content_between_sites_is_by_the_g_and_c_around():
    rng = np.random.default_rng(13)
    codes = _isochores(rng, [0.2, 0.43, 0.7], 1_000)
    table = rng.normal(size=CODING_SHAPE).astype(np.float32)
    per_base = _per_base(codes, gc_classes(codes), table)
    starts = np.sort(rng.choice(2_990, 30, replace=False))
    given = [ends(own, np.full(15, k), np.zeros(15)) for k, own in enumerate(np.split(starts, 2))]
    sites = join_ends(dict(zip(("donor", "acceptor"), given, strict=True)), codes, table)
    first, *places = sites["places"]
    expected = [per_base[:, first:place].sum(axis=1) for place in places]
    assert_allclose(sites["content"][1:], expected, atol=1e-3)
    assert not sites["content"][0].any()
    whole = content_between(np.array([0, 3_000]), codes, table)
    turned = content_between(np.array([0, 3_000]), reverse_complement(codes), table)
    assert_allclose(np.sort(whole[1]), np.sort(turned[1]), atol=1e-3)  # 3,000 is a multiple of 3
    assert content_between(np.zeros(0, dtype=np.int64), codes, table).shape == (0, 6)
