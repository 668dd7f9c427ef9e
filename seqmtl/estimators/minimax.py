"""A classifier that minimises the loss of the worst task."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from seqmtl.estimators._base import Examples
from seqmtl.estimators._classifier import MultiTaskClassifier
from seqmtl.models.minimax import train_minimax
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.training import Settings
from seqmtl.sequences import Windows
from seqmtl.solvers.dcd import Solution


class MinimaxClassifier(MultiTaskClassifier):
    """Linear support vector machine for several tasks that minimises the loss of the worst task.

    Solves min over W of R(W) + C ||(L_1, .., L_T)||_p, where L_t is the mean hinge loss of task
    t, to a certified duality gap (Mehta, Lee, Gray 2012). The norm is the largest loss for
    p = infinity and the sum of the losses for p = 1. With one task this is the linear SVM.

    Parameters
    ----------
    regularizer : {"trace", "mean"}, default="trace"
        Regularizer that couples the tasks. "trace": R(W) = 1/2 ||W||_tr^2; the weights share a
        low-dimensional subspace (Argyriou, Evgeniou, Pontil 2008). "mean": w_t = w_0 + v_t and
        R(W) = 1/2 ||w_0||^2 / share + 1/2 sum_t ||v_t||^2 / (1 - share); the weights are close to
        a common vector (Evgeniou, Pontil 2004).
    C : float, default=100.0
        Cost of the mean losses: an example of task t costs C / n_t.
    share : float, default=0.5
        Share that tasks have in common, in (0, 1]; 1 is one vector for all. Only for "mean".
    norm : float, default=inf
        p of the norm over task losses, from 1 to infinity.
    class_weight : dict or "balanced", optional
        Factors on the losses by class.
    fit_intercept : bool, default=True
        Append a constant feature, regularised like any other.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_epochs : int, default=10000
        Maximum number of steps over all variables; a warning is given if it is reached.

    Attributes
    ----------
    losses_ : ndarray, shape (n_tasks,)
        L_t, weighted by example and class.
    task_weights_ : ndarray, shape (n_tasks,)
        Weight tau_t of each task at the optimum: sum_t tau_t L_t is the norm of the losses, and
        ||tau||_q = 1 with 1/p + 1/q = 1.
    objective_ : float
        R(W) + C ||(L_1, .., L_T)||_p.
    task_kernel_ : TaskKernel
        The K for which R(W) = 1/2 tr(W K^-1 W'); learnt for "trace", as (W'W)^(1/2) over its trace.
    dual_coef_ : ndarray, shape (n,)
        Dual variables alpha, bounded by C tau_t times the share of the example in L_t.
    n_iter_ : int
        Number of steps.
    classes_, tasks_, coef_, intercept_, dual_gap_, history_, model_, n_features_in_
        As in :class:`MultiTaskSVC`.

    Notes
    -----
    The problem with (lambda_0 / 2) ||w_0||^2 + (lambda_1 / (2 T)) sum_t ||v_t||^2 and cost 1 is
    "mean" with C = 1 / lambda_0 + T / lambda_1 and share = 1 / (lambda_0 C); with (lambda / 2)
    ||W||_tr^2 it is "trace" with C = 1 / lambda. Training takes fewer steps if features have
    similar scales.

    Examples
    --------
    >>> from seqmtl.estimators.minimax import MinimaxClassifier
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [0.2, 0.9], [0.8, 0.1]], [0, 1, 0, 1]
    >>> worst = MinimaxClassifier(C=10.0).fit(X, y, tasks=["a", "a", "b", "b"])
    >>> worst.predict([[0.9, 0.2]], tasks=["b"])
    array([1])
    """

    _reported: ClassVar[dict[str, str]] = {
        "objective": "objective_",
        "gap": "dual_gap_",
        "n_iter": "n_iter_",
        "weights": "task_weights_",
        "losses": "losses_",
    }

    features = None
    task_kernel = None
    loss = "hinge"
    dtype = "float64"
    random_state = 0
    from_relatives = False

    def __init__(
        self,
        regularizer: str = "trace",
        C: float = 100.0,
        share: float = 0.5,
        norm: float = np.inf,
        class_weight: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_epochs: int = 10_000,
    ) -> None:
        self.regularizer = regularizer
        self.C = C
        self.share = share
        self.norm = norm
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_epochs = max_epochs

    def _train(self, examples: Examples, settings: Settings) -> tuple[MultiTaskModel, Solution]:
        X, y, ids, names, weight = examples
        if isinstance(X, Windows):
            raise TypeError(
                "X must be a matrix of numbers, got Windows; pass the matrix that "
                "Spectrum(k=...).transform(windows) returns"
            )
        model, solution = train_minimax(
            X, y, ids, names,
            regularizer=self.regularizer, share=self.share, norm=self.norm, settings=settings,
            sample_weight=weight,
        )  # fmt: skip
        self.losses_: NDArray[np.float64] = solution.losses
        self.task_weights_: NDArray[np.float64] = solution.tau
        self.objective_ = solution.primal
        return model, solution
