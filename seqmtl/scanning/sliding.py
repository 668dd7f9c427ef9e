"""Windows of a model that needs no site: a score at every base, or the windows of highest score."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.adaptation import adapt
from seqmtl.adaptation.relatives import relative_named
from seqmtl.exceptions import UsageError
from seqmtl.io.genome import ContigPiece
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.site import Site
from seqmtl.scanning.filters import BlockCounts, SiteFilters
from seqmtl.scanning.finder import SiteFinder, calibration_of, scanner_of
from seqmtl.scanning.predictor import SitePredictor
from seqmtl.scanning.scan_loops import count_mixed, find_maxima
from seqmtl.scanning.scanner import Scanner
from seqmtl.scanning.writers.formats import Format
from seqmtl.sequences.alphabet import OTHER
from seqmtl.sequences.sites import Sites


class WindowFinder(SiteFinder):
    """Scan contigs for windows that need no site; one is located at its middle base.

    A window more than half of which are letters other than A, C, G, T has no score.

    Parameters
    ----------
    scanner : Scanner
        Scores windows.
    is_stranded : bool
        Whether a window has a score for each strand.
    with_all : bool
        Find all windows, not only those that no overlapping window exceeds (of equal ones the
        first), on a strand.
    **options
        See :class:`SiteFinder`.
    """

    has_letters = False
    at_a_base = "windows with this middle base"

    def __init__(
        self, scanner: Scanner, *, is_stranded: bool, with_all: bool, **options: Any
    ) -> None:
        super().__init__(scanner, **options)
        self.has_strand = is_stranded
        self.before, self.extent = scanner.site_offset, scanner.length
        self._reach = 0 if with_all else scanner.length - 1

    @property
    def description(self) -> list[str]:
        """What is scored and reported, for headers."""
        what = "all" if not self._reach else "those that no overlapping window exceeds"
        strands = "strands both" if self.has_strand else "one score for both strands"
        options = [strands, *self.filters.descriptions]
        return [
            f"# seqmtl scan: windows of {self.length} bases, {', '.join(options)}",
            f"# windows: {what}; the middle is base {self.before} of the window",
        ]

    def _find(
        self, piece: ContigPiece, first: int, last: int, is_reverse: bool, counts: BlockCounts
    ) -> Sites:
        codes, n, length = piece.codes, self.scanner.count(piece.codes), self.length
        origin = piece.start + self.before
        begin = max(0, min(n, first - origin))
        end = max(begin, min(n, last - origin))
        low, high = max(0, begin - self._reach), min(n, end + self._reach)
        if end == begin:
            high = low
        scores = self.scanner.score_range(codes, low, high, is_reverse).scores
        if high > low:
            is_blank = 2 * _count_other(codes[low : high + length - 1], length) > length
            scores = np.where(is_blank, np.float32(np.nan), scores)
        is_inside = np.ones(high - low, dtype=np.bool_)
        if piece.contigs is not None:  # no windows across the ends of joined contigs
            is_inside = piece.contigs.contain(np.arange(low, high), length)
            scores[~is_inside] = np.nan
        here = slice(begin - low, end - low)
        is_reported = ~np.isnan(scores)
        counts.n_scored += int(is_reported[here].sum())
        if end > begin:
            n_spanning = int((~is_inside[here]).sum())
            counts.n_mixed += int(count_mixed(codes[begin : end + length - 1], length)) - n_spanning
        if self._reach:
            find_maxima(scores, self._reach, is_reported)
        chosen = np.flatnonzero(is_reported[here])
        counts.n_candidates += chosen.size
        sites = Sites(
            chosen + begin + origin,
            np.full(chosen.size, is_reverse),
            {"scores": scores[here][chosen]},
        )
        return self.filters.by_position(sites, piece, counts)


def _count_other(codes: NDArray[np.uint8], length: int) -> NDArray[np.int64]:
    """Return the number of letters other than A, C, G, T in every window."""
    n_before = np.concatenate([[0], np.cumsum(codes >= OTHER)])
    return np.asarray(n_before[length:] - n_before[:-length], dtype=np.int64)


def site_predictor(
    model: MultiTaskModel, organism: str, like: str | None, tree: str | None, consensus: str | None
) -> SitePredictor:
    """Return a predictor of an organism, see :meth:`seqmtl.linear_model.base.Model.predictor`."""
    if like is not None:
        model = adapt(model, organism, like=relative_named(like, tree), tree=tree)
    kind = WindowPredictor if model.is_sliding else SitePredictor
    return kind(model, organism, consensus=consensus)


class WindowPredictor(SitePredictor):
    """Windows that need no site.

    Parameters
    ----------
    model, organism
        See :class:`SitePredictor`; the model knows no site.
    consensus : str, optional
        Refused.

    Raises
    ------
    UsageError
        If there is a consensus.
    """

    def __init__(
        self, model: MultiTaskModel, organism: str, *, consensus: str | None = None
    ) -> None:
        if consensus is not None:
            raise UsageError("is for models of sites; this one has none, leave it out", "consensus")
        super().__init__(model, organism)
        self.is_stranded = model.features.is_stranded

    def finder(
        self,
        file_format: Format | None = None,
        *,
        filters: SiteFilters | None = None,
        introns: float | None = None,
    ) -> WindowFinder:
        """Return the finder of the windows; without a format, of those of the highest score."""
        model = self.model
        return WindowFinder(
            scanner_of(model, self.organism, site=Site(model.length // 2, 1, "")),
            is_stranded=self.is_stranded,
            with_all=file_format is not None and file_format.is_track,
            filters=filters,
            **calibration_of(model, self.organism),
        )
