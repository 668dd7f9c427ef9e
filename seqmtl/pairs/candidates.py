"""Candidates of both signals in regions that two datasets share, piece by piece, with labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.dataset import SplitGenome
from seqmtl.models.model import MultiTaskModel
from seqmtl.pairs.chain import join_ends
from seqmtl.pairs.regions import SITE_LENGTH, PathLike
from seqmtl.scan.finder import SiteFinder
from seqmtl.scan.held_out import candidate_finder, find_candidates
from seqmtl.sequences.sites import Sites

_PIECE = 1_000_000  # bases


class Bounds(NamedTuple):
    """Bounds of a piece of a region in the buffer of the genome, and of its margin.

    Attributes
    ----------
    first, last : int
        The piece.
    begin, end : int
        The piece with its margin.
    """

    first: int
    last: int
    begin: int
    end: int


def cut_regions(held: SplitGenome, margin: int) -> list[Bounds]:
    """Cut regions into pieces.

    Parameters
    ----------
    held : SplitGenome
        Regions.
    margin : int
        Bases of the margin, such as :func:`seqmtl.pairs.chain.margin_of`.
    """
    return [
        Bounds(
            first,
            min(first + _PIECE, end),
            max(begin, first - margin),
            min(end, first + _PIECE + margin),
        )
        for begin, end in held.regions.tolist()
        for first in range(begin, end, _PIECE)
    ]


def end_finders(
    models: Sequence[MultiTaskModel], paths: Sequence[PathLike], organism: str
) -> list[SiteFinder]:
    """Return what finds the candidates of the datasets of donors and of acceptors.

    Parameters
    ----------
    models, paths : sequence, two
        Models of the sites, and their datasets.
    organism : str
        Organism of the models; one that they lack is scored from its relatives.
    """
    return [
        candidate_finder(model, path, organism) for model, path in zip(models, paths, strict=True)
    ]


def find_piece(
    finders: Sequence[SiteFinder],
    held: Sequence[SplitGenome],
    bounds: Bounds,
    coding: NDArray[np.float32],
) -> Sites:
    """Return the candidates of a piece of a region and of its margin.

    Parameters
    ----------
    finders : sequence of SiteFinder, two
        Result of :func:`end_finders`.
    held : sequence of SplitGenome, two
        Result of :func:`seqmtl.pairs.regions.read_both`.
    bounds : Bounds
        One of :func:`cut_regions`.
    coding : ndarray of float32, shape (3, 4096)
        Coding content.

    Returns
    -------
    Sites
        Those of :func:`seqmtl.pairs.chain.join_ends`, with ``scores`` of the site models, and
        ``labels``: 1 for a true site, -1 for another candidate, 0 for an annotated site that the
        dataset excludes, and for the candidates of the margin.
    """
    first, last, begin, end = bounds
    ends = []
    for finder, own in zip(finders, held, strict=True):
        assert finder.log_odds is not None
        part = replace(own, regions=np.array([[begin, end]], dtype=np.int64))
        found = Sites.join(find_candidates(finder, part))
        found = found.take(found["is_clean"])
        ends.append(found.adding(log_odds=finder.log_odds(found["scores"].astype(np.float64))))
    codes = held[0].genome.codes[begin:end]
    sites = join_ends(ends, (SITE_LENGTH, SITE_LENGTH), codes, coding, begin)
    is_inside = (sites.starts >= first) & (sites.starts < last)
    return sites.adding(labels=np.where(is_inside, sites["labels"], 0))
