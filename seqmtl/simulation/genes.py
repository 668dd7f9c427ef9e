"""Place genes, exons and introns, and fill the gaps between genes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from seqmtl.simulation.background import EXON, INTERGENIC, INTRON

MEAN_INTRONS = 5.0
#: Bases of a gene's block before its first exon and after its last one.
PROMOTER = 80
TAIL = 20
#: Shortest gap between genes that may hold repeats or an N run.
_ROOMY_GAP = 300
#: Fewest bases: so long that no two motifs overlap, nor one with the start or the stop codon.
_MIN_CODING, _MIN_INTRON, _MIN_LEADER, _MIN_TRAILER = 40, 90, 40, 20


@dataclass(frozen=True)
class Layout:
    """Genes of one chromosome; 0-based half-open positions.

    Every gene has a block: promoter, exons and introns, tail. Exons inside a block are at first in
    the sense of transcription; a block of the minus strand is reverse-complemented once its bases
    are drawn, see :meth:`forward`.

    Attributes
    ----------
    length : int
        Bases of the chromosome.
    block_start, block_end, strand : numpy.ndarray
        Shape (genes,).
    first_exon : numpy.ndarray
        Shape (genes + 1,), int64: gene g owns the exons first_exon[g] to first_exon[g + 1], in
        the order of transcription.
    exon_start, exon_end : numpy.ndarray
        Shape (exons,), int64.
    coding_start, coding_end : numpy.ndarray
        Shape (exons,), int64: the part of every exon from start to stop codon, both included. That
        of a gene is a whole number of codons.
    """

    length: int
    block_start: np.ndarray
    block_end: np.ndarray
    strand: np.ndarray
    first_exon: np.ndarray
    exon_start: np.ndarray
    exon_end: np.ndarray
    coding_start: np.ndarray
    coding_end: np.ndarray

    def introns(self) -> tuple[np.ndarray, np.ndarray]:
        """Return start and end of every intron, in sense coordinates, gene by gene."""
        inner = np.ones(self.exon_start.size, dtype=bool)
        inner[self.first_exon[1:] - 1] = False
        upstream = np.flatnonzero(inner)
        return self.exon_end[upstream], self.exon_start[upstream + 1]

    def regions(self) -> np.ndarray:
        """Return the region of every base, shape (length,), uint8."""
        regions = np.full(self.length, INTERGENIC, dtype=np.uint8)
        regions[_inside(self.exon_start, self.exon_end)] = EXON
        regions[_inside(*self.introns())] = INTRON
        return regions

    def codons(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the bases of every codon, in sense coordinates, and the first codon of every gene.

        Returns
        -------
        positions : numpy.ndarray
            Shape (codons, 3), int64, gene by gene in the order of transcription.
        first : numpy.ndarray
            Shape (genes,), int64.
        """
        positions = _inside(self.coding_start, self.coding_end).reshape(-1, 3)
        before = np.concatenate(([0], np.cumsum(self.coding_end - self.coding_start)))
        return positions, before[self.first_exon[:-1]] // 3

    def turn(self, codes: np.ndarray) -> np.ndarray:
        """Return a copy with the blocks of the minus strand reverse-complemented (codes 0..3)."""
        minus = self.strand < 0
        starts, ends = self.block_start[minus], self.block_end[minus]
        positions = _inside(starts, ends)
        turned = codes.copy()
        turned[positions] = 3 - codes[np.repeat(starts + ends - 1, ends - starts) - positions]
        return turned

    def forward(self) -> Layout:
        """Return the genes with the exons in coordinates of the plus strand."""
        n_exons = np.diff(self.first_exon)
        minus = np.repeat(self.strand < 0, n_exons)
        mirror = np.repeat(self.block_start + self.block_end, n_exons)

        def turned(start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.where(minus, mirror - end, start), np.where(minus, mirror - start, end)

        exon_start, exon_end = turned(self.exon_start, self.exon_end)
        coding_start, coding_end = turned(self.coding_start, self.coding_end)
        return replace(
            self,
            exon_start=exon_start,
            exon_end=exon_end,
            coding_start=coding_start,
            coding_end=coding_end,
        )

    def spans(self) -> tuple[np.ndarray, np.ndarray]:
        """Return start and end of every gene on the plus strand, shape (genes,), int64."""
        first, last = self.first_exon[:-1], self.first_exon[1:] - 1
        start = np.minimum(self.exon_start[first], self.exon_start[last])
        return start, np.maximum(self.exon_end[first], self.exon_end[last])


def lay_out_genes(
    n_genes: int, length: int, margin: int, typical_intron: float, rng: np.random.Generator
) -> Layout:
    """Place genes on one chromosome.

    A gene has at least 2 introns (5 on average), a whole number of codons, and a random strand.
    The coding parts of exons have about 150 bases, and introns 90 and about 1.4 times
    `typical_intron` (both log-normal above a minimum). The first exon begins with about 60 bases
    before the start codon, the last one ends with about 50 after the stop codon. Gaps between genes
    are exponential.

    Parameters
    ----------
    n_genes : int
        Number of genes.
    length : int
        Bases of the chromosome.
    margin : int
        Number of bases without genes at either end.
    typical_intron : float
        Median number of bases of an intron beyond the shortest one.
    rng : numpy.random.Generator
        Random generator.

    Raises
    ------
    ValueError
        If the genes do not fit.
    """
    n_introns = 2 + rng.poisson(MEAN_INTRONS - 2, size=n_genes)
    n_pieces = 2 * n_introns + 1
    first_piece = np.concatenate(([0], np.cumsum(n_pieces)))
    is_exon = (np.arange(first_piece[-1]) - np.repeat(first_piece[:-1], n_pieces)) % 2 == 0
    shortest = np.where(is_exon, _MIN_CODING, _MIN_INTRON)
    typical = np.where(is_exon, 75.0, typical_intron)
    sizes = shortest + (typical * rng.lognormal(0.0, 0.8, size=is_exon.size)).astype(np.int64)
    first, last = first_piece[:-1], first_piece[1:] - 1
    sizes[last] += -np.add.reduceat(sizes * is_exon, first) % 3
    leader = _MIN_LEADER + rng.exponential(20.0, size=n_genes).astype(np.int64)
    trailer = _MIN_TRAILER + rng.exponential(30.0, size=n_genes).astype(np.int64)
    sizes[first] += leader
    sizes[last] += trailer
    ends = np.cumsum(sizes)
    spans = np.diff(np.concatenate(([0], ends))[first_piece]) + PROMOTER + TAIL
    free = length - 2 * margin - int(spans.sum())
    if free < 0:
        raise ValueError(
            f"chromosome_length must be at least {length - free} for {n_genes} genes per chromosome"
            f", got {length}; use longer chromosomes, fewer genes or fewer windows"
        )
    shares = rng.exponential(size=n_genes + 1)
    gaps = np.floor(free * np.cumsum(shares)[:-1] / shares.sum()).astype(np.int64)
    block_end = margin + gaps + np.cumsum(spans)
    ends += np.repeat(block_end - TAIL - ends[last], n_pieces)
    starts = ends - sizes
    coding_start, coding_end = starts.copy(), ends.copy()
    coding_start[first] += leader
    coding_end[last] -= trailer
    return Layout(
        length=length,
        block_start=block_end - spans,
        block_end=block_end,
        strand=rng.choice(np.array([1, -1], dtype=np.int8), size=n_genes),
        first_exon=np.concatenate(([0], np.cumsum(n_introns + 1))),
        exon_start=starts[is_exon],
        exon_end=ends[is_exon],
        coding_start=coding_start[is_exon],
        coding_end=coding_end[is_exon],
    )


def fill_gaps(
    layout: Layout, codes: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Write tandem repeats into wide gaps, in place, and choose the positions of N runs.

    Every gap has at most one feature, away from the genes: an N run of 20 to 400 bases (in up to
    three gaps) or, in half of the others, repeats of a unit of 2 to 6 bases with one base in eight
    mutated.

    Returns
    -------
    repeats, unknown : numpy.ndarray
        Positions to write in lower case, and positions of N, int64, sorted.
    """
    starts = np.concatenate(([0], layout.block_end))
    ends = np.concatenate((layout.block_start, [layout.length]))
    roomy = rng.permutation(np.flatnonzero(ends - starts >= _ROOMY_GAP))
    n_runs = min(3, roomy.size // 4)
    chosen = roomy[: n_runs + (roomy.size - n_runs) // 2]
    width = (ends - starts)[chosen]
    is_run = np.arange(chosen.size) < n_runs
    longest = np.minimum(width // 3, np.where(is_run, 400, 600))
    size = rng.integers(20, longest + 1)
    begin = starts[chosen] + 50 + (rng.random(chosen.size) * (width - size - 100)).astype(np.int64)
    unknown = _inside(begin[is_run], (begin + size)[is_run])
    begin, size = begin[~is_run], size[~is_run]
    repeats = _inside(begin, begin + size)
    units = rng.integers(0, 4, size=(begin.size, 6), dtype=np.uint8)
    period = np.repeat(rng.integers(2, 7, size=begin.size), size)
    owner = np.repeat(np.arange(begin.size), size)
    bases = units[owner, (repeats - np.repeat(begin, size)) % period]
    mutated = rng.random(bases.size) < 0.125
    bases[mutated] = rng.integers(0, 4, size=int(mutated.sum()), dtype=np.uint8)
    codes[repeats] = bases
    return np.sort(repeats), np.sort(unknown)


def _inside(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return all positions of the intervals, interval by interval, int64."""
    sizes = ends - starts
    before = np.cumsum(sizes) - sizes
    positions: np.ndarray = np.arange(int(sizes.sum())) + np.repeat(starts - before, sizes)
    return positions
