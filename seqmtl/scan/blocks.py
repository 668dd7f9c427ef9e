"""Split a genome into blocks with fixed boundaries, however it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from seqmtl.io.genome import ContigPiece
from seqmtl.scan.filters import ScanSummary, SiteFilters
from seqmtl.scan.finder import Found, SiteFinder


class Finder(Protocol):
    """What finds sites in parts of a contig, such as a :class:`seqmtl.scan.SiteFinder`.

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
    """

    length: int
    window: int
    nearest: int
    farthest: int
    margin: int
    block: int
    strands: str
    filters: SiteFilters

    @property
    def finders(self) -> tuple[SiteFinder, ...]:
        """What describes the sites of each signal."""

    def find(self, piece: ContigPiece, first: int, last: int) -> Found:
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
    length, contigs, margin = finder.length, finder.filters.scanned, finder.margin
    next_first = 0
    held: ContigPiece | None = None
    for piece in pieces:
        held = _append(held, piece)
        known = held.start + held.codes.size
        is_wanted = contigs is None or piece.name in contigs
        while is_wanted and next_first - finder.farthest < known:
            first, last = max(next_first, finder.nearest), next_first + size
            if piece.is_last:
                last = min(last, known - length + finder.farthest + 1)
            elif last - 1 - finder.nearest + length + margin > known:
                break
            if first < last:
                begin = first - finder.farthest - margin
                end = last - 1 - finder.nearest + length + margin
                yield Block(_between(held, begin, end), first, last)
            next_first += size
        if piece.is_last:
            _count(summary, piece, finder.window, is_wanted)
            held, next_first = None, 0
        else:
            needed = next_first - finder.farthest - margin if is_wanted else known
            held = _between(held, needed, known)


def _append(held: ContigPiece | None, piece: ContigPiece) -> ContigPiece:
    expected = 0 if held is None else held.start + held.codes.size
    if piece.start != expected or (held is not None and held.name != piece.name):
        raise ValueError(
            "pieces of a contig must be consecutive and without gaps, got "
            f"{piece.name!r} from {piece.start} where {expected} was expected"
        )
    if held is None:
        return piece
    is_lower = None
    if held.is_lower is not None and piece.is_lower is not None:
        is_lower = np.concatenate([held.is_lower, piece.is_lower])
    codes = np.concatenate([held.codes, piece.codes])
    return ContigPiece(piece.name, held.start, codes, piece.is_last, is_lower)


def _between(piece: ContigPiece, begin: int, end: int) -> ContigPiece:
    """Return the bases of a piece at begin..end-1 of the contig."""
    first, last = (min(max(0, place - piece.start), piece.codes.size) for place in (begin, end))
    is_lower = None if piece.is_lower is None else piece.is_lower[first:last]
    codes = piece.codes[first:last]
    return ContigPiece(piece.name, piece.start + first, codes, piece.is_last, is_lower)


def _count(summary: ScanSummary, piece: ContigPiece, window: int, is_wanted: bool) -> None:
    n_bases = piece.start + piece.codes.size
    if not is_wanted:
        summary.n_contigs_left_out += 1
        return
    summary.n_contigs += 1
    summary.n_bases += n_bases
    summary.longest_contig = max(summary.longest_contig, n_bases)
    if n_bases < window:
        summary.short_contigs.append(piece.name)
