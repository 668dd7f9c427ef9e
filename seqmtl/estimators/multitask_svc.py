"""The multi-task support vector machine as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from seqmtl.estimators._base import FeatureParameters
from seqmtl.estimators._classifier import MultiTaskClassifier
from seqmtl.models.examples import Examples
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.training import Settings
from seqmtl.solvers.dcd import Solution, State


@dataclass(eq=False, repr=False)
class MultiTaskSVC(FeatureParameters, MultiTaskClassifier):
    """Support vector machine for several related tasks, for strings or numbers.

    Solves min 1/2 sum_{s,t} Q[s,t] <w_s, w_t> + sum_i C_i loss(y_i f_{t_i}(x_i)), where Q is the
    inverse of the task kernel, by dual coordinate descent to a certified duality gap (Widmer,
    Kloft, Goernitz, Raetsch 2012, eq. 8); where there are few features, second-order steps complete
    it. With one task this is the linear SVM.

    Parameters
    ----------
    features : FeatureDefinition, optional
        Feature map. Default: ``PositionalKmers()`` for
        :class:`~seqmtl.Windows`, the identity for matrices.
    task_kernel : TaskKernel, {"individual", "union", "easy"} or array, optional
        Task kernel; an array is in the order of the sorted task names. Default:
        K = (11' + 3 I) / 4.
    C : float, default=1.0
        Cost of errors.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        Loss.
    class_weight : dict or "balanced", optional
        Factors on C by class.
    fit_intercept : bool, default=True
        Append a constant feature, regularised and coupled like any other.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_epochs : int, default=1000
        Maximum number of epochs; a warning is given if it is reached.
    dtype : {"float32", "float64"} or the NumPy type, optional
        Type of the weights. Default: float32 for strings, float64 for numbers.
    random_state : int or RandomState, default=0
        Seed of the visiting order.
    warm_start : bool, default=False
        Start from the dual variables of the last fit; examples may be appended between fits.
    from_relatives : bool, default=False
        Predict tasks without training data from their relatives in the task kernel, instead of
        raising an error.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
        Class labels.
    tasks_ : tuple of str
        Tasks, sorted by name.
    task_kernel_ : TaskKernel
        Task kernel.
    coef_ : ndarray, shape (n_tasks, n_features)
        Weights.
    intercept_ : ndarray, shape (n_tasks,)
        Intercepts.
    dual_coef_ : ndarray, shape (n,)
        Dual variables alpha.
    dual_gap_ : float
        Relative duality gap.
    n_iter_ : int
        Number of epochs.
    history_ : list of dict
        Epoch, work, gap and number of active examples at every full check of the problem.
    model_ : MultiTaskModel
        The fitted model; ``model_.save(path)`` saves it.
    n_features_in_ : int
        Numbers, or bases, per example.

    Examples
    --------
    >>> from seqmtl import MultiTaskSVC
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [0.2, 0.9], [0.8, 0.1]], [0, 1, 0, 1]
    >>> MultiTaskSVC().fit(X, y, tasks=["a", "a", "b", "b"]).predict([[0.9, 0.2]], tasks=["b"])
    array([1])
    """

    task_kernel: Any = None
    C: float = 1.0
    _: KW_ONLY
    loss: str = "hinge"
    class_weight: Any = None
    fit_intercept: bool = True
    warm_start: bool = False

    def _train(self, examples: Examples, settings: Settings) -> tuple[MultiTaskModel, Solution]:
        state = self._start(examples.y.size, settings.seed)
        trained = self._train_model(examples, settings, task_kernel=self.task_kernel, state=state)
        self._C = float(self.C)
        return trained

    def _start(self, n: int, seed: int) -> State | None:
        """Scale the dual variables of the last fit to the new C; None starts from zero."""
        last = getattr(self, "dual_coef_", None)
        if not self.warm_start or last is None or last.size > n:
            return None
        alpha = np.zeros(n)
        alpha[: last.size] = last * (self.C / self._C)
        return State(alpha, np.arange(n), np.random.default_rng(seed))
