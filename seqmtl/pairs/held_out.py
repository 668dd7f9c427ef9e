"""Score every candidate of held-out regions with a paired model, and by the sites alone."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.models.paired import PairedModel
from seqmtl.pairs.candidates import EndFinder, cut_regions, find_piece
from seqmtl.pairs.chain import run_chain, to_log_odds
from seqmtl.pairs.regions import PathLike, read_both, shared_organisms
from seqmtl.scan.held_out import block_edges

logger = logging.getLogger(__name__)


class PairedScores(NamedTuple):
    """Labels and scores of held-out candidates of one signal.

    Attributes
    ----------
    labels : ndarray of int8, shape (n,)
        1 for true sites, -1 otherwise.
    alone : ndarray of float64, shape (n,)
        Scores of the site model.
    paired : ndarray of float64, shape (n,)
        Log-odds of the posterior.
    tasks : ndarray of str, shape (n,)
        Organisms.
    blocks : ndarray of int64, shape (n,)
        Number of the part of the regions where a candidate is.
    """

    labels: NDArray[np.int8]
    alone: NDArray[np.float64]
    paired: NDArray[np.float64]
    tasks: NDArray[np.str_]
    blocks: NDArray[np.int64]


def score_paired(
    model: PairedModel,
    donors: PathLike,
    acceptors: PathLike,
    *,
    split: str | None,
    organism: str | None = None,
) -> dict[str, PairedScores]:
    """Score every candidate in the regions that are in one split of both datasets.

    Parameters
    ----------
    model : PairedModel
        Paired model.
    donors, acceptors : path-like
        Datasets of its signals.
    split : str or None
        train, valid or test; None for all.
    organism : str, optional
        Default: all organisms of the datasets.

    Returns
    -------
    dict
        By signal, donor and acceptor. Annotated sites that a dataset excludes are left out.

    Raises
    ------
    SeqmtlError
        If the datasets do not fit the model or each other, or have no such regions.
    UnknownTaskError
        If the model or the datasets do not know an organism.
    """
    names = shared_organisms(donors, acceptors)
    if organism is not None:
        names = [name for name in names if model.match(name) == model.match(organism)]
    parts: dict[str, list[PairedScores]] = {"donor": [], "acceptor": []}
    for name in names:
        task = model.match(name)
        finders = (
            EndFinder(model.donor, donors, task),
            EndFinder(model.acceptor, acceptors, model.acceptor.match(task)),
        )
        layer, held = model.layer_of(task), read_both(donors, acceptors, name, split)
        edges = block_edges(held[0].regions)
        for bounds in cut_regions(held, layer.longest):
            piece = find_piece(finders, held, bounds, layer.coding)
            log_p = run_chain(piece.sites, layer).sites
            blocks = np.empty(log_p.size, dtype=np.int64)
            blocks[piece.sites.order] = np.searchsorted(
                edges, bounds.begin + piece.sites.places, "right"
            )
            for end, own in zip(
                parts, (slice(piece.n_donors), slice(piece.n_donors, None)), strict=True
            ):
                labels = piece.labels[own]
                kept = labels != 0
                columns = piece.scores[own][kept].astype(float), to_log_odds(log_p[own][kept])
                tasks = np.full(int(kept.sum()), task)
                parts[end].append(PairedScores(labels[kept], *columns, tasks, blocks[own][kept]))
    return {
        end: PairedScores(*(np.concatenate(column) for column in zip(*found, strict=True)))
        for end, found in parts.items()
    }
