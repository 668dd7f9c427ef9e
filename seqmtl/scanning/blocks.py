"""Split a genome into blocks with fixed boundaries, however it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from seqmtl.io.genome import ContigPiece
from seqmtl.scanning.filters import ScanSummary, SiteFilters
from seqmtl.scanning.finder import BlockSites, SiteFinder
from seqmtl.sequences.alphabet import OTHER
from seqmtl.sequences.genome import ContigTable


class Finder(Protocol):
    """Interface of finders of sites, such as :class:`seqmtl.scanning.SiteFinder`.

    Attributes
    ----------
    length : int
        Window length in bases.
    window : int
        Bases of the shortest contig with a window.
    nearest, farthest : int
        Smallest and largest distance from a window's start to its site's start.
    margin : int
        Further bases needed before the first and after the last window of a block.
    block : int
        Site starts to find at a time.
    strands : {"both", "+", "-"}
        Strands to report.
    filters : SiteFilters
        Which contigs to scan.
    joins_contigs : bool
        Whether several short contigs may be joined to one piece.
    """

    length: int
    window: int
    nearest: int
    farthest: int
    margin: int
    block: int
    strands: str
    filters: SiteFilters
    joins_contigs: bool

    @property
    def finders(self) -> tuple[SiteFinder, ...]:
        """The finders of single signals."""

    def find(self, piece: ContigPiece, first: int, last: int) -> BlockSites:
        """Return the sites that start at first..last-1 of the contig, given a piece of it."""


class Block(NamedTuple):
    """Sites that start at first..last-1 of a contig, with the bases of their windows.

    Attributes
    ----------
    piece : ContigPiece
        Bases that include all windows of these sites.
    first, last : int
        Starts of the sites, 0-based half-open on the forward strand.
    """

    piece: ContigPiece
    first: int
    last: int

    @property
    def n_starts(self) -> int:
        """Number of site starts; of several contigs, those within the contigs."""
        if self.piece.contigs is None:
            return self.last - self.first
        n_lost = self.piece.codes.size - (self.last - self.first)  # at the ends of each contig
        return int(np.maximum(self.piece.contigs.lengths - n_lost, 0).sum())


def join_contigs(pieces: Iterable[ContigPiece], finder: Finder) -> Iterator[ContigPiece]:
    """Join consecutive complete contigs, up to a block of the finder.

    The time for a genome of many small contigs then depends on its bases, not on their number.
    """
    pending: list[ContigPiece] = []
    size = 0
    selected = finder.filters.scanned
    for piece in pieces:
        n = piece.codes.size + 1
        is_selected = selected is None or piece.name in selected
        fits = piece.start == 0 and piece.is_last and is_selected and n <= finder.block
        if not fits or size + n > finder.block:
            yield from _joined(pending)
            pending = []
            size = 0
        if fits and finder.joins_contigs:
            pending.append(piece)
            size += n
        else:
            yield piece
    yield from _joined(pending)


def _joined(pieces: list[ContigPiece]) -> Iterator[ContigPiece]:
    """Yield complete contigs as one piece, if there are any."""
    if len(pieces) < 2:
        yield from pieces
        return
    lengths = np.array([piece.codes.size for piece in pieces], dtype=np.int64)
    starts = np.cumsum(lengths + 1) - lengths - 1
    codes = np.full(int(lengths.sum()) + len(pieces) - 1, OTHER, dtype=np.uint8)
    is_lower = None if pieces[0].is_lower is None else np.zeros(codes.size, dtype=bool)
    for start, piece in zip(starts.tolist(), pieces, strict=True):
        codes[start : start + piece.codes.size] = piece.codes
        if is_lower is not None and piece.is_lower is not None:
            is_lower[start : start + piece.codes.size] = piece.is_lower
    table = ContigTable(tuple(piece.name for piece in pieces), starts, lengths)
    yield ContigPiece(pieces[0].name, 0, codes, True, is_lower, table)


def cut_blocks(
    pieces: Iterable[ContigPiece], finder: Finder, size: int, summary: ScanSummary
) -> Iterator[Block]:
    """Split pieces into blocks that begin at multiples of `size`, and count contigs.

    Parameters
    ----------
    pieces : iterable of ContigPiece
        Contigs, whole or in consecutive pieces.
    finder : Finder
        Gives the extent of windows, the contigs to scan, and the bases that a block needs on
        either side besides the windows of its sites.
    size : int
        Number of site starts per block.
    summary : ScanSummary
        Receives the counts of contigs and bases.

    Raises
    ------
    ValueError
        If pieces are not consecutive.
    """
    length = finder.length
    contigs = finder.filters.scanned
    margin = finder.margin
    next_first = 0
    buffered: ContigPiece | None = None
    for piece in pieces:
        buffered = _append(buffered, piece)
        buffered_end = buffered.start + buffered.codes.size
        is_selected = contigs is None or piece.name in contigs
        while is_selected and next_first - finder.farthest < buffered_end:
            first, last = max(next_first, finder.nearest), next_first + size
            if piece.is_last:
                last = min(last, buffered_end - length + finder.farthest + 1)
            elif last - 1 - finder.nearest + length + margin > buffered_end:
                break
            if first < last:
                begin = first - finder.farthest - margin
                end = last - 1 - finder.nearest + length + margin
                yield Block(_between(buffered, begin, end), first, last)
            next_first += size
        if piece.is_last:
            _count(summary, piece, finder.window, is_selected)
            buffered = None
            next_first = 0
        else:
            needed = next_first - finder.farthest - margin if is_selected else buffered_end
            buffered = _between(buffered, needed, buffered_end)


def _append(buffered: ContigPiece | None, piece: ContigPiece) -> ContigPiece:
    expected = 0 if buffered is None else buffered.start + buffered.codes.size
    if piece.start != expected or (buffered is not None and buffered.name != piece.name):
        raise ValueError(
            "pieces of a contig must be consecutive and without gaps, got "
            f"{piece.name!r} from {piece.start} where {expected} was expected"
        )
    if buffered is None:
        return piece
    is_lower = None
    if buffered.is_lower is not None and piece.is_lower is not None:
        is_lower = np.concatenate([buffered.is_lower, piece.is_lower])
    codes = np.concatenate([buffered.codes, piece.codes])
    return ContigPiece(piece.name, buffered.start, codes, piece.is_last, is_lower)


def _between(piece: ContigPiece, begin: int, end: int) -> ContigPiece:
    """Return the bases of a piece at begin..end-1 of the contig."""
    first, last = (min(max(0, bound - piece.start), piece.codes.size) for bound in (begin, end))
    is_lower = None if piece.is_lower is None else piece.is_lower[first:last]
    codes = piece.codes[first:last]
    return piece._replace(start=piece.start + first, codes=codes, is_lower=is_lower)


def _count(summary: ScanSummary, piece: ContigPiece, window: int, is_selected: bool) -> None:
    if not is_selected:
        summary.n_contigs_left_out += 1
        return
    sizes = {piece.name: piece.start + piece.codes.size}
    if piece.contigs is not None:
        sizes = dict(zip(piece.contigs.names, piece.contigs.lengths.tolist(), strict=True))
    summary.n_contigs += len(sizes)
    summary.n_bases += sum(sizes.values())
    summary.longest_contig = max(summary.longest_contig, *sizes.values())
    summary.short_contigs += [name for name, n_bases in sizes.items() if n_bases < window]
