"""Find donors, acceptors and introns in parts of a contig, in sight of what surrounds them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.genome import ContigPiece
from seqmtl.models.paired import PairedModel
from seqmtl.pairs.chain import Posteriors, Sites, reading_places, run_chain, to_log_odds
from seqmtl.scan.filters import SiteFilters
from seqmtl.scan.finder import SiteFinder
from seqmtl.scan.organism import scanner_of
from seqmtl.scan.site_block import SiteBlock

_LEAST_MARGIN = 10_000
_MARGIN = 4  # longest introns


class Introns(NamedTuple):
    """Introns that start in a part of a contig, by start and end, plus before minus.

    Attributes
    ----------
    starts, ends : ndarray of int64, shape (n,)
        Bounds on the forward strand, 0-based half-open.
    is_reverse : ndarray of bool, shape (n,)
        Whether an intron is on the minus strand.
    probabilities : ndarray of float64, shape (n,)
        Posterior probability of the intron.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    is_reverse: NDArray[np.bool_]
    probabilities: NDArray[np.float64]


class Found(NamedTuple):
    """What was found in a part of a contig.

    Attributes
    ----------
    ends : list of list of SiteBlock
        Donors, then acceptors; by strand, plus before minus. Scores are the log-odds of the
        posterior probability.
    introns : Introns
        All introns of the minimum probability, if asked for.
    """

    ends: list[list[SiteBlock]]
    introns: Introns


class PairedFinder:
    """Scans contigs in blocks for both signals of one organism.

    The chain sees the candidates of a margin on either side of a block, of four times the longest
    intron, and at least 10,000 bases; what is farther away has next to no effect.

    Parameters
    ----------
    model : PairedModel
        Paired model.
    organism : str
        One of its organisms.
    strands : {"both", "+", "-"}
        Strands to scan.
    filters : SiteFilters, optional
        Contigs to scan, and the minimum probability of what is reported.
    n_threads : int, default=1
        Number of threads.

    Attributes
    ----------
    length, nearest, farthest, margin : int
        See :class:`seqmtl.scan.blocks.BlockFinder`.
    finders : list of SiteFinder
        Those of donors and of acceptors.
    """

    length, nearest, farthest = 1, 0, 0

    def __init__(
        self,
        model: PairedModel,
        organism: str,
        *,
        strands: str = "both",
        filters: SiteFilters | None = None,
        n_threads: int = 1,
    ) -> None:
        self.filters = SiteFilters() if filters is None else filters
        self.strands = strands
        self.layer = model.layer_of(organism)
        self._models = model.donor, model.acceptor
        self._names = [own.match(organism) for own in self._models]
        self.finders = [
            SiteFinder(
                scanner_of(own, name, n_threads=n_threads),
                strands=strands,
                consensus=own.site.letters or None,
            )
            for own, name in zip(self._models, self._names, strict=True)
        ]
        windows = max(finder.length for finder in self.finders)
        self.margin = max(_LEAST_MARGIN, _MARGIN * self.layer.longest) + windows

    def find(self, piece: ContigPiece, first: int, last: int, *, introns: bool = False) -> Found:
        """Return the sites, and the introns, that start at first..last-1 of the contig."""
        begin, end = first - self.margin, last + self.margin
        blocks = [finder.find_strands(piece, begin, end) for finder in self.finders]
        least = (self.filters.min_probability or 0.0) if introns else None
        found: list[list[SiteBlock]] = [[], []]
        listed = []
        for pair in zip(*blocks, strict=True):
            is_reverse = len(found[0]) == 1 or self.strands == "-"
            sites = [self._sites(k, block, is_reverse) for k, block in enumerate(pair)]
            posteriors = run_chain(sites[0], sites[1], self.layer, least)
            for k, block in enumerate(pair):
                log_p = posteriors.donors if k == 0 else posteriors.acceptors
                found[k].append(self._kept(block, log_p[:: -1 if is_reverse else 1], first, last))
            listed.append(_on_forward(posteriors, sites[0], sites[1], is_reverse=is_reverse))
        return Found(found, _in_order(listed, first, last))

    def _sites(self, k: int, block: SiteBlock, is_reverse: bool) -> Sites:
        """Return the candidates of a strand in reading direction."""
        length = self.finders[k].scanner.site_length
        log_odds = self._models[k].log_odds(block.scores.astype(np.float64), self._names[k])
        places = reading_places(block.starts, length, is_reverse, k == 0)
        step = -1 if is_reverse else 1
        return Sites(np.ascontiguousarray(places[::step]), np.ascontiguousarray(log_odds[::step]))

    def _kept(
        self, block: SiteBlock, log_p: NDArray[np.float64], first: int, last: int
    ) -> SiteBlock:
        """Return the sites of the block proper that pass the filters, with their log-odds."""
        own = slice(*np.searchsorted(block.starts, [first, last]).tolist())
        starts, log_p = block.starts[own], log_p[own]
        removed = {}
        passing = np.ones(starts.size, dtype=np.bool_)
        if self.filters.min_probability is not None:
            passing = np.exp(log_p) >= self.filters.min_probability
            removed["min_probability"] = int((~passing).sum())
        scores = to_log_odds(log_p[passing]).astype(np.float32)
        is_reverse = block.is_reverse[own][passing]
        return SiteBlock(starts[passing], scores, is_reverse, starts.size, 0, starts.size, removed)


def _on_forward(
    posteriors: Posteriors, donors: Sites, acceptors: Sites, *, is_reverse: bool
) -> Introns:
    """Return the listed introns of a strand in coordinates of the forward strand."""
    starts = donors.places[posteriors.introns[:, 0]]
    ends = acceptors.places[posteriors.introns[:, 1]]
    if is_reverse:
        starts, ends = -ends, -starts
    strand = np.full(starts.size, is_reverse)
    return Introns(starts, ends, strand, np.exp(posteriors.intron_values))


def _in_order(strands: list[Introns], first: int, last: int) -> Introns:
    """Return the introns that start at first..last-1, sorted."""
    starts, ends, is_reverse, probabilities = (
        np.concatenate(column) for column in zip(*strands, strict=True)
    )
    order = np.lexsort([is_reverse, ends, starts])
    order = order[(starts[order] >= first) & (starts[order] < last)]
    return Introns(starts[order], ends[order], is_reverse[order], probabilities[order])
