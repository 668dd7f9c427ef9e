"""A model as one linear score: the weights of an organism, view by view of the features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.blocks import views_of
from seqmtl.exceptions import SeqmtlError
from seqmtl.features.joint import flat_views
from seqmtl.features.spectrum import Spectrum
from seqmtl.features.weighted_degree import WeightedDegree
from seqmtl.models.model import MultiTaskModel
from seqmtl.sequences import Windows


class ScoreView(NamedTuple):
    """One view: its feature map, its rows for some windows, its weights (n_features,)."""

    features: Any
    rows: Any
    w: NDArray[Any]


class LinearScore(NamedTuple):
    """f(x) = bias + the sum over the views of <w, phi(x)>, for some windows x."""

    views: list[ScoreView]
    bias: float


def linear_score(
    model: MultiTaskModel,
    organisms: Sequence[str],
    windows: Windows | None = None,
    *,
    from_relatives: bool = False,
) -> LinearScore:
    """Return the score of an organism, or the mean of several, as weights of its views.

    Parameters
    ----------
    model : MultiTaskModel
        Model of windows.
    organisms : sequence of str
        Tasks of the model.
    windows : Windows, optional
        Windows to bind the features to. Default: one without N.
    from_relatives : bool, default=False
        See :meth:`MultiTaskModel.decision_function`.

    Raises
    ------
    SeqmtlError
        If the model is not one of windows of DNA.
    """
    check_views(model)
    definitions = flat_views(model.features)
    W, bias = model.weights(organisms, from_relatives=from_relatives)
    w = W[:, 0] if len(organisms) == 1 else W.mean(axis=1, dtype=np.float64)
    if windows is None:
        windows = Windows.from_strings(["A" * model.length])
    views = [
        ScoreView(definition, view.rows, w[view.columns])
        for definition, view in zip(
            definitions, views_of(model.features.bind(windows)), strict=True
        )
    ]
    return LinearScore(views, float(bias.mean()))


def check_views(model: MultiTaskModel) -> None:
    """Refuse a model of other examples than windows.

    Raises
    ------
    SeqmtlError
        If it has other features than weighted degrees and spectra.
    """
    if not all(isinstance(v, (WeightedDegree, Spectrum)) for v in flat_views(model.features)):
        raise SeqmtlError(
            "only models of windows of DNA, with weighted-degree or spectrum features, can be "
            f"explained; this one has {model.features}"
        )
