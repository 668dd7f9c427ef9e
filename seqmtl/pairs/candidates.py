"""Candidates of both signals in regions that two datasets share, as log-odds in reading order."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.dataset_regions import SplitGenome
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.site import site_of_model
from seqmtl.pairs.chain import Sites, reading_places
from seqmtl.pairs.regions import SITE_LENGTH, PathLike
from seqmtl.scan.finder import SiteFinder
from seqmtl.scan.held_out import Candidates, find_candidates
from seqmtl.scan.organism import scanner_of

_EMPTY = Candidates(
    np.zeros(0, np.int64), np.zeros(0, np.bool_), np.zeros(0, np.float32), np.zeros(0, np.int8), 0
)


class Labelled(NamedTuple):
    """Candidates of one signal on one strand, with labels.

    Attributes
    ----------
    sites : Sites
        Places and log-odds.
    scores : ndarray of float32, shape (n,)
        Scores of the site model.
    labels : ndarray of int8, shape (n,)
        1 for a true site, -1 for another candidate, 0 for an annotated site that the dataset
        excludes, which is neither.
    """

    sites: Sites
    scores: NDArray[np.float32]
    labels: NDArray[np.int8]


class Strand(NamedTuple):
    """Candidates of both signals on one strand of a region."""

    donors: Labelled
    acceptors: Labelled


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
    is_donor : bool
        Whether the sites are donors, or else acceptors.
    """

    def __init__(
        self, model: MultiTaskModel, path: PathLike, organism: str, *, is_donor: bool
    ) -> None:
        site = site_of_model(model.site, path, model.length, model.shift)
        scanner = scanner_of(model, organism, site_offset=site.offset, site_length=SITE_LENGTH)
        self._finder = SiteFinder(scanner, consensus=site.letters or None)
        self._model, self._organism, self._is_donor = model, organism, is_donor

    def find(self, held: SplitGenome) -> list[tuple[Labelled, Labelled]]:
        """Return the candidates on the plus and the minus strand of every region."""
        found = []
        for region in held.regions:
            blocks = [_EMPTY, *find_candidates(self._finder, replace(held, regions=region[None]))]
            starts, is_reverse, scores, labels = (
                np.concatenate(column) for column in list(zip(*blocks, strict=True))[:4]
            )
            columns = (starts - region[0], scores, labels)
            plus = self._strand(*(column[~is_reverse] for column in columns), is_reverse=False)
            minus = self._strand(*(column[is_reverse][::-1] for column in columns), is_reverse=True)
            found.append((plus, minus))
        return found

    def _strand(
        self,
        starts: NDArray[np.int64],
        scores: NDArray[np.float32],
        labels: NDArray[np.int8],
        *,
        is_reverse: bool,
    ) -> Labelled:
        """Return the candidates of one strand, which come in reading direction."""
        places = reading_places(starts, SITE_LENGTH, is_reverse, self._is_donor)
        log_odds = self._model.log_odds(scores.astype(np.float64), self._organism)
        own = Sites(np.ascontiguousarray(places), np.ascontiguousarray(log_odds))
        return Labelled(own, scores, labels)


def find_strands(
    donors: EndFinder, acceptors: EndFinder, held: tuple[SplitGenome, SplitGenome]
) -> list[Strand]:
    """Return the candidates of both signals, by region and strand; see :func:`read_both`."""
    return [
        Strand(own, other)
        for region in zip(donors.find(held[0]), acceptors.find(held[1]), strict=True)
        for own, other in zip(*region, strict=True)
    ]
