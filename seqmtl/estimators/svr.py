"""Support vector regression for several tasks."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from seqmtl.estimators._base import (
    LinearEstimator,
    features_for,
    score_examples,
    store_fit,
    training_settings,
)
from seqmtl.estimators._examples import check_X_y, gather_examples, plain_examples
from seqmtl.training.fit import fit


@dataclass(eq=False, repr=False)
class MultiTaskSVR(RegressorMixin, LinearEstimator):
    """Support vector regression for several related tasks, for strings or numbers.

    Solves min 1/2 sum_{s,t} Q[s,t] <w_s, w_t> + sum_i C_i loss(f_{t_i}(x_i) - y_i), where Q is the
    inverse of the task kernel and the loss is ``max(0, |r| - epsilon)`` or its square, by dual
    coordinate descent to a certified duality gap (Widmer, Kloft, Goernitz, Raetsch 2012, eq. 8,
    with the losses of Ho, Lin 2012); with few features and a fixed K, second-order steps complete
    it. With one task this is scikit-learn's ``LinearSVR``.

    Parameters
    ----------
    features : FeatureDefinition, str, or list of them, optional
        Feature map, or its description, such as "wd:5", or a list of them, one per view. Default:
        ``PositionalKmers()`` for :class:`~seqmtl.Windows`, the identity for matrices.
    task_kernel : TaskKernel, {"individual", "union", "easy"}, str, array or list of them, optional
        Task kernel; the name of a shipped tree; the file of a tree or a table. An array is in the
        order of the sorted task names. Of several matrices the mean is taken, unless `norm` is
        given. Default: K = (11' + 3 I) / 4; with `norm` 11' and I.
    C : float, default=1.0
        Cost of errors.
    epsilon : float, default=0.1
        Error without cost, in units of y.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        Loss.
    norm : float, optional
        p of the p-norm on kernel weights, from 1 (sparse) to infinity (uniform), which are then
        learnt: of every view times every matrix of the task kernels (Widmer, Kloft, Sreedharan,
        Raetsch 2015, Problem 1, for this loss). Default: none are learnt.
    fit_intercept : bool, default=True
        Append a constant feature, regularised and coupled like any other; centre targets that
        are far from 0.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_epochs : int, default=1000
        Maximum number of passes over the training data; a warning is given if it is reached.
    dtype : {"float32", "float64"} or the NumPy type, optional
        Type of the weights. Default: float32 for strings, float64 for numbers.
    random_state : int or RandomState, default=0
        Seed of the visiting order.

    Attributes
    ----------
    tasks_ : tuple of str
        Tasks, sorted by name.
    task_kernel_ : TaskKernel
        Task kernel.
    coef_ : ndarray, shape (n_tasks, n_features)
        Weights.
    intercept_ : ndarray, shape (n_tasks,)
        Intercepts.
    dual_coef_ : ndarray, shape (n,)
        Dual variables beta, positive where the prediction is too low.
    dual_gap_ : float
        Relative duality gap.
    n_iter_ : int
        Number of passes over the training data, rounded up, 1 or more.
    history_ : list of dict
        Epoch, work, gap and number of active examples at every full check of the problem.
    theta_, kernel_weights_
        With `norm`, kernel weights as in :class:`MultiTaskMKLClassifier`.
    model_ : MultiTaskModel
        The fitted model; ``model_.save(path)`` saves it.
    n_features_in_ : int
        Numbers, or bases, per example.

    Examples
    --------
    >>> from seqmtl import MultiTaskSVR
    >>> X, y = [[0.0], [1.0], [0.0], [1.0]], [1.0, 3.0, 1.5, 3.5]
    >>> svr = MultiTaskSVR(C=100.0).fit(X, y, tasks=["a", "a", "b", "b"])
    >>> svr.predict([[1.0], [1.0]], tasks=["a", "b"]).round(1)
    array([2.9, 3.4])
    """

    features: Any = None
    task_kernel: Any = None
    C: float = 1.0
    _: KW_ONLY
    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"
    norm: float | None = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_epochs: int = 1000
    dtype: Any = None
    random_state: Any = 0

    def fit(
        self, X: Any, y: ArrayLike, tasks: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : Windows, TaskArray, sequence of str, or array_like or sparse matrix of shape (n, d)
            Examples; strings are sequences, of one length unless no feature needs positions.
        y : array_like, shape (n,)
            Targets.
        tasks : sequence of str, shape (n,), optional
            Task of every example. Default: the tasks that `X` carries, or else a single task.
        sample_weight : array_like, shape (n,), optional
            Factors on C; rows of weight 0 are ignored.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are no targets, lengths differ, or numbers are NaN or infinite.
        """
        X, tasks = plain_examples(X, tasks, y)
        X, y = check_X_y(self, X, y, numeric=True)
        examples = gather_examples(X, y, tasks, sample_weight)
        settings = training_settings(
            self,
            X,
            kind="regression",
            loss=self.loss,
            epsilon=self.epsilon,
            norm=self.norm,
            fit_intercept=self.fit_intercept,
        )
        features = features_for(self.features, X)
        model, solution = fit(examples, self.task_kernel, features=features, settings=settings)
        store_fit(self, model, solution)
        return self

    def predict(self, X: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Predict target values.

        Parameters
        ----------
        X : Windows, TaskArray, sequence of str, or array_like or sparse matrix of shape (n, d)
            Examples; strings are sequences, of one length unless no feature needs positions.
        tasks : str or sequence of str, optional
            Task of every example, or one for all. Default: the tasks that `X` carries, or the
            only task.

        Returns
        -------
        ndarray of float64, shape (n,)

        Raises
        ------
        UnknownTaskError
            If the task kernel lacks a task.
        """
        return score_examples(self, X, tasks)

    def score(
        self, X: Any, y: ArrayLike, tasks: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return R^2, the share of variance explained; the parameters are those of :meth:`fit`."""
        return float(r2_score(y, self.predict(X, tasks), sample_weight=sample_weight))
