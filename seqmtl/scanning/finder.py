"""Select the windows to report, and locate their sites; scanners and finders of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.calibration.curve import to_probability
from seqmtl.exceptions import ParameterError
from seqmtl.io.genome import ContigPiece
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.position_weights import (
    part_of,
    position_weights,
    weights_of_first,
    window_scorer,
)
from seqmtl.linear_model.site import Site
from seqmtl.scanning.filters import TOP_BASES, ScanSummary, SiteFilters
from seqmtl.scanning.scan_loops import find_maxima
from seqmtl.scanning.scanner import Scanner, SlidingScanner, WindowScanner
from seqmtl.sequences import encode
from seqmtl.sequences.alphabet import OTHER
from seqmtl.sequences.sites import Sites, find_motifs

ENTRY_BYTES = 16  # of an entry of the tables, with its weights
MAX_TABLE_BYTES = 1 << 30  # enough for 9-mers in windows of 141 bases, not for 10-mers
#: Site starts to scan at a time.
BLOCK = 250_000
#: Converts scores to log-odds.
LogOdds = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class SiteFinder:
    """Scan contigs, and select the requested sites.

    Parameters
    ----------
    scanner : Scanner
        Scores windows, and defines the position of the site in them.
    consensus : str, optional
        Letters of the site in reading direction, e.g. ``"AG"``, or several words separated by
        commas, e.g. ``"GT,GC"``. Default: every position.
    filters : SiteFilters, optional
        Which sites to report. Default: all.
    signal : str
        Kind of the sites, see :attr:`seqmtl.linear_model.site.Site.kind`.
    log_odds : callable, optional
        Converts scores to log-odds of a true site; must not decrease. Default: unknown.
    prior : float, optional
        Prevalence at which these were calibrated.
    block : int
        Site starts to scan and format at a time; with `filters.top` a bin.

    Attributes
    ----------
    length, window : int
        Window length, and bases of the shortest contig that has a window: the same.
    block : int
        Site starts to find at a time.
    joins_contigs : bool
        Whether several contigs may be joined to one piece: unless a filter depends on the contig.
    introns, shortest_intron : None, 0
        It finds sites alone; a :class:`seqmtl.splicing.PairedFinder` has a minimum probability of
        introns, and the bases of the shortest one.
    finders : tuple of SiteFinder
        The finders of single signals: itself.
    has_strand, has_letters : bool
        Whether a site is on a strand; whether its letters are reported.
    before, extent : int
        Where a record begins, in bases before the site, and its length: that of the site.

    Raises
    ------
    ValueError
        If the consensus has another length than the site, or letters other than A, C, G, T, or a
        minimum probability is asked for without log-odds.
    """

    introns: float | None = None
    shortest_intron = 0
    has_strand = has_letters = True
    before = 0

    def __init__(
        self,
        scanner: Scanner,
        *,
        consensus: str | None = None,
        filters: SiteFilters | None = None,
        signal: str = "site",
        log_odds: LogOdds | None = None,
        prior: float | None = None,
        block: int = BLOCK,
    ) -> None:
        self.filters = SiteFilters() if filters is None else filters
        if self.filters.min_probability is not None and log_odds is None:
            raise ValueError("min_probability needs log_odds; give the function")
        self.scanner = scanner
        self.length = self.window = scanner.length
        self.extent = scanner.site_length
        self.signal = signal
        self.log_odds = log_odds
        self.prior = prior
        self.consensus = _parse_consensus(consensus, scanner.site_length)
        self.block = block if self.filters.top is None else TOP_BASES
        self.joins_contigs = self.filters.regions is None and self.filters.top is None

    @property
    def finders(self) -> tuple[SiteFinder, ...]:
        """Itself."""
        return (self,)  # an attribute would be a cycle, and hold the tables until it is collected

    @property
    def description(self) -> list[str]:
        """What is scored and reported, and where the site is, for headers."""
        scanner = self.scanner
        options = ["strands both"]
        if self.consensus is not None:
            options.append(f"consensus {','.join(self.consensus)}")
        options += self.filters.descriptions
        return [
            f"# seqmtl scan: windows of {scanner.length} bases, {', '.join(options)}",
            f"# site: {scanner.site_length} base(s) from offset {scanner.site_offset} of the "
            "window in reading direction",
        ]

    def probability(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """Convert scores to probabilities."""
        assert self.log_odds is not None
        return to_probability(self.log_odds(scores.astype(np.float64)))

    def find(
        self, piece: ContigPiece, first: int, last: int, counts: ScanSummary | None = None
    ) -> dict[str, Sites]:
        """Return the sites that start at first..last-1 of a contig, by signal.

        They are plus before minus and by start. Numbers of candidates, and of those removed by each
        filter, are added to `counts`.
        """
        return {self.signal: self.find_sites(piece, first, last, counts)}

    def find_sites(
        self, piece: ContigPiece, first: int, last: int, counts: ScanSummary | None = None
    ) -> Sites:
        """Return the sites as in `find`, with their ``scores``; add to `counts`."""
        counts = ScanSummary() if counts is None else counts
        strands = [
            self._find(piece, first, last, is_reverse, counts)
            for is_reverse in ((False, True) if self.has_strand else (False,))
        ]

        def probability(sites: Sites) -> NDArray[np.float64]:
            return self.probability(sites["scores"])

        sites = self.filters.by_score(Sites.join(strands), probability, counts)
        counts.n_reported += len(sites)
        return sites

    def _find(
        self, piece: ContigPiece, first: int, last: int, is_reverse: bool, counts: ScanSummary
    ) -> Sites:
        scanner = self.scanner
        codes = piece.codes
        offset = self.offset(is_reverse)
        origin = piece.start + offset
        begin = max(0, first - origin)
        end = max(begin, min(scanner.count(codes), last - origin))
        starts = np.arange(begin, end)
        if self.consensus is not None:
            letters = codes[begin + offset : end + offset + scanner.site_length - 1]
            starts = np.flatnonzero(find_motifs(letters, self.consensus, is_reverse)) + begin
        n_spanning = 0  # windows across the ends of joined contigs
        if piece.contigs is not None:
            starts = starts[piece.contigs.contain(starts, scanner.length)]
            n_spanning = end - begin - piece.contigs.n_windows(scanner.length)
        counts.n_candidates += starts.size
        sites = Sites(starts + origin, np.full(starts.size, is_reverse))
        sites = self.filters.by_position(sites, piece, counts)
        starts = sites.starts - origin
        if self.filters.regions is not None:
            begin, end = (int(starts[0]), int(starts[-1]) + 1) if starts.size else (begin, begin)
        scores = scanner.score_range(codes, begin, end, is_reverse, starts)
        counts.n_scored += end - begin - n_spanning
        counts.n_mixed += scanner.n_mixed(codes, begin, end) - n_spanning
        return sites.adding(scores=scores)

    def offset(self, is_reverse: bool) -> int:
        """Return the distance from a window's start to its site's start on the forward strand."""
        scanner = self.scanner
        if is_reverse:
            return scanner.length - scanner.site_offset - scanner.site_length
        return scanner.site_offset


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
        self, piece: ContigPiece, first: int, last: int, is_reverse: bool, counts: ScanSummary
    ) -> Sites:
        codes, n, length = piece.codes, self.scanner.count(piece.codes), self.length
        origin = piece.start + self.before
        begin = max(0, min(n, first - origin))
        end = max(begin, min(n, last - origin))
        low, high = max(0, begin - self._reach), min(n, end + self._reach)
        if end == begin:
            high = low
        scores = self.scanner.score_range(codes, low, high, is_reverse)
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
            counts.n_mixed += self.scanner.n_mixed(codes, begin, end) - n_spanning
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


def _parse_consensus(consensus: str | None, site_length: int) -> tuple[str, ...] | None:
    if consensus is None:
        return None
    sequences = tuple(sequence.strip().upper() for sequence in consensus.split(","))
    for sequence in sequences:
        if len(sequence) != site_length or np.any(encode(sequence) >= OTHER):
            raise ParameterError(
                f"must be {site_length} of the letters A, C, G, T (the model's site), or several "
                f"such words separated by commas, got {consensus!r}",
                "consensus",
            )
    return sequences


def scanner_of(model: MultiTaskModel, organism: str, *, site: Site | None = None) -> Scanner:
    """Return a scanner with the weights of one organism, with tables unless they would be large.

    Parameters
    ----------
    model : MultiTaskModel
        Trained model.
    organism : str
        Task of the model, or a relative without data.
    site : Site, optional
        Position of the site in the window, and its letters; those that the model lacks count as its
        first ones. Default: the site of the model.

    Raises
    ------
    UnknownTaskError
        If the model lacks the organism and its relatives.
    """
    site = model.site if site is None else site
    (site if model.is_sliding else model.site).require_known()
    model_site = replace(model.site, offset=site.offset)
    has_others = bool(model_site.consensus) and not {*site.consensus} <= {*model_site.consensus}
    site_in_window: Any = {"site_offset": site.offset, "site_length": site.length}
    bias, score = float(model.weights([organism])[1][0]), window_scorer(model, organism)
    positional, free = (part_of(model, anywhere)[0].views for anywhere in (False, True))
    n_bytes = 0.0
    for views, n_tables in ((positional, model.length), (free, 1)):
        span = max((view.span(model.length) for view in views), default=0)
        n_bytes += ENTRY_BYTES / 3 * 4.0 ** (span + 1) * n_tables
    if n_bytes > MAX_TABLE_BYTES or (has_others and free):
        one_by_one = (lambda windows: score(model_site.reading(windows))) if has_others else score
        return WindowScanner(one_by_one, model.length, **site_in_window)
    tables = None
    if positional:
        weights = position_weights(model, [organism], anywhere=False)(0, model.length)
        if has_others:
            weights = weights_of_first(weights, model_site)
        tables = Scanner(weights, 0.0 if free else bias, **site_in_window)
        if not free:
            return tables
    (levels,) = zip(*position_weights(model, [organism], anywhere=True)(0, 1), strict=True)
    return SlidingScanner(levels, bias, model.length, others=tables, **site_in_window)


def finder_of(
    model: MultiTaskModel,
    organism: str,
    *,
    site: Site | None = None,
    filters: SiteFilters | None = None,
    block: int = BLOCK,
) -> SiteFinder:
    """Return a finder of the sites of one organism, with their consensus and probabilities.

    Parameters
    ----------
    model, organism, site
        See :func:`scanner_of`; sites have the letters of `site`.
    filters, block
        See :class:`SiteFinder`.

    Raises
    ------
    UnknownTaskError
        If the model lacks the organism and its relatives.
    """
    site = model.site if site is None else site
    scanner = scanner_of(model, organism, site=site)
    return SiteFinder(
        scanner,
        consensus=site.letters or None,
        filters=filters,
        block=block,
        **calibration_of(model, organism),
    )


def calibration_of(model: MultiTaskModel, organism: str) -> dict[str, Any]:
    """Return the signal, the log-odds and the prior of a model, for :class:`SiteFinder`."""
    is_classifier = model.kind == "classification"
    return {
        "signal": model.site.kind,
        "log_odds": model.log_odds_of(organism) if is_classifier else None,
        "prior": model.prevalence(organism) if "tasks" in model.training else None,
    }
