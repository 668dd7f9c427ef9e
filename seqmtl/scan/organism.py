"""One organism of a model as a scanner."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from seqmtl.models.model import MultiTaskModel
from seqmtl.models.probability_curve import to_probability
from seqmtl.scan.scanner import Scanner


def scanner_of(
    model: MultiTaskModel,
    organism: str,
    *,
    site_offset: int | None = None,
    site_length: int | None = None,
    from_relatives: bool = False,
    n_threads: int = 1,
) -> Scanner:
    """Make a scanner with the weights of one organism.

    Parameters
    ----------
    model : MultiTaskModel
        Trained model.
    organism : str
        One of its tasks, or a relative without data where `from_relatives` is set.
    site_offset, site_length : int, optional
        Place of the site in the window. Default: that of the model.
    from_relatives : bool, default=False
        See :meth:`MultiTaskModel.decision_function`.
    n_threads : int, default=1
        Threads.

    Raises
    ------
    UnknownTaskError
        If the model was not trained on the organism.
    """
    offset = model.site.offset if site_offset is None else site_offset
    length = model.site.length if site_length is None else site_length
    weights = model.position_weights(organism, from_relatives=from_relatives)
    bias = model.weights([organism], from_relatives=from_relatives)[1]
    return Scanner(
        weights, float(bias[0]), site_offset=offset, site_length=length, n_threads=n_threads
    )


def probability_of(
    model: MultiTaskModel, organism: str
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the function from scores to probabilities of one organism.

    Raises
    ------
    ValueError
        If the model is not one of classification.
    """
    model.log_odds(np.zeros(0), organism)  # refuses now what it cannot do

    def probability(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return to_probability(model.log_odds(scores, organism))

    return probability
