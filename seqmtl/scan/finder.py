"""Select the windows to report, and locate their sites on the forward strand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.genome import ContigPiece
from seqmtl.scan.filters import SiteFilters, keep_top
from seqmtl.scan.scanner import Scanner
from seqmtl.scan.site_block import SiteBlock, merge_strands
from seqmtl.sequences import encode, reverse_complement
from seqmtl.sequences.alphabet import OTHER


class SiteFinder:
    """Scan contigs, whole or in pieces, and keep the requested sites.

    Parameters
    ----------
    scanner : Scanner
        Scores windows, and defines the position of the site in them.
    strands : {"both", "+", "-"}
        Strands to scan.
    consensus : str, optional
        Letters of the site in reading direction, e.g. ``"AG"``, or several words separated by
        commas, e.g. ``"GT,GC"``. Default: every position.
    threshold : float, optional
        Minimum score to report. Default: all.
    filters : SiteFilters, optional
        Other filters of sites. Default: none.

    Attributes
    ----------
    nearest, farthest : int
        Smallest and largest distance from a window's start to its site's start.
    margin : int
        Bases needed besides the windows: 0.

    Raises
    ------
    ValueError
        If the consensus has another length than the site, or letters other than A, C, G, T.
    """

    def __init__(
        self,
        scanner: Scanner,
        *,
        strands: str = "both",
        consensus: str | None = None,
        threshold: float | None = None,
        filters: SiteFilters | None = None,
    ) -> None:
        if strands not in ("both", "+", "-"):
            raise ValueError(f"strands must be 'both', '+' or '-', got {strands!r}")
        self.scanner = scanner
        self.strands = strands
        self.threshold = threshold
        self.filters = SiteFilters() if filters is None else filters
        self.consensus = _parse_consensus(consensus, scanner.site_length)
        self._is_reverse = {"both": (False, True), "+": (False,), "-": (True,)}[strands]
        offsets = [self._offset(is_reverse) for is_reverse in self._is_reverse]
        self.nearest, self.farthest, self.margin = min(offsets), max(offsets), 0

    @property
    def length(self) -> int:
        """Window length in bases."""
        return self.scanner.length

    def find(self, piece: ContigPiece, first: int, last: int) -> SiteBlock:
        """Return the sites that start at first..last-1 of the contig, given a piece of it."""
        return merge_strands(self.find_strands(piece, first, last))

    def find_strands(self, piece: ContigPiece, first: int, last: int) -> list[SiteBlock]:
        """Return the sites as in `find`, by strand, plus before minus."""
        blocks = [self._find(piece, first, last, is_reverse) for is_reverse in self._is_reverse]
        return blocks if self.filters.top is None else keep_top(blocks, self.filters.top)

    def _find(self, piece: ContigPiece, first: int, last: int, is_reverse: bool) -> SiteBlock:
        scanner, codes, offset = self.scanner, piece.codes, self._offset(is_reverse)
        begin = max(0, first - piece.start - offset)
        end = max(begin, min(scanner.count(codes), last - piece.start - offset))
        if self.consensus is None:
            kept = np.arange(begin, end)
        else:
            mask = self._mask(codes, begin + offset, end + offset, is_reverse)
            kept = np.flatnonzero(mask) + begin
        n_candidates = kept.size
        removed: dict[str, int] = {}

        def keep(passing: NDArray[np.bool_], reason: str) -> NDArray[np.int64]:
            removed[reason] = int(np.count_nonzero(~passing))
            return kept[passing]

        if self.filters.regions is not None:
            starts = kept + (piece.start + offset)
            kept = keep(self.filters.in_regions(piece.name, starts), "regions")
            begin, end = (int(kept[0]), int(kept[-1]) + 1) if kept.size else (begin, begin)
        if self.filters.skip_lower:
            kept = keep(~self.touches_lower(piece, kept + offset), "softmask")
        scores, n_mixed = scanner.score_range(codes, begin, end, is_reverse, kept)
        for reason, passing in self._passing(scores):
            removed[reason] = int(np.count_nonzero(~passing))
            kept, scores = kept[passing], scores[passing]
        starts = kept + (piece.start + offset)
        strands = np.full(kept.size, is_reverse)
        return SiteBlock(starts, scores, strands, end - begin, n_mixed, n_candidates, removed)

    def _passing(self, scores: NDArray[np.float32]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Yield for each filter of scores which of the remaining sites pass."""
        if self.threshold is not None:
            passing = scores >= self.threshold
            yield "threshold", passing
            scores = scores[passing]
        if self.filters.min_probability is not None:
            yield "min_probability", self.filters.is_probable(scores)

    def touches_lower(self, piece: ContigPiece, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which sites overlap lower-case letters; `places` count from the piece."""
        if piece.is_lower is None:
            raise ValueError("the pieces must record lower case; read them with keep_case=True")
        touched = np.zeros(places.size, dtype=bool)
        for k in range(self.scanner.site_length):
            touched |= piece.is_lower[places + k]
        return touched

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
