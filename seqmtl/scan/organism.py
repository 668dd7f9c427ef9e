"""Scanners for one organism of a model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from seqmtl.models.model import MultiTaskModel
from seqmtl.models.placed_weights import window_scorer
from seqmtl.models.probability_curve import to_probability
from seqmtl.scan.scanner import Scanner, WindowScanner

TABLE_BYTES = 16  # of an entry in tables, with the weights that they are from
MOST_BYTES = 1 << 30  # of tables: those of 9-mers in windows of 141 bases, but not of 10-mers


def scanner_of(
    model: MultiTaskModel,
    organism: str,
    *,
    site_offset: int | None = None,
    site_length: int | None = None,
    from_relatives: bool = False,
) -> Scanner:
    """Return a scanner with the weights of one organism, with tables unless they would be large.

    Parameters
    ----------
    model : MultiTaskModel
        Trained model.
    organism : str
        Task of the model, or a relative without data if `from_relatives` is set.
    site_offset, site_length : int, optional
        Position of the site in the window. Default: that of the model.
    from_relatives : bool, default=False
        See :meth:`MultiTaskModel.decision_function`.

    Raises
    ------
    UnknownTaskError
        If the model was not trained on the organism.
    """
    offset = model.site.offset if site_offset is None else site_offset
    length = model.site.length if site_length is None else site_length
    if TABLE_BYTES / 3 * 4.0 ** (model.features.span(model.length) + 1) * model.length > MOST_BYTES:
        score = window_scorer(model, organism, from_relatives=from_relatives)
        return WindowScanner(score, model.length, site_offset=offset, site_length=length)
    weights = model.position_weights(organism, from_relatives=from_relatives)
    bias = model.weights([organism], from_relatives=from_relatives)[1]
    return Scanner(weights, float(bias[0]), site_offset=offset, site_length=length)


def probability_of(
    model: MultiTaskModel, organism: str
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the function that converts scores of one organism to probabilities.

    Raises
    ------
    ValueError
        If the model is not a classifier.
    """
    log_odds = model.log_odds_of(organism)
    return lambda scores: to_probability(log_odds(scores))
