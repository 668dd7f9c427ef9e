"""Find donors, acceptors and introns in parts of a contig, in sight of what surrounds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.genome import ContigPiece
from seqmtl.models.paired import PairedModel
from seqmtl.pairs.chain import (
    Ends,
    Posteriors,
    Sites,
    join_ends,
    margin_of,
    run_chain,
    to_log_odds,
)
from seqmtl.scan.filters import SiteFilters
from seqmtl.scan.finder import SiteFinder
from seqmtl.scan.organism import scanner_of
from seqmtl.scan.site_block import SiteBlock


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
    donors, acceptors : ndarray of float64, shape (n,)
        Posterior probabilities of its sites.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    is_reverse: NDArray[np.bool_]
    probabilities: NDArray[np.float64]
    donors: NDArray[np.float64]
    acceptors: NDArray[np.float64]


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


class Weighed(NamedTuple):
    """All candidates of a stretch of a contig, with what the chain makes of them.

    Attributes
    ----------
    blocks : list of list of SiteBlock
        Donors, then acceptors; by strand, plus before minus. Scores are those of the site models.
    log_p : list of list of ndarray of float64
        Log posteriors likewise.
    sites : Sites
        All of them; places count from the first base of the piece.
    posteriors : Posteriors
        Those of `sites`.
    """

    blocks: list[list[SiteBlock]]
    log_p: list[list[NDArray[np.float64]]]
    sites: Sites
    posteriors: Posteriors


class PairedFinder:
    """Scans contigs in blocks for both signals of one organism.

    The chain sees the candidates of both strands in a margin on either side of a block, of four
    times the longest intron, and at least 10,000 bases; what is farther away has next to no effect.

    Parameters
    ----------
    model : PairedModel
        Paired model.
    organism : str
        One of its organisms.
    strands : {"both", "+", "-"}
        Strands to report.
    filters : SiteFilters, optional
        What to report: the chain sees all candidates of a contig. An intron is in a region if it
        starts there, and soft-masked if one of its sites is; `top` applies to introns, and is the
        number to write, best first.

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
    ) -> None:
        self.filters = SiteFilters() if filters is None else filters
        self.strands = strands
        self.layer = model.layer_of(organism)
        self._models = model.donor, model.acceptor
        self._names = [own.match(organism) for own in self._models]
        self.finders = [
            SiteFinder(scanner_of(own, name), consensus=own.site.letters or None)
            for own, name in zip(self._models, self._names, strict=True)
        ]
        windows = max(finder.length for finder in self.finders)
        self.margin = margin_of(self.layer.longest) + windows

    def find(self, piece: ContigPiece, first: int, last: int, *, introns: bool = False) -> Found:
        """Return the sites, and the introns, that start at first..last-1 of the contig."""
        least = (self.filters.min_probability or 0.0) if introns else None
        weighed = self.weigh(piece, first - self.margin, last + self.margin, least)
        kept = [
            [
                self._kept(piece, block, log_p, first, last)
                for strand, block, log_p in zip("+-", *own, strict=True)
                if self.strands in ("both", strand)
            ]
            for own in zip(weighed.blocks, weighed.log_p, strict=True)
        ]
        listed = _introns(weighed.sites, weighed.posteriors, piece.start)
        passing = (listed.starts >= first) & (listed.starts < last)
        if self.strands != "both":
            passing &= listed.is_reverse == (self.strands == "-")
        ends = listed.ends - self.finders[0].scanner.site_length
        for name, masks in self._filters(piece, [listed.starts, ends]):
            passing &= masks[0] if name == "regions" else masks[0] & masks[1]
        return Found(kept, Introns._make(column[passing] for column in listed))

    def _filters(
        self, piece: ContigPiece, starts: list[NDArray[np.int64]]
    ) -> Iterator[tuple[str, list[NDArray[np.bool_]]]]:
        """Yield the filters of places, each with what of several lists of sites passes it."""
        if self.filters.regions is not None:
            yield "regions", [self.filters.in_regions(piece.name, own) for own in starts]
        if self.filters.skip_lower:
            lower = self.finders[0].touches_lower
            yield "softmask", [~lower(piece, own - piece.start) for own in starts]

    def weigh(
        self, piece: ContigPiece, begin: int, end: int, min_probability: float | None = None
    ) -> Weighed:
        """Run the chain over the sites that start at begin..end-1 of the contig.

        Parameters
        ----------
        piece : ContigPiece
            A part of the contig that holds them.
        begin, end : int
            Positions on the contig, which may extend beyond the piece.
        min_probability : float, optional
            List the introns of at least this probability. Default: none.
        """
        blocks = [finder.find_strands(piece, begin, end) for finder in self.finders]
        lengths = [finder.scanner.site_length for finder in self.finders]
        ends = [self._ends(k, own, piece.start) for k, own in enumerate(blocks)]
        sites = join_ends(ends, lengths, piece.codes, self.layer.coding)
        found = run_chain(sites, self.layer, min_probability)
        sizes = [block.starts.size for own in blocks for block in own]
        values = np.split(found.sites, np.cumsum(sizes)[:-1])
        return Weighed(blocks, [values[:2], values[2:]], sites, found)

    def _ends(self, k: int, strands: list[SiteBlock], origin: int) -> Ends:
        """Return the candidates of a signal, plus before minus; positions count from `origin`."""
        starts = np.concatenate([own.starts for own in strands])
        scores = np.concatenate([own.scores for own in strands]).astype(np.float64)
        is_reverse = np.concatenate([own.is_reverse for own in strands])
        return Ends(starts - origin, is_reverse, self._models[k].log_odds(scores, self._names[k]))

    def _kept(
        self,
        piece: ContigPiece,
        block: SiteBlock,
        log_p: NDArray[np.float64],
        first: int,
        last: int,
    ) -> SiteBlock:
        """Return the sites of the block proper that pass the filters, with their log-odds."""
        own = slice(*np.searchsorted(block.starts, [first, last]).tolist())
        starts, log_p = block.starts[own], log_p[own]
        removed = {}
        passing = np.ones(starts.size, dtype=np.bool_)
        filters = [(name, masks[0]) for name, masks in self._filters(piece, [starts])]
        if self.filters.min_probability is not None:
            filters.append(("min_probability", np.exp(log_p) >= self.filters.min_probability))
        for name, mask in filters:
            removed[name] = int((passing & ~mask).sum())
            passing &= mask
        scores = to_log_odds(log_p[passing]).astype(np.float32)
        is_reverse = block.is_reverse[own][passing]
        return SiteBlock(starts[passing], scores, is_reverse, starts.size, 0, starts.size, removed)


def _introns(sites: Sites, found: Posteriors, origin: int) -> Introns:
    """Return the listed introns in order; positions of sites count from `origin`."""
    bounds = sites.places[found.introns] + origin
    is_reverse = sites.is_reverse[found.introns[:, 0]]
    own = np.exp(found.sites[sites.order[found.introns]])
    own[is_reverse] = own[is_reverse, ::-1]  # donors, acceptors
    order = np.lexsort([is_reverse, bounds[:, 1], bounds[:, 0]])
    columns = (*bounds.T, is_reverse, np.exp(found.intron_values), *own.T)
    return Introns._make(column[order] for column in columns)
