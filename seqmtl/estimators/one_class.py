"""Detection of novelties for several tasks by one-class support vector machines."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from seqmtl._checks import is_number
from seqmtl.estimators._base import (
    LinearEstimator,
    score_examples,
    store_fit,
    task_names,
    training_settings,
)
from seqmtl.estimators._examples import check_X, feature_map, gather_examples, plain_examples
from seqmtl.training.fit import fit


@dataclass(eq=False, repr=False)
class MultiTaskOneClassSVM(OutlierMixin, LinearEstimator):
    """One-class support vector machine for several related tasks, for strings or numbers.

    Solves min 1/2 sum_{s,t} Q[s,t] <w_s, w_t> + sum_i C max(0, 1 - f_{t_i}(x_i)) without an
    intercept, where Q is the inverse of the task kernel. Training examples are pushed to f >= 1,
    away from the origin of the feature space, which has nothing in common with them. The solver
    is that of :class:`~seqmtl.MultiTaskSVC` with all labels +1.

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
        Cost of a training example with f < 1. With smaller C more examples contribute, in the
        limit all equally: f is then proportional to the mean similarity to them. The default
        string features have squared norms of about 1; with C clearly above 1, no training
        example is then below 1.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_epochs : int, default=1000
        Maximum number of passes over the training data; a warning is given if it is reached.
    dtype : {"float32", "float64"} or the NumPy type, optional
        Type of the weights. Default: float32 for strings, float64 for numbers.
    random_state : int or RandomState, default=0
        Seed of the visiting order.
    norm : float, optional
        p of the p-norm on kernel weights, which are then learnt; see :class:`MultiTaskSVR`.
    contamination : float, default=0.1
        Share of the training examples of each task to be classified as outliers, in (0, 0.5].

    Attributes
    ----------
    offset_ : ndarray, shape (n_tasks,)
        Threshold on f of every task: ``decision_function = score_samples - offset_[task]``.
    tasks_ : tuple of str
        Tasks, sorted by name.
    task_kernel_ : TaskKernel
        Task kernel.
    coef_ : ndarray, shape (n_tasks, n_features)
        Weights.
    intercept_ : ndarray, shape (n_tasks,)
        Zeros.
    dual_coef_ : ndarray, shape (n,)
        Dual variables alpha.
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

    Notes
    -----
    The margin f = 1 is a poor threshold: the number of examples below it depends on C, and support
    vectors lie on it up to rounding. The threshold of a task is therefore the `contamination`
    quantile of its training scores, as in scikit-learn's ``IsolationForest``. With many features,
    training examples score higher than new ones, so more than `contamination` of the new ones are
    classified as outliers. A smaller C helps, as does a quantile of `score_samples` on held-out
    examples.

    There is no intercept, so numbers should be positive or lie on one side of the origin.

    Examples
    --------
    >>> from seqmtl import MultiTaskOneClassSVM
    >>> X = [[2.0, 1.0], [2.1, 0.9], [1.9, 1.2], [2.2, 1.1]]
    >>> novelty = MultiTaskOneClassSVM(contamination=0.25).fit(X)
    >>> novelty.predict([[2.0, 1.1], [0.2, -1.0]])
    array([ 1, -1])
    """

    C: float = 1.0
    _: KW_ONLY
    norm: float | None = None
    contamination: float = 0.1

    def fit(self, X: Any, y: Any = None, tasks: Any = None) -> Self:  # type: ignore[override]
        """Fit the model to examples of the one class.

        Parameters
        ----------
        X : Windows, TaskArray, sequence of str, or array_like or sparse matrix of shape (n, d)
            Examples; strings are sequences, of one length unless no feature needs positions.
        y : ignored
            Present for compatibility with scikit-learn.
        tasks : sequence of str, shape (n,), optional
            Task of every example. Default: the tasks that `X` carries, or else a single task.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `contamination` is out of range, lengths differ, or numbers are NaN or infinite.
        """
        share = self.contamination
        if not (is_number(share) and 0 < share <= 0.5):
            raise ValueError(f"contamination must be a number in (0, 0.5], got {share!r}")
        X, tasks = plain_examples(X, tasks)
        X = check_X(self, X, reset=True)
        examples = gather_examples(X, np.ones(X.shape[0]), tasks, None)
        settings = training_settings(self, X, kind="novelty", fit_intercept=False)
        features = feature_map(self.features)
        model, solution = fit(examples, self.task_kernel, features=features, settings=settings)
        store_fit(self, model, solution)
        scores = self.model_.decision_function(X, [examples.names[t] for t in examples.ids])
        for t, calibration in enumerate(self.model_.calibration):
            calibration[0] = np.quantile(scores[examples.ids == t], share)
        return self

    @property
    def offset_(self) -> NDArray[np.float64]:
        """Threshold on f of every task, shape (n_tasks,)."""
        if not hasattr(self, "model_"):
            raise AttributeError("offset_ is available after fit")
        return self.model_.calibration[:, 0]

    def score_samples(self, X: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Return f of every example; low values are unlike the training examples.

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

    def decision_function(self, X: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Return f minus the threshold of the task; outliers are negative.

        The parameters are those of :meth:`score_samples`.
        """
        scores = self.score_samples(X, tasks)
        return scores - self.model_.offsets(task_names(self, X, tasks, scores.size))

    def predict(self, X: Any, tasks: Any = None) -> NDArray[np.int64]:
        """Return -1 for outliers and +1 for inliers; parameters as in :meth:`score_samples`."""
        return np.where(self.decision_function(X, tasks) < 0, -1, 1)

    def fit_predict(self, X: Any, y: Any = None, tasks: Any = None) -> NDArray[np.int64]:
        """Fit the model and classify the training examples; parameters as in :meth:`fit`."""
        return self.fit(X, tasks=tasks).predict(X, tasks)
