"""Split a genome into blocks of sites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from seqmtl.io.genome import ContigPiece
from seqmtl.scanning.filters import ScanSummary
from seqmtl.sequences.alphabet import OTHER
from seqmtl.sequences.genome import ContigTable

if TYPE_CHECKING:
    from seqmtl.scanning.finder import SiteFinder
    from seqmtl.splicing.finder import PairedFinder


#: What finds the sites of one signal, or introns and their ends.
Finder: TypeAlias = "SiteFinder | PairedFinder"


class Block(NamedTuple):
    """Sites that start at first..last-1 of a contig, or of several that are joined.

    Attributes
    ----------
    contig : ContigPiece
        The contig.
    first, last : int
        Starts of the sites, 0-based half-open on the forward strand.
    """

    contig: ContigPiece
    first: int
    last: int

    @property
    def n_bases(self) -> int:
        """Number of bases, without the letters between joined contigs."""
        if self.contig.contigs is None:
            return self.last - self.first
        return int(self.contig.contigs.lengths.sum())


def join_contigs(contigs: Iterable[ContigPiece], finder: Finder) -> Iterator[ContigPiece]:
    """Join consecutive contigs, up to a block of the finder.

    The time for a genome of many small contigs then depends on its bases, not on their number.
    """
    pending: list[ContigPiece] = []
    size = 0
    selected = finder.filters.scanned
    for contig in contigs:
        n = contig.codes.size + 1
        fits = n <= finder.block and (selected is None or contig.name in selected)
        if not fits or size + n > finder.block:
            yield from _joined(pending)
            pending = []
            size = 0
        if fits and finder.joins_contigs:
            pending.append(contig)
            size += n
        else:
            yield contig
    yield from _joined(pending)


def _joined(contigs: list[ContigPiece]) -> Iterator[ContigPiece]:
    """Yield contigs as one piece, if there are any."""
    if len(contigs) < 2:
        yield from contigs
        return
    lengths = np.array([contig.codes.size for contig in contigs], dtype=np.int64)
    starts = np.cumsum(lengths + 1) - lengths - 1
    codes = np.full(int(lengths.sum()) + len(contigs) - 1, OTHER, dtype=np.uint8)
    for start, contig in zip(starts.tolist(), contigs, strict=True):
        codes[start : start + contig.codes.size] = contig.codes
    table = ContigTable(tuple(contig.name for contig in contigs), starts, lengths)
    yield ContigPiece(contigs[0].name, 0, codes, table)


def cut_blocks(
    contigs: Iterable[ContigPiece], finder: Finder, summary: ScanSummary
) -> Iterator[Block]:
    """Split the contigs to scan into blocks of the finder; count contigs and bases."""
    selected = finder.filters.scanned
    for contig in join_contigs(contigs, finder):
        if selected is not None and contig.name not in selected:
            summary.n_contigs_excluded += 1
            continue
        _count(summary, contig, finder.window)
        n_bases = contig.codes.size
        for first in range(0, n_bases, finder.block):
            yield Block(contig, first, min(first + finder.block, n_bases))


def _count(summary: ScanSummary, contig: ContigPiece, window: int) -> None:
    sizes = {contig.name: contig.codes.size}
    if contig.contigs is not None:
        sizes = dict(zip(contig.names, contig.contigs.lengths.tolist(), strict=True))
    summary.n_contigs += len(sizes)
    summary.n_bases += sum(sizes.values())
    summary.longest_contig = max(summary.longest_contig, *sizes.values())
    summary.short_contigs += [name for name, n_bases in sizes.items() if n_bases < window]
