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

from seqmtl.core import Problem, solve
from seqmtl.core.grouped_kernel import GroupedKernel
from seqmtl.core.losses import LOSSES
from seqmtl.features.numeric import NumericRows
from seqmtl.sequences import reverse_complement
from seqmtl.splicing.coding_chains import log_ratios
from seqmtl.splicing.coding_words import WINDOW, Words

#: Shares of G and C between the classes, within so many bases on either side.
GC_CUTS = (0.38, 0.48)
GC_REACH = 500
_C, _G = 1, 2
_FLANK = 60  # bases of an exon beside a site whose other end is not near,
_LONGEST_EXON = 600  # and of a whole one
_SHORTEST_PIECE = 20
_BESIDE_DONOR, _BESIDE_ACCEPTOR = 10, 30  # bases of an intron that its sites shape
_LONGEST_INTRON = 2_000  # bases of an intron that count
_MAX_PIECES = 20_000  # of an organism
_MIN_BASES = 3_000  # coding bases to learn from
_CAUTION = 0.75  # factor of log ratios, as neighbouring words are not independent
_COST, _TOL = 0.02, 0.01  # of a window of an exon or an intron; of the solution
_OF_FRAMES = 0.3  # cost of a window in another frame of an exon, relative to these


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


class Transcribed(NamedTuple):
    """What the content of an organism is learnt from.

    Attributes
    ----------
    exons, introns : list of ndarray of uint8
        Letters of pieces in reading direction.
    exon_classes, intron_classes : list of int
        Class of G and C around each, see :func:`gc_classes`.
    """

    exons: list[NDArray[np.uint8]]
    exon_classes: list[int]
    introns: list[NDArray[np.uint8]]
    intron_classes: list[int]

    def plus(self, other: Transcribed) -> Transcribed:
        """Return the pieces of both."""
        return Transcribed(
            self.exons + other.exons,
            self.exon_classes + other.exon_classes,
            self.introns + other.introns,
            self.intron_classes + other.intron_classes,
        )


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
    is_gc, is_clean = (codes == _C) | (codes == _G), codes < 4
    reach = np.array([[-GC_REACH], [GC_REACH + 1]])
    bounds = np.clip(np.arange(codes.size) + reach, 0, codes.size)
    gc, clean = (
        np.diff(np.append(0, np.cumsum(of, dtype=np.int32))[bounds], axis=0)[0]
        for of in (is_gc, is_clean)
    )
    classes = np.zeros(codes.size, dtype=np.uint8)
    for cut in GC_CUTS:
        classes += gc > cut * clean
    return classes


def transcribed(stretches: Iterable[Stretch]) -> Transcribed:
    """Return the pieces of exons and introns between the splice sites of regions.

    An exon from an acceptor to the next donor is whole up to 600 bases; of others count 60 bases
    beside the site. An intron is from a donor to the next acceptor, without what its sites shape.
    """
    parts = Transcribed([], [], [], [])
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
                    _add(parts.exons, parts.exon_classes, letters, of_strand, begin, place)
                    continue
                if k and is_donor[k - 1]:
                    first, last = bounds[k - 1] + _BESIDE_DONOR, place - _BESIDE_ACCEPTOR
                    last = min(last, first + _LONGEST_INTRON)
                    _add(parts.introns, parts.intron_classes, letters, of_strand, first, last)
                is_whole = k + 1 < len(bounds) and is_donor[k + 1]
                if not (is_whole and bounds[k + 1] - place <= _LONGEST_EXON):
                    _add(parts.exons, parts.exon_classes, letters, of_strand, place, place + _FLANK)
    return parts


def _add(
    pieces: list[NDArray[np.uint8]],
    numbers: list[int],
    letters: NDArray[np.uint8],
    classes: NDArray[np.uint8],
    begin: int,
    end: int,
) -> None:
    """Add the piece begin..end-1 of a strand, and its class, unless it is short."""
    begin, end = max(begin, 0), min(end, letters.size)
    if end - begin >= _SHORTEST_PIECE:
        pieces.append(letters[begin:end])
        numbers.append(int(classes[(begin + end) // 2]))


def learn_contents(
    samples: Sequence[Transcribed],
    similarity: NDArray[np.float64],
    prior: NDArray[np.float32] | None = None,
) -> list[Content]:
    """Learn the coding content of organisms.

    Parameters
    ----------
    samples : sequence of Transcribed
        Of T organisms.
    similarity : ndarray of float64, shape (T, T)
        Task kernel of the organisms, 1 on the diagonal.
    prior : ndarray of float32, shape (3, 3, 1024), optional
        A table that all start from, such as that of relatives. Default: log ratios of Markov
        chains.
    """
    exons = Words.of([_drawn(sample.exons, sample.exon_classes) for sample in samples])
    introns = Words.of([_drawn(sample.introns, sample.intron_classes) for sample in samples])
    if prior is None:
        tables = _CAUTION * log_ratios(exons, introns, similarity)
    else:
        tables = np.tile(np.float64(prior), (len(samples), 1, 1, 1))
    p = exons.frames(tables)
    n = exons.counts(p, len(samples)).sum(axis=(1, 2, 3))
    if n.sum() >= _MIN_BASES:
        tables += _changes(exons, introns, p, tables, similarity)
    elif prior is None:
        tables[:] = 0.0
    return [
        Content(table.astype(np.float32), int(n_bases))
        for table, n_bases in zip(tables, n, strict=True)
    ]


def _changes(
    exons: Words,
    introns: Words,
    p: NDArray[np.float64],
    tables: NDArray[np.float64],
    similarity: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the changes of tables that best tell exons in frame from introns and other frames.

    They are the weights of a logistic regression of all organisms, whose scores are added to those
    of the tables.
    """
    from scipy.sparse import csr_matrix

    of_exons, pieces, begins = exons.windows(len(tables))
    of_introns, *_ = introns.windows(len(tables))
    parts = []
    for frame in range(3):
        in_frame = p[pieces, (frame - begins) % 3]
        parts += [
            of_exons.in_frame(frame, 1.0, in_frame),
            of_exons.in_frame(frame, -1.0, _OF_FRAMES * (1 - in_frame)),
            of_introns.in_frame(frame, -1.0, np.ones(len(of_introns.tables))),
        ]
    tasks, cells, counts, y, costs = (np.concatenate(of) for of in zip(*parts, strict=True))
    given = (tables.reshape(len(tables), -1)[tasks[:, np.newaxis], cells] * counts).sum(axis=1)
    bounds = np.arange(0, cells.size + 1, WINDOW)
    X = csr_matrix((counts.ravel(), cells.ravel(), bounds), (len(y), tables[0].size))
    X.sum_duplicates()
    X.eliminate_zeros()
    rows, kernel, loss = NumericRows(X), GroupedKernel.of(similarity), LOSSES["logistic"]
    problem = Problem(rows, y, tasks, kernel, _COST * costs, loss, targets=-y * given)
    solution = solve(problem, tol=_TOL)
    return np.asarray(solution.W, dtype=np.float64).T.reshape(tables.shape)


def _drawn(
    pieces: list[NDArray[np.uint8]], classes: list[int]
) -> tuple[list[NDArray[np.uint8]], list[int]]:
    """Return evenly spaced pieces and their classes, 20,000 at most."""
    step = -(-len(pieces) // _MAX_PIECES) or 1
    return pieces[::step], classes[::step]
