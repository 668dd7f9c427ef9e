"""Coding content: how much more often a letter occurs in a reading frame than in introns.

Coding sequence prefers some codons, and has no stop codons in its frame. Both show in the
probability of a base given the four before it, at each of the three positions of a codon. The
content of a base is the logarithm of its ratio to the probability in introns. Both depend on the
share of G and C around, which varies along the chromosomes of vertebrates (isochores) and between
genomes, so there is a table for each of three classes of it.

No annotation of coding sequence is needed, but of splice sites: beside these are pieces of exons,
whose reading frame is not known. It is one of three, those with a stop codon left out, or there is
none, outside coding sequence. Expectation maximization sums over these hypotheses. An organism with
few exons is drawn to those of its relatives.
(Periodic Markov chains, as in finders of genes: Borodovsky and McIninch, 1993; by classes of G and
C: Stanke and Waack, 2003; over unknown frames: Dempster, Laird and Rubin, 1977.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences import encode, reverse_complement
from seqmtl.splicing.coding_loops import classify_gc, list_words
from seqmtl.splicing.genetic_code import STOPS

#: Bases of a word: a base, and those that it is predicted from.
WORD = 5
#: Shares of G and C between the classes, within so many bases on either side.
GC_CUTS = (0.38, 0.48)
GC_REACH = 500
#: Shape of a table: class, position in the codon, word.
CODING_SHAPE = (len(GC_CUTS) + 1, 3, 4**WORD)
#: Codons for which a stop codon is where it codes: for glutamine in code 6 of the NCBI, or for
#: cysteine in 10.
_SENSE = {"TAA": "CAA", "TAG": "CAG", "TGA": "TGT"}
_ANY_FRAME = 0.3  # probability of each reading frame of a piece, before its letters count
_ROUNDS = 10
_FLANK = 60  # bases of an exon beside a site whose other end is not near,
_LONGEST_EXON = 600  # and of a whole one
_SHORTEST_PIECE = 20
_BESIDE_DONOR, _BESIDE_ACCEPTOR = 10, 30  # bases of an intron that its sites shape
_LONGEST_INTRON = 2_000  # bases of an intron that count
_MAX_PIECES = 20_000  # of an organism
_MIN_BASES = 3_000  # coding bases to learn from
# observations that a table counts as, for each context: of shorter words; of all organisms for one
# class; of all in its class for the mean of relatives; of this, or of a given table, for the own
_OF_SHORTER, _OF_ALL, _OF_CLASS, _OF_RELATIVES = 30.0, 1000.0, 100.0, 100.0


class Stretch(NamedTuple):
    """A region, with splice sites of its strands.

    Attributes
    ----------
    codes : ndarray of uint8
        Letters.
    sites : sequence of (places, is_donor), two
        Sites of the plus and of the minus strand, in reading direction and from the first base of
        that strand; see :class:`seqmtl.splicing.regions.KnownSites`.
    """

    codes: NDArray[np.uint8]
    sites: Sequence[tuple[NDArray[np.int64], NDArray[np.bool_]]]


#: Letters of a piece of an exon or an intron, and its class of G and C.
Piece = tuple[NDArray[np.uint8], int]


class Transcribed(NamedTuple):
    """What the content of an organism is learnt from.

    Attributes
    ----------
    exons, introns : list of (ndarray of uint8, int)
        Letters of pieces in reading direction, and the class of G and C around each, see
        :func:`gc_classes`.
    """

    exons: list[Piece]
    introns: list[Piece]

    def plus(self, other: Transcribed) -> Transcribed:
        """Return the pieces of both."""
        return Transcribed(self.exons + other.exons, self.introns + other.introns)


class Content(NamedTuple):
    """Coding content, and the amount of data.

    Attributes
    ----------
    table : ndarray of float32, shape (3, 3, 4**5)
        By class of G and C: log ratio of the probability of the last letter of a 5-mer after the
        others, at positions 0 to 2 of a codon, to that in introns. All 0 without data.
    n_bases : int
        Coding bases that were expected in the pieces of exons.
    """

    table: NDArray[np.float32]
    n_bases: int


def gc_classes(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the class of the share of G and C in 500 bases on either side of each base."""
    classes = np.empty(codes.size, dtype=np.uint8)
    classify_gc(codes, GC_REACH, *GC_CUTS, classes)
    return classes


def transcribed(stretches: Iterable[Stretch]) -> Transcribed:
    """Return the pieces of exons and introns between the splice sites of regions.

    An exon from an acceptor to the next donor is whole up to 600 bases; of others count 60 bases
    beside the site. An intron is from a donor to the next acceptor, without what its sites shape.
    """
    parts = Transcribed([], [])
    for codes, sites in stretches:
        classes = gc_classes(codes)
        for (places, is_donor), step in zip(sites, (1, -1), strict=True):
            letters = codes if step == 1 else reverse_complement(codes)
            of_strand = classes[::step]
            bounds = places.tolist()
            for k, (place, donor) in enumerate(zip(bounds, is_donor.tolist(), strict=True)):
                if donor:
                    is_whole = k > 0 and not is_donor[k - 1]
                    is_whole = is_whole and place - bounds[k - 1] <= _LONGEST_EXON
                    begin = bounds[k - 1] if is_whole else place - _FLANK
                    _add(parts.exons, letters, of_strand, begin, place)
                    continue
                if k and is_donor[k - 1]:
                    first, last = bounds[k - 1] + _BESIDE_DONOR, place - _BESIDE_ACCEPTOR
                    last = min(last, first + _LONGEST_INTRON)
                    _add(parts.introns, letters, of_strand, first, last)
                is_whole = k + 1 < len(bounds) and is_donor[k + 1]
                if not (is_whole and bounds[k + 1] - place <= _LONGEST_EXON):
                    _add(parts.exons, letters, of_strand, place, place + _FLANK)
    return parts


def _add(
    pieces: list[Piece],
    letters: NDArray[np.uint8],
    classes: NDArray[np.uint8],
    begin: int,
    end: int,
) -> None:
    """Add the piece begin..end-1 of a strand, and its class, unless it is short."""
    begin, end = max(begin, 0), min(end, letters.size)
    if end - begin >= _SHORTEST_PIECE:
        pieces.append((letters[begin:end], int(classes[(begin + end) // 2])))


def learn_contents(
    samples: Sequence[Transcribed],
    weights: NDArray[np.float64],
    prior: NDArray[np.float32] | None = None,
    stops: Sequence[tuple[str, ...]] | None = None,
) -> list[Content]:
    """Learn the coding content of organisms.

    Parameters
    ----------
    samples : sequence of Transcribed
        Of T organisms.
    weights : ndarray of float64, shape (T, T)
        How much each organism (columns) counts for another (rows), such as powers of their
        similarity; the diagonal does not count.
    prior : ndarray of float32, shape (3, 3, 1024), optional
        A table that all are drawn to, such as that of relatives. Default: that of all, by class.
    stops : sequence of tuple of str, optional
        Stop codons of each organism. Default: those of the standard code.
    """
    T = len(samples)
    of_pieces = _Words.of(samples, stops or [STOPS] * T)
    weights = weights * (1 - np.eye(T))
    noncoding = np.zeros((T, *CODING_SHAPE[::2]))
    for t, sample in enumerate(samples):
        for letters, number in _drawn(sample.introns):
            words = list_words(letters, WORD)
            noncoding[t, number] += np.bincount(words[words >= 0], minlength=4**WORD)
    background = _shrunk(noncoding[:, :, np.newaxis], weights)
    target = None if prior is None else _normalized(background * np.exp(prior))
    background = np.log(background)
    p = of_pieces.is_open / np.maximum(of_pieces.is_open.sum(axis=1, keepdims=True), 1)
    logs, n = np.zeros((T, *CODING_SHAPE)), np.zeros(T)
    for _ in range(_ROUNDS):
        counts = of_pieces.counts(p, T)
        logs = np.log(_shrunk(counts, weights, target)) - background
        p, n = of_pieces.frames(logs), counts.sum(axis=(1, 2, 3))
    if n.sum() < _MIN_BASES:
        given = np.zeros(CODING_SHAPE) if prior is None else prior
        logs = np.broadcast_to(given, logs.shape)
    return [
        Content(table.astype(np.float32), int(n_bases))
        for table, n_bases in zip(logs, n, strict=True)
    ]


def with_stops(table: NDArray[np.float32], stops: tuple[str, ...]) -> NDArray[np.float32]:
    """Return the content of an organism by that of others, which have the standard code.

    Stop codons that it lacks have the content of codons of their amino acid.
    """
    table = table.copy()
    by_codon = table.reshape(*CODING_SHAPE[:2], -1, 64)
    for stop, codon in _SENSE.items():
        if stop not in stops:
            by_codon[:, 2, :, _codon_number(stop)] = by_codon[:, 2, :, _codon_number(codon)]
    return table


def _codon_number(codon: str) -> int:
    """Return a codon as a number of base 4."""
    return int(encode(codon) @ [16, 4, 1])


class _Words(NamedTuple):
    """Words of the pieces of exons of all organisms.

    Attributes
    ----------
    is_open : ndarray of bool, shape (n, 3)
        Whether the frame of each of n pieces, whose first base is at position 0 to 2 of a codon,
        has no stop codon.
    tables : ndarray of int64, shape (n,)
        Number of the table of each piece: 3 times its organism plus its class.
    pieces, positions, words : ndarray of int64, shape (m,)
        Of each word: its piece, where its last letter is there, and its number.
    """

    is_open: NDArray[np.bool_]
    tables: NDArray[np.int64]
    pieces: NDArray[np.int64]
    positions: NDArray[np.int64]
    words: NDArray[np.int64]

    @classmethod
    def of(cls, samples: Sequence[Transcribed], stops: Sequence[tuple[str, ...]]) -> _Words:
        """Return the words of samples, whose stop codons are these."""
        tables, pieces, is_open = [], [], []
        positions, words = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for t, (sample, stops_of_sample) in enumerate(zip(samples, stops, strict=True)):
            numbers = [*map(_codon_number, stops_of_sample)]
            for letters, number in _drawn(sample.exons):
                is_end = np.isin(list_words(letters, 3), numbers)[2:]
                is_open.append([not is_end[(3 - frame) % 3 :: 3].any() for frame in range(3)])
                of_piece = list_words(letters, WORD)
                ends = np.flatnonzero(of_piece >= 0)
                pieces.append(ends.size)
                tables.append(CODING_SHAPE[0] * t + number)
                positions.append(ends)
                words.append(of_piece[ends])
        return cls(
            np.array(is_open, dtype=np.bool_).reshape(-1, 3),
            np.array(tables, dtype=np.int64),
            np.repeat(np.arange(len(pieces)), pieces),
            np.concatenate(positions),
            np.concatenate(words),
        )

    def _cells(self, frame: int) -> NDArray[np.int64]:
        """Return the cell of each word in the tables, if first bases are at this position."""
        row = 3 * self.tables[self.pieces] + (self.positions + frame) % 3
        return row * 4**WORD + self.words

    def counts(self, p: NDArray[np.float64], T: int) -> NDArray[np.float64]:
        """Return the expected counts in the tables of T organisms, by probabilities of frames."""
        size = T * int(np.prod(CODING_SHAPE))
        total = np.zeros(size)
        for frame in range(3):
            total += np.bincount(self._cells(frame), p[self.pieces, frame], minlength=size)
        return total.reshape(T, *CODING_SHAPE)

    def frames(self, logs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of the frames, shape (n, 3); what is left is for none."""
        n, flat = len(self.is_open), logs.ravel()
        sums = np.zeros((n, 4))
        for frame in range(3):
            sums[:, frame] = np.bincount(self.pieces, flat[self._cells(frame)], minlength=n)
        sums[:, :3] = np.where(self.is_open, sums[:, :3], -np.inf) + np.log(_ANY_FRAME)
        sums[:, 3] = np.log(1 - 3 * _ANY_FRAME)
        p = np.exp(sums - sums.max(axis=1, keepdims=True))
        return np.asarray(p[:, :3] / p.sum(axis=1, keepdims=True))


def _drawn(pieces: list[Piece]) -> list[Piece]:
    """Return evenly spaced pieces, 20,000 at most."""
    return pieces[:: -(-len(pieces) // _MAX_PIECES) or 1]


def _shrunk(
    counts: NDArray[np.float64],
    weights: NDArray[np.float64],
    target: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the probabilities of the last letters of words, shape (T, 3, n, 4**5), by counts.

    Those of an organism are drawn to the mean of its relatives in the class, and these to all.
    """
    if target is None:
        every = _mixed(counts.sum(axis=0), _from_shorter(counts.sum(axis=(0, 1))), _OF_ALL)
        of_relatives = np.tensordot(weights, counts, 1)
        target = _mixed(of_relatives, every, _OF_CLASS)
    return _mixed(counts, target, _OF_RELATIVES)


def _mixed(
    counts: NDArray[np.float64], prior: NDArray[np.float64], weight: float
) -> NDArray[np.float64]:
    """Return probabilities by counts, and by a prior of so many observations for each context."""
    return _normalized(counts + weight * prior)


def _normalized(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values divided by the sums over the last letter of words."""
    by_context = values.reshape(*values.shape[:-1], -1, 4)
    return (by_context / by_context.sum(axis=-1, keepdims=True)).reshape(values.shape)


def _from_shorter(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of the last letters of words, from shorter words up."""
    before = counts.shape[:-1]
    p = np.full((*before, 4), 0.25)
    for k in range(1, WORD + 1):
        of_length = counts.reshape(*before, -1, 4**k).sum(axis=-2)
        p = _mixed(of_length, np.tile(p, 4**k // p.shape[-1]), _OF_SHORTER)
    return p
