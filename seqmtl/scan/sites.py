"""Which windows are reported, and where their sites lie on the forward strand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.genome import ContigPiece
from seqmtl.scan.scanner import Scanner
from seqmtl.sequences import encode, reverse_complement
from seqmtl.sequences.alphabet import OTHER


class SiteBlock(NamedTuple):
    """Reported sites of a part of a contig, by start, plus before minus.

    Attributes
    ----------
    starts : ndarray of int64, shape (n,)
        0-based start of the site's interval on the forward strand.
    scores : ndarray of float32, shape (n,)
        Scores of the windows around the sites.
    is_reverse : ndarray of bool, shape (n,)
        Sites on the minus strand.
    n_scored, n_mixed : int
        Windows scored, and windows that hold a letter other than A, C, G, T.
    """

    starts: NDArray[np.int64]
    scores: NDArray[np.float32]
    is_reverse: NDArray[np.bool_]
    n_scored: int
    n_mixed: int


class SiteFinder:
    """Scan contigs, whole or in pieces, and keep what is asked for.

    Parameters
    ----------
    scanner : Scanner
        Scores windows and knows where the site lies in them.
    strands : {"both", "+", "-"}
        Strands to scan.
    consensus : str, optional
        Letters that a site must have in reading direction, e.g. ``"AG"``; several, separated by
        commas, e.g. ``"GT,GC"``. Default: every position.
    threshold : float, optional
        Lowest score to report. Default: all.

    Attributes
    ----------
    overlap : int
        Bases that a piece of a contig must share with the one before, so that every site has
        the windows of both strands in one piece.

    Raises
    ------
    ValueError
        If the consensus is not as long as the site or holds letters other than A, C, G, T.
    """

    def __init__(
        self,
        scanner: Scanner,
        *,
        strands: str = "both",
        consensus: str | None = None,
        threshold: float | None = None,
    ) -> None:
        if strands not in ("both", "+", "-"):
            raise ValueError(f"strands must be 'both', '+' or '-', got {strands!r}")
        self.scanner = scanner
        self.strands = strands
        self.threshold = threshold
        self.consensus = _parse_consensus(consensus, scanner.site_length)
        self._is_reverse = {"both": (False, True), "+": (False,), "-": (True,)}[strands]
        offsets = [self._offset(is_reverse) for is_reverse in self._is_reverse]
        self._nearest, self._farthest = min(offsets), max(offsets)
        self.overlap = scanner.length - 1 + self._farthest - self._nearest

    def blocks(self, piece: ContigPiece, size: int) -> Iterator[tuple[int, int]]:
        """Cut the starts of the sites that a piece is to report into ranges of at most `size`.

        The pieces of a contig report each of its sites once.
        """
        n = self.scanner.count(piece.codes)
        begin = piece.start + (self._farthest if piece.start else self._nearest)
        end = piece.start + n + (self._farthest if piece.is_last else self._nearest)
        if n:
            for first in range(begin, end, size):
                yield first, min(first + size, end)

    def find(self, piece: ContigPiece, first: int, last: int) -> SiteBlock:
        """Report the sites that start at first..last-1 of the contig, from a piece of it."""
        blocks = [self._find(piece, first, last, is_reverse) for is_reverse in self._is_reverse]
        if len(blocks) == 1:
            return blocks[0]
        starts = np.concatenate([block.starts for block in blocks])
        order = np.argsort(starts, kind="stable")
        return SiteBlock(
            starts[order],
            np.concatenate([block.scores for block in blocks])[order],
            np.concatenate([block.is_reverse for block in blocks])[order],
            sum(block.n_scored for block in blocks),
            sum(block.n_mixed for block in blocks),
        )

    def _find(self, piece: ContigPiece, first: int, last: int, is_reverse: bool) -> SiteBlock:
        scanner, codes, offset = self.scanner, piece.codes, self._offset(is_reverse)
        begin = max(0, first - piece.start - offset)
        end = max(begin, min(scanner.count(codes), last - piece.start - offset))
        if self.consensus is None:
            kept = np.arange(end - begin)
        else:
            kept = np.flatnonzero(self._mask(codes, begin + offset, end + offset, is_reverse))
        if scanner.score_windows is None:
            n_scored = end - begin
            scores, n_mixed = scanner.score_range(codes, begin, end, is_reverse)
            scores = scores[kept]
        else:
            n_scored, n_mixed = kept.size, scanner.count_mixed(codes, kept + begin)
            scores = scanner.score_starts(codes, kept + begin, is_reverse)
        if self.threshold is not None:
            passing = scores >= self.threshold
            kept, scores = kept[passing], scores[passing]
        starts = kept + (piece.start + begin + offset)
        return SiteBlock(starts, scores, np.full(kept.size, is_reverse), n_scored, n_mixed)

    def _mask(
        self, codes: NDArray[np.uint8], begin: int, end: int, is_reverse: bool
    ) -> NDArray[np.bool_]:
        """Tell for begin..end-1 whether the site that starts there has the consensus."""
        assert self.consensus is not None
        found = np.zeros(end - begin, dtype=bool)
        for letters in self.consensus:
            pattern = encode(letters)
            if is_reverse:
                pattern = reverse_complement(pattern)
            matches = np.ones(end - begin, dtype=bool)
            for k, code in enumerate(pattern):
                matches &= codes[begin + k : end + k] == code
            found |= matches
        return found

    def _offset(self, is_reverse: bool) -> int:
        """Return the distance from a window's start to its site's start on the forward strand."""
        scanner = self.scanner
        if is_reverse:
            return scanner.length - scanner.site_offset - scanner.site_length
        return scanner.site_offset


def _parse_consensus(consensus: str | None, site_length: int) -> tuple[str, ...] | None:
    if consensus is None:
        return None
    words = tuple(word.strip().upper() for word in consensus.split(","))
    for word in words:
        if len(word) != site_length or np.any(encode(word) >= OTHER):
            raise ValueError(
                f"consensus must be {site_length} of the letters A, C, G, T (the model's site), or "
                f"several such words separated by commas, got {consensus!r}"
            )
    return words
