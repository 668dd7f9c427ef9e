"""Support vector regression for several tasks."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from seqmtl.estimators._base import (
    LinearEstimator,
    model_and_examples,
    search_space,
    store_fit,
    training_settings,
)
from seqmtl.estimators._examples import (
    check_X_y,
    feature_map,
    gather_examples,
    plain_examples,
)
from seqmtl.features.positional_kmers import PositionalKmers
from seqmtl.linear_model.site import site_told_by
from seqmtl.sequences import Windows
from seqmtl.sequences.examples import Examples
from seqmtl.training.settings import TARGET_COSTS, Settings


@dataclass(eq=False, repr=False)
class MultiTaskRegressor(RegressorMixin, LinearEstimator):
    """Base class of the regressors on features."""

    _: KW_ONLY
    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"
    fit_intercept: bool = True

    def _read(self, X: Any, y: Any, tasks: Any, sample_weight: Any) -> tuple[Examples, Settings]:
        """Return validated examples and the settings."""
        X, tasks = plain_examples(X, tasks, y)
        X, y = check_X_y(self, X, y, numeric=True)
        settings = training_settings(self, X, kind="regression")
        return gather_examples(X, y, tasks, sample_weight), settings

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
        model, X, tasks = model_and_examples(self, X, tasks)
        return model.decision_function(X, tasks)

    def score(
        self, X: Any, y: ArrayLike, tasks: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return R^2, the share of variance explained; the parameters are those of :meth:`fit`."""
        return float(r2_score(y, self.predict(X, tasks), sample_weight=sample_weight))


@dataclass(eq=False, repr=False)
class MultiTaskSVR(MultiTaskRegressor):
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
        order of the sorted task names, a data frame labelled with them. Of several matrices the
        mean is taken, unless `norm` is given. Default: K = (11' + 3 I) / 4; with `norm` 11' and I.
    C : float, default=1.0
        Cost of errors.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_epochs : int, default=1000
        Maximum number of passes over the training data; a warning is given if it is reached.
    dtype : {"float32", "float64"} or the NumPy type, optional
        Type of the weights. Default: float32 for strings, float64 for numbers.
    random_state : int or RandomState, default=0
        Seed of the visiting order.
    epsilon : float, default=0.1
        Error without cost, in units of y.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        Loss.
    fit_intercept : bool, default=True
        Append a constant feature, regularised and coupled like any other; centre targets that
        are far from 0.
    norm : float, optional
        p of the p-norm on kernel weights, from 1 (sparse) to infinity (uniform), which are then
        learnt: of every view times every matrix of the task kernels (Widmer, Kloft, Sreedharan,
        Raetsch 2015, Problem 1, for this loss). Default: none are learnt.

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

    C: float = 1.0
    _: KW_ONLY
    norm: float | None = None


@dataclass(eq=False, repr=False)
class MultiTaskRegressorCV(MultiTaskRegressor):
    """Regression for several tasks that selects by cross-validation what they share.

    It selects the trust of tasks in their relatives, between one model per task and one for all,
    and the cost, as :class:`MultiTaskClassifierCV` does, by the likelihood of held-out targets. A
    final :class:`MultiTaskSVR` is trained with them on all examples.

    Parameters
    ----------
    features : FeatureDefinition or str, optional
        Feature map, or its description, such as "wd:5". Default: ``PositionalKmers()`` for
        :class:`~seqmtl.Windows`, the identity for matrices.
    task_kernel : TaskKernel, str, path-like or array, optional
        Relation of the tasks; the name of a shipped tree; the file of a tree or a table. An array
        is in the order of the sorted task names, a data frame labelled with them. It is tried
        along with treating all tasks as alike, the default.
    costs : sequence of float, default=(0.0001, 0.001, 0.01, 0.1, 1.0, 10.0)
        Costs to choose from.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_epochs : int, default=1000
        Maximum number of passes over the training data; a warning is given if it is reached.
    dtype : {"float32", "float64"} or the NumPy type, optional
        Type of the weights. Default: float32 for strings, float64 for numbers.
    random_state : int or RandomState, default=0
        Seed of the folds and the visiting order.
    epsilon : float, default=0.0
        Error without cost, in units of y.
    loss : {"squared_epsilon_insensitive", "epsilon_insensitive"}, \
default="squared_epsilon_insensitive"
        Loss.
    fit_intercept : bool, default=True
        Append a constant feature, regularised and coupled like any other. Targets are centred on
        their mean.

    Attributes
    ----------
    selection_ : dict
        The selection: by task in "tasks" the "trust", "C", and the "weights" of the trust values.
    C_ : float
        The cost that was chosen.
    tasks_, task_kernel_, coef_, intercept_, dual_coef_, dual_gap_, n_iter_, history_, model_, \
n_features_in_
        As in :class:`MultiTaskSVR`.

    Examples
    --------
    >>> from seqmtl import MultiTaskRegressorCV
    >>> X, y = [[0.0], [1.0], [2.0]] * 4, [1.0, 3.0, 5.0, 1.1, 3.1, 5.1] * 2
    >>> tasks = (["a"] * 3 + ["b"] * 3) * 2
    >>> MultiTaskRegressorCV().fit(X, y, tasks=tasks).predict([[1.5]], tasks="a").round(1)
    array([4.])
    """

    costs: Any = TARGET_COSTS
    _: KW_ONLY
    epsilon: float = 0.0
    loss: str = "squared_epsilon_insensitive"

    C = 1.0  # until one is chosen

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        tasks: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Select the hyperparameters, and fit the model.

        Parameters
        ----------
        X, y, tasks, sample_weight
            As in :meth:`MultiTaskSVR.fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are no targets, lengths differ, or numbers are NaN or infinite.
        """
        from seqmtl.adaptation.few_labels import train_with_few

        examples, settings = self._read(X, y, tasks, sample_weight)
        space = search_space(self, examples.names)
        mean = float(np.average(examples.y, weights=examples.weight)) if self.fit_intercept else 0.0
        features, site = feature_map(self.features), None
        if isinstance(examples.data, Windows):
            features, site = features or PositionalKmers(), site_told_by(examples.data)
        examples = replace(examples, y=examples.y - mean)
        model, solution = train_with_few(
            examples, space, features=features, settings=settings, site=site
        )
        model.bias += mean
        store_fit(self, model, solution)
        return self
