"""Find sites and introns in parts of a contig, in sight of what surrounds them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.genome import ContigPiece
from seqmtl.scanning.filters import ScanSummary, SiteFilters
from seqmtl.scanning.finder import SiteFinder
from seqmtl.sequences.sites import Sites
from seqmtl.splicing.candidates import edge_finders, end_finders, find_edges
from seqmtl.splicing.chain import (
    SIGNALS,
    Posteriors,
    either_class,
    is_first_at_site,
    join_ends,
    margin_of,
    run_chain,
    stretch_rows,
    to_log_odds,
)
from seqmtl.splicing.model import PairedModel

_BLOCK = 1_000_000  # site starts scored at a time; more where introns, and so margins, are long
_BLOCKS_PER_MARGIN = 4


class PairedFinder:
    """Scans contigs in blocks for the signals of one organism.

    The chain sees the candidates of both strands in a margin on either side of a block, of four
    times the length that 99.5 % of the introns do not exceed, and from 10,000 to 200,000 bases;
    what is farther away has next to no effect.

    Parameters
    ----------
    model : PairedModel
        Paired model.
    organism : str
        One of its organisms.
    filters : SiteFilters, optional
        What to report: the chain sees all candidates of a contig. An intron is in a region if it
        starts there; `top` applies to introns, and is the number to write, best first.
    introns : float, optional
        Report introns of at least this probability, too. Default: none.
    signals : sequence of str, optional
        Signals to report. Default: all that have models.

    Attributes
    ----------
    window, block, joins_contigs, introns, shortest_intron, has_strand
        See :class:`seqmtl.scanning.SiteFinder`.
    margin : int
        Bases on either side of a block that the chain sees.
    ends : list of EndFinder, two
        What finds and scores the donors and the acceptors.
    finders : tuple of SiteFinder
        What describes the signals to report, whose scores are the log-odds of the posterior
        probability.
    """

    has_strand = True

    def __init__(
        self,
        model: PairedModel,
        organism: str,
        *,
        filters: SiteFilters | None = None,
        introns: float | None = None,
        signals: Sequence[str] | None = None,
    ) -> None:
        self.filters = SiteFilters() if filters is None else filters
        self._site_filters = replace(self.filters, top=None)
        self.joins_contigs = self.filters.regions is None
        self.layer = model.layer_of(organism)
        self.introns, self.shortest_intron = introns, self.layer.shortest
        pair = model.donor, model.acceptor
        self.ends = end_finders(pair, organism, self.layer, model.u12)
        self._edges = edge_finders(self.layer, model.edges, organism)
        finders = [end.finder for end in self.ends]
        finders += self._edges.values()
        self.finders = tuple(
            _of_posteriors(finder, u12)
            for finder, u12 in zip_longest(finders, [end.u12 for end in self.ends])
            if signals is None or finder.signal in signals
        )
        self.site_lengths = [finder.scanner.site_length for finder in finders]
        windows = [finder.length for finder in finders]
        self.window = min(windows)
        self.margin = margin_of(self.layer) + max(windows)
        self.block = max(_BLOCK, _BLOCKS_PER_MARGIN * self.margin)

    def find(
        self, contig: ContigPiece, first: int, last: int, counts: ScanSummary | None = None
    ) -> dict[str, Sites]:
        """Return the sites, and the introns, that start at first..last-1 of a contig.

        Introns have their ``ends``, and the posterior ``probability`` of the intron, its ``donor``
        and its ``acceptor``, of either class; ``is_u12`` is that of the more probable one.
        """
        begin, end = first - self.margin, last + self.margin
        piece = contig.between(begin, end)
        sites, posteriors = self.posteriors(piece, begin, end, self.introns)
        counts = ScanSummary() if counts is None else counts
        log_p = either_class(sites, sites["log_p"])
        rows = np.flatnonzero(is_first_at_site(sites) & self._is_asked_for(sites, first, last))
        columns = {"signals": sites["signals"][rows], "log_p": log_p[rows]}
        asked = Sites(sites.starts[rows], sites.is_reverse[rows], columns)
        sites_by_signal = {
            finder.signal: self._reported(finder, piece, asked, counts) for finder in self.finders
        }
        if self.introns is not None:
            introns = _introns(sites, posteriors, log_p, _stretches(piece)[:, 0])
            introns = introns.take(self._is_asked_for(introns, first, last))
            sites_by_signal["introns"] = self.filters.by_position(introns, piece, ScanSummary())
        return sites_by_signal

    def _is_asked_for(self, sites: Sites, first: int, last: int) -> NDArray[np.bool_]:
        """Return which sites begin at first..last-1."""
        return (sites.starts >= first) & (sites.starts < last)

    def posteriors(
        self, piece: ContigPiece, begin: int, end: int, min_probability: float | None = None
    ) -> tuple[Sites, Posteriors]:
        """Run the chain over the sites that start at begin..end-1 of the contig.

        Parameters
        ----------
        piece, begin, end
            See :meth:`candidates`.
        min_probability : float, optional
            List the introns of at least this probability. Default: none.

        Returns
        -------
        Sites
            Those of :meth:`candidates`, with ``log_p``, the log of the posterior probability.
            Candidates of both classes may be at one site.
        Posteriors
            Those of the chain.
        """
        sites = self.candidates(piece, begin, end)
        bounds = stretch_rows(sites, len(piece.names))
        posteriors = run_chain(sites, self.layer, min_probability, bounds=bounds)
        return sites.adding(log_p=posteriors.sites), posteriors

    def candidates(self, piece: ContigPiece, begin: int, end: int) -> Sites:
        """Return the candidates that start at begin..end-1 of the contig.

        Parameters
        ----------
        piece : ContigPiece
            A part of the contig that holds them.
        begin, end : int
            Positions on the contig, which may extend beyond the piece.

        Returns
        -------
        Sites
            Those of :func:`seqmtl.splicing.chain.join_ends`, with ``scores`` of the site models.
        """
        ends = {one.finder.signal: one.find(piece, begin, end) for one in self.ends}
        ends |= find_edges(self.layer, self._edges, piece, begin, end, ends["donor"])
        return join_ends(ends, piece.codes, self.layer.coding, piece.start, _stretches(piece))

    def _reported(
        self, finder: SiteFinder, piece: ContigPiece, sites: Sites, counts: ScanSummary
    ) -> Sites:
        """Return the sites of a finder that pass the filters, plus before minus, as log-odds."""
        is_reverse = sites.is_reverse
        rows = np.flatnonzero(sites["signals"] == SIGNALS.index(finder.signal))
        rows = np.concatenate([rows[~is_reverse[rows]], rows[is_reverse[rows]]])
        sites = Sites(sites.starts[rows], is_reverse[rows], {"log_p": sites["log_p"][rows]})
        counts.n_scored += len(sites)
        counts.n_candidates += len(sites)
        sites = self._site_filters.by_position(sites, piece, counts)
        sites = sites.adding(scores=to_log_odds(sites["log_p"]).astype(np.float32))
        sites = self._site_filters.by_score(sites, lambda sites: np.exp(sites["log_p"]), counts)
        counts.n_reported += len(sites)
        return sites


def _of_posteriors(finder: SiteFinder, u12: SiteFinder | None) -> SiteFinder:
    """Return a finder that takes scores for log-odds, with the letters of both classes."""
    copied = copy.copy(finder)
    copied.log_odds = np.asarray
    if u12 is not None and finder.consensus and u12.consensus:
        copied.consensus = tuple(dict.fromkeys([*finder.consensus, *u12.consensus]))
    return copied


def _stretches(piece: ContigPiece) -> NDArray[np.int64]:
    """Return the first base of each contig of a piece, and the base after its last one."""
    if piece.contigs is None:
        return np.array([[piece.start, piece.start + piece.codes.size]])
    return np.column_stack([piece.contigs.starts, piece.contigs.starts + piece.contigs.lengths])


def _introns(
    sites: Sites, posteriors: Posteriors, log_p: NDArray[np.float64], begins: NDArray[np.int64]
) -> Sites:
    """Return the listed introns by start and end, plus before minus, each once.

    Places count from the beginnings of the stretches; `log_p` are of sites of either class.
    """
    bounds = sites["places"][posteriors.introns] + begins[sites["stretches"][posteriors.introns]]
    is_reverse = sites.is_reverse[posteriors.introns[:, 0]]
    shares = np.exp(log_p[posteriors.introns])
    shares[is_reverse] = shares[is_reverse, ::-1]  # donors, acceptors
    columns = {
        "ends": bounds[:, 1],
        "probability": np.exp(posteriors.intron_values),
        "donor": shares[:, 0],
        "acceptor": shares[:, 1],
        "is_u12": sites["is_u12"][posteriors.introns[:, 0]],
    }
    order = np.lexsort([-columns["probability"], is_reverse, bounds[:, 1], bounds[:, 0]])
    introns = Sites(bounds[:, 0], is_reverse, columns).take(order)
    keys = np.column_stack([introns.starts, introns["ends"], introns.is_reverse])
    is_first = np.append([True], (keys[1:] != keys[:-1]).any(axis=1))[: len(keys)]
    firsts = np.flatnonzero(is_first)
    totals = np.add.reduceat(introns["probability"], firsts) if firsts.size else np.zeros(0)
    return introns.take(firsts).adding(probability=totals)
