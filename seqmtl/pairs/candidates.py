"""Candidates of both signals in regions that two datasets share, piece by piece, with labels."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.dataset_regions import SplitGenome
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.site import site_of_model
from seqmtl.pairs.chain import Ends, Sites, join_ends, margin_of
from seqmtl.pairs.regions import SITE_LENGTH, PathLike
from seqmtl.scan.held_out import Candidates, candidate_finder, find_candidates

_PIECE = 1_000_000  # bases
_EMPTY = Candidates(
    np.zeros(0, np.int64), np.zeros(0, np.bool_), np.zeros(0, np.float32), np.zeros(0, np.int8), 0
)


class Piece(NamedTuple):
    """Candidates of a piece of a region, and of the margin around it.

    Attributes
    ----------
    sites : Sites
        Candidates of both signals and strands.
    scores : ndarray of float32, shape (n,)
        Scores of the site models; donors, then acceptors.
    labels : ndarray of int8, shape (n,)
        1 for a true site, -1 for another candidate, 0 for an annotated site that the dataset
        excludes, and for the candidates of the margin.
    n_donors : int
        Number of donors.
    """

    sites: Sites
    scores: NDArray[np.float32]
    labels: NDArray[np.int8]
    n_donors: int


class EndFinder:
    """Finds and scores the candidates of one signal of one organism.

    Parameters
    ----------
    model : MultiTaskModel
        Model of the sites.
    path : path-like
        Dataset of the signal.
    organism : str
        Organism of the model.
    """

    def __init__(self, model: MultiTaskModel, path: PathLike, organism: str) -> None:
        site = site_of_model(model.site, path, model.length, model.shift)
        self._finder = candidate_finder(model, site, organism)
        self._model, self._organism = model, organism

    def find(self, held: SplitGenome, begin: int, end: int) -> tuple[Ends, Candidates]:
        """Return the candidates of begin..end-1 of the buffer, which they count from."""
        part = replace(held, regions=np.array([[begin, end]], dtype=np.int64))
        blocks = [_EMPTY, *find_candidates(self._finder, part)]
        found = Candidates(
            np.concatenate([own.starts for own in blocks]),
            np.concatenate([own.is_reverse for own in blocks]),
            np.concatenate([own.scores for own in blocks]),
            np.concatenate([own.labels for own in blocks]),
            sum(own.n_mixed for own in blocks),
        )
        log_odds = self._model.log_odds(found.scores.astype(np.float64), self._organism)
        return Ends(found.starts - begin, found.is_reverse, log_odds), found


class Bounds(NamedTuple):
    """Bounds of a piece of a region in the buffers of both genomes, and of its margin.

    Attributes
    ----------
    first, last : int
        The piece, in the buffer of the donors' genome.
    begin, end : int
        The piece with its margin.
    moved : int
        What to add in the buffer of the acceptors' genome.
    """

    first: int
    last: int
    begin: int
    end: int
    moved: int


def cut_regions(held: tuple[SplitGenome, SplitGenome], longest: int) -> list[Bounds]:
    """Cut the regions of :func:`seqmtl.pairs.regions.read_both` into pieces.

    Parameters
    ----------
    held : tuple of SplitGenome, two
        Regions.
    longest : int
        Bases of the longest intron considered.
    """
    margin, moved = margin_of(longest), held[1].regions[:, 0] - held[0].regions[:, 0]
    return [
        Bounds(
            first, min(first + _PIECE, end), max(begin, first - margin),
            min(end, first + _PIECE + margin), by,
        )
        for (begin, end), by in zip(held[0].regions.tolist(), moved.tolist(), strict=True)
        for first in range(begin, end, _PIECE)
    ]  # fmt: skip


def find_piece(
    finders: tuple[EndFinder, EndFinder],
    held: tuple[SplitGenome, SplitGenome],
    bounds: Bounds,
    coding: NDArray[np.float32],
) -> Piece:
    """Return the candidates of a piece of a region.

    Parameters
    ----------
    finders : tuple of EndFinder, two
        Those of donors and of acceptors.
    held : tuple of SplitGenome, two
        Regions.
    bounds : Bounds
        One of :func:`cut_regions`.
    coding : ndarray of float32, shape (3, 4096)
        Coding content.
    """
    first, last, begin, end, moved = bounds
    found = [
        finder.find(own, begin + by, end + by)
        for finder, own, by in zip(finders, held, (0, moved), strict=True)
    ]
    ends = [own for own, _ in found]
    codes = held[0].genome.codes[begin:end]
    sites = join_ends(ends, (SITE_LENGTH, SITE_LENGTH), codes, coding)
    starts = np.concatenate([own.starts for own in ends]) + begin
    labels = np.concatenate([own.labels for _, own in found])
    labels[(starts < first) | (starts >= last)] = 0
    scores = np.concatenate([own.scores for _, own in found])
    return Piece(sites, scores, labels, ends[0].starts.size)
