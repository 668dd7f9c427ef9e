"""Score every candidate of held-out regions with a paired model, and by the sites alone."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import match_names
from seqmtl.scanning.candidate_scores import IN_MASK, block_edges
from seqmtl.sequences.intervals import is_inside
from seqmtl.sequences.sites import Sites
from seqmtl.splicing.candidates import (
    cut_regions,
    edge_finders,
    end_finders,
    find_piece,
    u12_ends,
)
from seqmtl.splicing.chain import either_class, margin_of, run_chain, to_log_odds
from seqmtl.splicing.layer import ENDS
from seqmtl.splicing.model import PairedModel
from seqmtl.splicing.regions import PathLike, read_both, shared_organisms

logger = logging.getLogger(__name__)

_PIECE = 1_000_000  # bases that are scored at a time


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
        model.match(organism)
        names = [names[k] for k in match_names([organism], names, "both datasets")]
    parts: dict[str, list[PairedScores]] = {end: [] for end in ENDS}
    for name in names:
        task = model.match(name)
        layer, held = model.layer_of(task), read_both(donors, acceptors, name, split)
        ends, paths = (model.donor, model.acceptor), (donors, acceptors)
        finders = end_finders(ends, paths, task, layer.donors, u12_ends(model.u12, layer.u12))
        of_edges = edge_finders(layer, model.edges, task)
        edges, n_masked = block_edges(held[0].regions), 0
        for bounds in cut_regions(held[0], margin_of(layer), _PIECE):
            piece = find_piece(finders, held, bounds, layer.coding, of_edges)
            is_own = (piece.starts >= bounds.first) & (piece.starts < bounds.last)
            is_own &= piece["signals"] < len(ENDS)
            n_masked += int((is_own & is_inside(piece.starts, held[0].masked)).sum())
            blocks = np.searchsorted(edges, bounds.begin + piece["places"], "right")
            log_p = either_class(piece, run_chain(piece, layer).sites)
            piece = piece.adding(blocks=blocks, log_p=log_p).take(piece["labels"] != 0)
            for end, columns in parts.items():
                columns.append(_scores(piece.take(piece["signals"] == ENDS.index(end)), task))
        if n_masked:
            logger.info("%s: %d %s", name, n_masked, IN_MASK)
    return {
        end: PairedScores(*(np.concatenate(column) for column in zip(*columns, strict=True)))
        for end, columns in parts.items()
    }


def _scores(sites: Sites, task: str) -> PairedScores:
    """Return the columns of the sites of a signal, plus before minus."""
    sites = sites.take(np.argsort(sites.is_reverse, kind="stable"))
    alone, paired = sites["scores"].astype(np.float64), to_log_odds(sites["log_p"])
    tasks = np.full(len(sites), task)
    return PairedScores(sites["labels"], alone, paired, tasks, sites["blocks"])
