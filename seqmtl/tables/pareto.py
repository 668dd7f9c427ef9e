"""The Pareto front of the tasks: multi-task MKL for several trade-offs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl.kernels import short_name
from seqmtl.solvers.norms import norm_of
from seqmtl.tables.classifier import Prepared
from seqmtl.tables.task_mkl import ParetoMKLClassifier

#: Default trade-offs p of a path.
PATH = (0.01, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0, 1.2, 1.5, 2.0, 5.0, 10.0, 100.0)
_LEAST = 1e-3  # initial weight of every kernel on a path, relative to the largest


@dataclass(frozen=True)
class ParetoPath:
    """Solutions for several trade-offs p.

    Attributes
    ----------
    p : ndarray of float64, shape (P,)
        Trade-offs, in rising order.
    tasks : tuple of str
        Tasks.
    objectives : ndarray of float64, shape (P, T)
        g_t.
    weights : ndarray of float64, shape (P, T)
        lambda_t.
    theta : ndarray of float64, shape (P, M)
        Kernel weights.
    estimators : list of ParetoMKLClassifier
        The fitted classifiers.
    """

    p: NDArray[np.float64]
    tasks: tuple[str, ...]
    objectives: NDArray[np.float64]
    weights: NDArray[np.float64]
    theta: NDArray[np.float64]
    estimators: list[ParetoMKLClassifier]

    def plot(self, path: Any) -> None:
        """Plot the objectives and the kernel weights along the path.

        Parameters
        ----------
        path : str or path-like
            Output file: .png, .svg or .pdf.
        """
        from seqmtl.evaluation.figures import save_figure
        from seqmtl.evaluation.pareto import draw_path

        kernels = [short_name(kernel) for kernel in self.estimators[0].kernels_]
        figure = draw_path(self.p, self.objectives, self.tasks, self.theta, kernels)
        save_figure(figure, path)


def pareto_path(
    X: Any,
    y: ArrayLike,
    tasks: Any = None,
    *,
    p: float | Sequence[float] = PATH,
    sample_weight: ArrayLike | None = None,
    **parameters: Any,
) -> ParetoPath:
    """Train :class:`ParetoMKLClassifier` for several p, with warm starts.

    Kernel matrices are computed once. The path starts at the p nearest to 1 and continues in both
    directions.

    Parameters
    ----------
    X, y, tasks, sample_weight
        See :meth:`ParetoMKLClassifier.fit`.
    p : float or sequence of float
        Trade-offs, in any order. Default: :data:`PATH`.
    **parameters
        Parameters of :class:`ParetoMKLClassifier`.

    Returns
    -------
    ParetoPath
        ``path.plot("front.png")`` plots it.

    Raises
    ------
    ValueError
        If a p is not positive, or as in :meth:`ParetoMKLClassifier.fit`.
    """
    grid = np.unique(np.asarray(p, dtype=np.float64))
    if not grid.size:
        raise ValueError("p must hold at least one number above 0, got none")
    models = [ParetoMKLClassifier(p=value, **parameters) for value in grid.tolist()]
    for model in models:
        model._check_parameters()
    first = int(np.argmin(np.abs(np.log(np.minimum(grid, 1e300)))))
    prepared: Prepared | None = None
    for order in (range(first, grid.size), range(first - 1, -1, -1)):
        last = models[first] if prepared else None
        for model in [models[number] for number in order]:
            examples = model._read(X, y, tasks, sample_weight)
            prepared = prepared or model._prepare(examples)
            state = None if last is None else _warm(last.theta_, model.norm)
            solution = model._solve(prepared.machines, state)
            model._keep(prepared, solution)
            model._warn(solution, stacklevel=3)
            last = model
    return ParetoPath(
        grid,
        models[0].tasks_,
        np.array([model.objectives_ for model in models]),
        np.array([model.weights_ for model in models]),
        np.array([model.theta_ for model in models]),
        models,
    )


def _warm(theta: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """Return initial weights near a solution, none of them 0, as those would stay 0."""
    theta = np.maximum(theta, _LEAST * theta.max())
    return (theta / norm_of(theta, norm))[None]
