"""Cross-fitting: score the candidates of training regions with models trained without them.

Validation regions have few true sites, and their density of sites may differ from that of the
genome. Training regions have many, but the scores of the model are too good on its own training
data. So the training regions are divided into folds, and the candidates of each fold are scored by
a model trained on the other folds with the same hyperparameters.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._messages import messages_from
from seqmtl.adaptation.few_labels import train_with_few
from seqmtl.files.streams import PathLike
from seqmtl.io.dataset import (
    SplitGenome,
    chosen_organisms,
    read_dataset,
    read_split_genome,
    read_summary,
)
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.scanning.candidate_scores import CandidateScores, join_scores, score_regions
from seqmtl.sequences.examples import Examples
from seqmtl.sequences.windows import concatenate
from seqmtl.training.settings import settings_of

#: Number of models trained, each without the regions that it scores.
FOLDS = 4
_MIN_LABELS = 2  # labels per class of an organism outside every fold
_MAX_WINDOWS = 200_000  # training windows; with more, validation regions have enough sites

logger = logging.getLogger(__name__)


def score_cross_fitted(
    model: MultiTaskModel, path: PathLike, *, organism: str | None = None
) -> CandidateScores | None:
    """Score every candidate in the training regions with a model trained without its region.

    Parameters
    ----------
    model : MultiTaskModel
        Model trained on the dataset.
    path : path-like
        Folder written by ``seqmtl dataset``, or the windows.tsv in it.
    organism : str, optional
        Organism to score. Default: all.

    Returns
    -------
    CandidateScores or None
        As returned by :func:`seqmtl.scanning.candidate_scores.score_candidates`. None if the model
        was trained on other windows or with learned kernel weights, if there are more than 200,000
        windows, or if an organism would lack true sites or decoys without one of the folds.
    """
    parts = []
    genomes = {}
    folds_of = []
    names = chosen_organisms(read_summary(path), None)
    is_of_dataset = "dataset" in model.training and "mkl" not in model.training
    if not is_of_dataset or {model.match(name) for name in names} != {*model.tasks}:
        return None
    for name in names:
        with messages_from(logging.WARNING):
            windows = read_dataset(path, split="train", organism=name)
            regions = read_split_genome(path, name, "train")
        pieces, fold_of = _assign_folds(regions)
        genomes[name] = [replace(regions, regions=pieces[fold_of == k]) for k in range(FOLDS)]
        middles = windows.starts + windows.length // 2
        folds_of.append(fold_of[np.searchsorted(pieces[:, 0], middles, "right") - 1])
        parts.append(
            windows.center(model.length, model.shift).with_tasks([model.match(name)] * len(windows))
        )
    windows = concatenate(parts)
    fold = np.concatenate(folds_of)
    numbers = [model.tasks.index(windows.task_names[0]) for windows in parts]
    ids = np.repeat(np.array(numbers, dtype=np.int16), [len(windows) for windows in parts])
    if len(windows) > _MAX_WINDOWS or not _is_same(model, windows.labels, ids, fold):
        return None
    logger.info("training %d models, each without a part of the training regions", FOLDS)
    scores_of_folds = []
    with messages_from(logging.WARNING):
        for k in range(FOLDS):
            rows = np.flatnonzero(fold != k)
            fold_model, _ = train_with_few(
                Examples(windows, windows.labels, ids, model.tasks).take(rows),
                features=model.features,
                task_kernel=model.kernel,
                settings=settings_of(model.training),
                site=model.site,
                few=[*model.training.get("adapted", {})],
            )
            fold_model.shift = model.shift
            fold_regions = {name: regions[k] for name, regions in genomes.items()}
            if organism is not None:
                chosen = chosen_organisms(read_summary(path), organism)[0]
                fold_regions = {chosen: fold_regions[chosen]}
            scores_of_folds.append(score_regions(fold_model, path, fold_regions.items()))
    return join_scores(scores_of_folds)


def _assign_folds(split_genome: SplitGenome) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut regions into pieces no longer than a fold; return them and the fold of each.

    Pieces are assigned in descending order of their true sites, each to the fold with the fewest.
    """
    sizes = split_genome.regions[:, 1] - split_genome.regions[:, 0]
    n = np.maximum(1, np.rint(FOLDS * sizes / sizes.sum())).astype(np.int64)
    edges = [
        np.linspace(a, b, k + 1).astype(np.int64)
        for (a, b), k in zip(split_genome.regions, n, strict=True)
    ]
    pieces = np.array([pair for region_edges in edges for pair in pairwise(region_edges)])
    sites = np.sort(split_genome.sites.starts[split_genome.sites["is_true"]])
    n_true = np.searchsorted(sites, pieces[:, 1]) - np.searchsorted(sites, pieces[:, 0])
    fold_of = np.zeros(len(pieces), dtype=np.int64)
    load = np.zeros(FOLDS)
    for i in np.argsort(-n_true, kind="stable").tolist():
        fold_of[i] = int(load.argmin())
        load[fold_of[i]] += n_true[i] + 1e-3
    return pieces, fold_of


def _is_same(
    model: MultiTaskModel,
    labels: NDArray[Any],
    ids: NDArray[np.int16],
    fold: NDArray[np.int64],
) -> bool:
    """Return whether the model was trained on these windows, and enough are outside each fold."""
    for t, name in enumerate(model.tasks):
        is_task = ids == t
        facts = model.training["tasks"][name]
        n_true = int((labels[is_task] > 0).sum())
        if (facts["n"], facts.get("n_positive")) != (int(is_task.sum()), n_true):
            return False
        for sign in (1, -1):
            counts = np.bincount(fold[is_task & (labels * sign > 0)], minlength=FOLDS)
            if counts.sum() - counts.max() < _MIN_LABELS:
                return False
    return True
