"""Score every candidate of held-out regions with a paired model, and by the sites alone."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from seqmtl._names import match_names
from seqmtl.calibration.curve import to_probability
from seqmtl.files.streams import PathLike
from seqmtl.scanning.candidate_scores import IN_MASK, CandidateScores, block_edges
from seqmtl.sequences.intervals import is_inside
from seqmtl.sequences.sites import Sites
from seqmtl.splicing.candidates import cut_regions, edge_finders, end_finders, find_piece
from seqmtl.splicing.chain import either_class, margin_of, run_chain, to_log_odds
from seqmtl.splicing.layer import ENDS
from seqmtl.splicing.model import PairedModel
from seqmtl.splicing.regions import read_both, shared_organisms
from seqmtl.training.example_source import ExampleSource, warn_if_trained_on

logger = logging.getLogger(__name__)

#: How sites are scored.
METHODS = ("alone", "paired")
_PIECE = 1_000_000  # bases that are scored at a time


def score_paired(
    model: PairedModel,
    donors: PathLike,
    acceptors: PathLike,
    *,
    split: str | None,
    organism: str | None = None,
) -> list[CandidateScores]:
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
    list of CandidateScores
        Donors and acceptors, each by the site model alone, and by the log-odds of the posterior.
        Annotated sites that a dataset excludes are left out.

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
    parts: dict[str, list[Sites]] = {end: [] for end in ENDS}
    for name in names:
        task = model.match(name)
        layer, held = model.layer_of(task), read_both(donors, acceptors, name, split)
        ends, paths = (model.donor, model.acceptor), (donors, acceptors)
        finders = end_finders(ends, task, layer, model.u12, paths)
        of_edges = edge_finders(layer, model.edges, task)
        edges, n_masked = block_edges(held[0].regions), 0
        for bounds in cut_regions(held[0], margin_of(layer), _PIECE):
            piece = find_piece(finders, held, bounds, layer, of_edges)
            first, last, begin, _ = bounds
            is_end = (piece.starts >= first) & (piece.starts < last)
            is_end &= piece["signals"] < len(ENDS)
            n_masked += int((is_end & is_inside(piece.starts, held[0].masked)).sum())
            blocks = np.searchsorted(edges, begin + piece["places"], "right")
            log_p = either_class(piece, run_chain(piece, layer).sites)
            piece = piece.adding(blocks=blocks, log_p=log_p).take(piece["labels"] != 0)
            piece = piece.adding(tasks=np.full(len(piece), task))
            for number, end in enumerate(ENDS):
                sites = piece.take(piece["signals"] == number)
                parts[end].append(sites.take(np.argsort(sites.is_reverse, kind="stable")))
        if n_masked:
            logger.info("%s: %d %s", name, n_masked, IN_MASK)
    results = []
    for end, site_model in zip(ENDS, (model.donor, model.acceptor), strict=True):
        sites = Sites.join(parts[end])
        tasks, counts = sites["tasks"], np.ones(len(sites), dtype=np.int64)
        alone, paired = sites["scores"].astype(np.float64), to_log_odds(sites["log_p"])
        p_alone = site_model.probability(alone, tasks.tolist())
        both = ((alone, p_alone), (paired, to_probability(paired)))
        for method, (scores, p) in zip(METHODS, both, strict=True):
            columns = sites["labels"], scores, tasks, counts, None, sites["blocks"]
            results.append(CandidateScores(*columns, p, end, method))
    return results


def score_labelled(
    model: PairedModel, sources: Sequence[ExampleSource], what: str
) -> list[CandidateScores]:
    """Score every candidate of a dataset of donors and one of acceptors; see ``Model``."""
    donors, acceptors = (source.name for source in sources)
    split, fitted_on = sources[0].split, model.training.get("split")
    for source, site_model in zip(sources, (model.donor, model.acceptor), strict=True):
        warn_if_trained_on(site_model, source.paths, model.tasks, split, what)
    if split in (fitted_on, "all"):
        logger.warning(
            "the model was fitted on the %s regions, so its accuracy there is overestimated",
            fitted_on,
        )
    options = {"split": sources[0].split_or_none, "organism": sources[0].organism}
    return score_paired(model, donors, acceptors, **options)
