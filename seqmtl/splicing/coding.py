"""Coding content: how much more often a letter occurs in a reading frame than anywhere.

Coding sequence prefers some codons, and has no stop codons in its frame. Both show in the
probability of a base given the five before it, at each of the three positions of a codon. What is
counted as coding are the open reading frames of the training regions that are too long to be there
by chance, and those that adjoin an annotated splice site. This needs no annotation of coding
sequence. (Interpolated periodic Markov chains, as in finders of microbial genes: Borodovsky and
McIninch, 1993; Salzberg et al., 1998.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.sequences import encode, reverse_complement
from seqmtl.sequences.sites import find_motifs
from seqmtl.splicing.coding_loops import count_words
from seqmtl.splicing.relative_weights import relative_weights

#: Bases of a word: a base, and those that it is predicted from.
WORD = 6
_T = 3
_SHORTEST = 300  # bases of a reading frame that is taken for coding because of its length
_BY_CHANCE = 0.1  # such frames expected in random sequence of the same composition
_BESIDE_SITE = 60  # bases of one beside an annotated site,
_FAR = 600  # and the bases in which it is looked for
#: Stop codons of the standard code, and those that code for amino acids in others.
STOPS = ("TAA", "TAG", "TGA")
_REASSIGNED = (["TGA"], ["TAA", "TAG"])
_FAR_MORE = 2.0  # bases in long frames with such a code, for each with the standard one,
_CLEAR_SHARE = 0.25  # and their least share of all: genomes with such codes are dense
_CLEARER = 2  # times longer than in the other frames
_OVERLAP = 0.1  # share of a reading frame that may be in longer ones
_DENSE = 0.6  # share of a stretch in coding frames, and so many times that of the genome,
_DENSER = 2.0  # which leave no room for introns: 40 kb of bacteria have .84 to .91, of plants .31
_PRIOR = 30.0  # observations that the next shorter context counts as
_MIN_CODING_BASES = 3_000  # coding bases to learn from
_ENOUGH = 20_000.0  # coding bases of an organism that count as much as those of its relatives


class Stretch(NamedTuple):
    """A training region, with the annotated splice sites of its strands.

    Attributes
    ----------
    codes : ndarray of uint8
        Letters.
    sites : sequence of (places, is_donor), two
        Annotated true sites of the plus and of the minus strand, in reading direction and from the
        first base of that strand; see :class:`seqmtl.splicing.regions.KnownSites`.
    """

    codes: NDArray[np.uint8]
    sites: Sequence[tuple[NDArray[np.int64], NDArray[np.bool_]]]


class Content(NamedTuple):
    """Coding content of 6-mers, and the amount of data.

    Attributes
    ----------
    table : ndarray of float32, shape (3, 4**6)
        Log ratio of the probability of the last letter of a 6-mer after the others, at positions 0
        to 2 of a codon, to that anywhere. All 0 with too few coding bases to estimate it.
    n_bases : int
        Coding bases.
    """

    table: NDArray[np.float32]
    n_bases: int


class Frame(NamedTuple):
    """An open reading frame: the first base of a codon, and the base after the last one."""

    start: int
    end: int


def coding_content(stretches: Iterable[Stretch], *, may_be_foreign: bool = False) -> Content:
    """Learn the coding content of 6-mers.

    Stop codons are those of the standard genetic code.

    Parameters
    ----------
    stretches : iterable of Stretch
        Training regions.
    may_be_foreign : bool, default False
        Leave out stretches with far more coding sequence than usual, such as bacterial contigs.
    """
    counts = np.zeros((4, 4**WORD))
    stretches = list(stretches)
    least = _LeastLength.among(stretches)
    strands = [(stretch.codes, reverse_complement(stretch.codes)) for stretch in stretches]
    frames_of = [
        _coding_frames(stretch, both, least)
        for stretch, both in zip(stretches, strands, strict=True)
    ]
    is_kept = (
        ~_are_dense(stretches, frames_of) if may_be_foreign else np.ones(len(frames_of), np.bool_)
    )
    for k in np.flatnonzero(is_kept).tolist():
        for codes, frames in zip(strands[k], frames_of[k], strict=True):
            positions = np.full(codes.size, -1, dtype=np.int8)
            for start, end in frames:
                positions[start:end] = np.arange(end - start) % 3
            count_words(codes, positions, counts)
            count_words(codes, np.full(codes.size, 3, dtype=np.int8), counts)
    n = int(counts[:3].sum())
    if n < _MIN_CODING_BASES:
        return Content(np.zeros((3, 4**WORD), dtype=np.float32), n)
    logs = np.log([_conditional(stretch) for stretch in counts])
    return Content((logs[:3] - logs[3]).astype(np.float32), n)


def shared_content(contents: Sequence[Content], relatedness: NDArray[np.float64]) -> list[Content]:
    """Return contents; that of an organism with too few coding bases is the mean of its relatives'.

    Even a few bases are better than the relatives' or a mean with these (C. elegans).

    Parameters
    ----------
    contents : sequence of Content
        Of T organisms; n bases count n / (n + 20,000) in the mean for another.
    relatedness : ndarray of float64, shape (T, T)
        Task kernel.
    """
    weights = relative_weights(_trust(contents), relatedness)
    return [
        content if content.table.any() else Content(mean_table(contents, row), content.n_bases)
        for content, row in zip(contents, weights, strict=True)
    ]


def content_of_relatives(
    contents: Sequence[Content], weights: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Return the table of another organism from those of its relatives, shape (3, 4**6).

    Parameters
    ----------
    contents : sequence of Content
        Of T organisms.
    weights : ndarray of float64, shape (T,)
        How much each counts; those with few coding bases count less.
    """
    return mean_table(contents, weights * _trust(contents))


def mean_table(contents: Sequence[Content], weights: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the weighted mean of the tables, all 0 if nothing counts."""
    tables = np.stack([content.table for content in contents])
    total = float(weights.sum())
    return np.tensordot(weights / (total or 1.0), tables, 1).astype(np.float32)


def _trust(contents: Sequence[Content]) -> NDArray[np.float64]:
    """Return how much the content of each organism counts for others."""
    n = np.array([content.n_bases * content.table.any() for content in contents])
    return np.asarray(n / (n + _ENOUGH))


def stops_that_code(stretches: Sequence[Stretch]) -> list[str]:
    """Return the stop codons of the standard code that seem to code for amino acids.

    Where TGA codes, say, genes are open reading frames between TAA and TAG, but standard ones are
    short. So the codons are ignored with which several times more of the sequence is in frames that
    are too long to be there by chance.
    """
    amounts = []
    for ignored in ([], *_REASSIGNED):
        stops = [word for word in STOPS if word not in ignored]
        least = _LeastLength.among(stretches, stops).bases
        amounts.append(
            sum(
                frame.end - frame.start
                for stretch in stretches
                for codes in (stretch.codes, reverse_complement(stretch.codes))
                for frame in open_frames(codes, least, stops)
            )
        )
    best = int(np.argmax(amounts[1:]))
    bases = sum(stretch.codes.size for stretch in stretches)
    is_so = amounts[1 + best] > max(_FAR_MORE * amounts[0], _CLEAR_SHARE * bases)
    return list(_REASSIGNED[best]) if is_so else []


def open_frames(
    codes: NDArray[np.uint8], least: int, stop_codons: Sequence[str] = STOPS
) -> list[Frame]:
    """Return the open reading frames of one strand, from stop codon to stop codon.

    Parameters
    ----------
    codes : ndarray of uint8
        Letters in reading direction.
    least : int
        Fewest bases.
    stop_codons : sequence of str
        Stop codons.
    """
    stops = _stops(codes, stop_codons)
    frames = []
    for frame in range(3):
        ends = stops[stops % 3 == frame]
        for k in np.flatnonzero(np.diff(ends) - 3 >= least).tolist():
            frames.append(Frame(int(ends[k]) + 3, int(ends[k + 1])))
    return frames


def frames_at_sites(
    codes: NDArray[np.uint8], positions: NDArray[np.int64], is_donor: NDArray[np.bool_]
) -> Iterator[Frame]:
    """Yield the reading frames before donors and after acceptors that are clearly the open ones.

    Parameters
    ----------
    codes : ndarray of uint8
        Letters in reading direction.
    positions, is_donor : ndarray, shape (n,)
        Annotated sites; exons are sought up to the next one.
    """
    stops = _stops(codes)
    by_frame = [stops[stops % 3 == frame] for frame in range(3)]
    bounds = np.concatenate([[0], positions, [codes.size]])
    for k, (position, donor) in enumerate(
        zip(positions.tolist(), is_donor.tolist(), strict=True), 1
    ):
        frames = []
        for frame, ends in enumerate(by_frame):
            at = int(
                np.searchsorted(
                    ends, position - 3 if donor else position, "right" if donor else "left"
                )
            )
            if donor:
                begin = max(int(bounds[k - 1]), position - _FAR, int(ends[at - 1]) + 3 if at else 0)
                begin += (frame - begin) % 3
                frames.append(Frame(begin, position))
            else:
                end = min(int(bounds[k + 1]), position + _FAR)
                end = min(end, int(ends[at])) if at < ends.size else end
                begin = position + (frame - position) % 3
                frames.append(Frame(begin, end))
        frames.sort(key=lambda ends: ends.end - ends.start, reverse=True)
        lengths = [ends.end - ends.start for ends in frames]
        if lengths[0] >= max(_BESIDE_SITE, _CLEARER * lengths[1]):
            yield frames[0]


def _coding_frames(
    stretch: Stretch, strands: Sequence[NDArray[np.uint8]], least: _LeastLength
) -> list[list[Frame]]:
    """Return the reading frames of both strands that are taken for coding."""
    size = stretch.codes.size
    candidates = [
        (frame.end - frame.start, frame, t)
        for t in (0, 1)
        for frame in open_frames(strands[t], least.bases)
        if frame.end - frame.start >= least.of(strands[t][frame.start : frame.end])
    ]
    chosen = [
        list(frames_at_sites(codes, *sites))
        for codes, sites in zip(strands, stretch.sites, strict=True)
    ]
    taken = np.zeros(size, dtype=np.bool_)
    for length, frame, t in sorted(candidates, reverse=True):
        bounds = slice(*frame) if t == 0 else slice(size - frame.end, size - frame.start)
        if taken[bounds].sum() <= _OVERLAP * length:  # not the shadow of a gene on the other strand
            taken[bounds] = True
            chosen[t].append(frame)
    return chosen


def _are_dense(
    stretches: Sequence[Stretch], frames_of: Sequence[list[list[Frame]]]
) -> NDArray[np.bool_]:
    """Return which stretches have far more coding sequence than the median base is among."""
    sizes = np.array([stretch.codes.size for stretch in stretches])
    coding = [
        sum(stretch.end - stretch.start for strand in both for stretch in strand)
        for both in frames_of
    ]
    shares = np.array(coding) / np.maximum(sizes, 1)
    order = np.argsort(shares, kind="stable")
    middle = order[np.searchsorted(sizes[order].cumsum(), sizes.sum() / 2)]
    return np.asarray(shares > max(_DENSE, _DENSER * shares[middle]))


def _stops(codes: NDArray[np.uint8], stop_codons: Sequence[str] = STOPS) -> NDArray[np.int64]:
    """Return where reading ends on one strand, in any frame: at stop codons and unknown bases."""
    is_end = np.convolve(codes > _T, np.ones(3, dtype=np.int64), "valid") > 0
    if codes.size < 3:
        return np.zeros(0, dtype=np.int64)
    for word in stop_codons:
        is_end |= find_motifs(codes, [word], False)
    return np.flatnonzero(is_end)


class _LeastLength(NamedTuple):
    """How long a reading frame must be, so as not to be there by chance.

    Attributes
    ----------
    bases : int
        Fewest bases of such a frame, in sequence of the composition of both strands.
    n_bases : float
        Bases of one strand.
    stops : sequence of str
        Stop codons.
    """

    bases: int
    n_bases: float
    stops: Sequence[str]

    @classmethod
    def among(
        cls, stretches: Sequence[Stretch], stop_codons: Sequence[str] = STOPS
    ) -> _LeastLength:
        """Return the least length in stretches."""
        counts = sum(
            (np.bincount(stretch.codes, minlength=5)[:4] for stretch in stretches), np.zeros(4)
        )
        n = max(1.0, float(counts.sum()))
        both = (counts + counts[::-1] + 1) / (2 * n + 4)  # A, C, G, T on both strands
        return cls(_too_long(both, n, stop_codons), n, stop_codons)

    def of(self, codes: NDArray[np.uint8]) -> int:
        """Return the least length in sequence like a frame, which if rich in GC has few stops."""
        shares = (np.bincount(codes, minlength=5)[:4] + 1) / (codes.size + 4)
        return _too_long(shares, self.n_bases, self.stops)


def _too_long(shares: NDArray[np.float64], n: float, stop_codons: Sequence[str]) -> int:
    """Return the bases of a reading frame that random sequence of 2 n bases hardly has."""
    stop = float(sum(shares[encode(word)].prod() for word in stop_codons))
    codons = np.log(_BY_CHANCE / (2 * n * stop)) / np.log1p(-stop)
    return max(_SHORTEST, 3 * int(np.ceil(codons)))


def _conditional(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of the last letter of each k-mer, from shorter k-mers up."""
    p = np.full(4, 0.25)
    for k in range(1, WORD + 1):
        of_length = counts.reshape(-1, 4**k).sum(axis=0).reshape(-1, 4)
        shorter = np.tile(p.reshape(-1, 4), (of_length.shape[0] // (p.size // 4), 1))
        p = (
            (of_length + _PRIOR * shorter) / (of_length.sum(axis=1, keepdims=True) + _PRIOR)
        ).ravel()
    return p
