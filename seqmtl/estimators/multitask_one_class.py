"""The multi-task one-class SVM as a scikit-learn outlier detector."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin

from seqmtl.estimators._base import MultiTaskEstimator
from seqmtl.sequences.task_array import split_tasks


class MultiTaskOneClassSVM(OutlierMixin, MultiTaskEstimator):
    """One-class support vector machine for several related tasks, over strings or numbers.

    Solves min 1/2 sum_{s,t} Q[s,t] <w_s, w_t> + sum_i C max(0, 1 - f_{t_i}(x_i)) with Q the
    inverse of the task kernel and no intercept: examples of the one class are kept at f >= 1,
    away from the origin of the feature space, where what has nothing in common with them lies.
    The solver is that of :class:`~seqmtl.MultiTaskSVC` with every label +1.

    Parameters
    ----------
    features : FeatureDefinition, optional
        How to see the examples. Default: ``WeightedDegree()`` for :class:`~seqmtl.Windows`, the
        numbers themselves for matrices.
    task_kernel : TaskKernel, {"independent", "union", "easy"} or array, optional
        Similarity of the tasks; an array is in the order of the sorted task names. Default:
        K = (11' + 3 I) / 4, a quarter in common.
    C : float, default=1.0
        Cost of a training example with f < 1. The smaller, the more examples count, all alike
        in the end: f is then proportional to the mean similarity to them. With string features
        of norm 1, the default, C >= 1 leaves no training example below 1.
    contamination : float, default=0.1
        Share of the training examples of each task that shall count as outliers, in (0, 0.5].
    tol : float, default=1e-3
        Relative duality gap to stop at.
    max_epochs : int, default=1000
        Epochs at most; a warning is given if they do not suffice.
    dtype : {"float32", "float64"}, optional
        Of the weights. Default: float32 for strings, float64 for numbers.
    random_state : int or RandomState, default=0
        Visiting order.
    from_relatives : bool, default=False
        Judge tasks without training data by their relatives in the task kernel, instead of
        refusing them.

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
        Relative duality gap reached.
    n_iter_ : int
        Epochs.
    history_ : list of dict
        Epoch, work, gap and active examples at every look at the whole problem.
    model_ : MultiTaskModel
        The model without scikit-learn around it; ``model_.save(path)`` keeps it.
    n_features_in_ : int
        Numbers, or bases, per example.

    Notes
    -----
    The margin f = 1 itself is a poor threshold: how many examples lie below it depends on C, and
    support vectors lie on it, on this side or that by rounding. The threshold of a task is
    therefore the quantile `contamination` of the scores of its training examples, as in
    scikit-learn's ``IsolationForest``. With many features training examples score higher than new
    ones, and more of the new ones than `contamination` are told to be outliers; a smaller C helps,
    or a quantile of `score_samples` of held-out examples.

    Numbers should be positive, or lie to one side of the origin: there is no intercept.

    Examples
    --------
    >>> from seqmtl import MultiTaskOneClassSVM
    >>> X = [[2.0, 1.0], [2.1, 0.9], [1.9, 1.2], [2.2, 1.1]]
    >>> novelty = MultiTaskOneClassSVM(contamination=0.25).fit(X)
    >>> novelty.predict([[2.0, 1.1], [0.2, -1.0]])
    array([ 1, -1])
    """

    def __init__(  # noqa: PLR0913
        self,
        features: Any = None,
        task_kernel: Any = None,
        C: float = 1.0,
        contamination: float = 0.1,
        tol: float = 1e-3,
        max_epochs: int = 1000,
        dtype: str | None = None,
        random_state: Any = 0,
        from_relatives: bool = False,
    ) -> None:
        self.features = features
        self.task_kernel = task_kernel
        self.C = C
        self.contamination = contamination
        self.tol = tol
        self.max_epochs = max_epochs
        self.dtype = dtype
        self.random_state = random_state
        self.from_relatives = from_relatives

    def fit(self, X: Any, y: Any = None, tasks: Any = None) -> MultiTaskOneClassSVM:
        """Train on examples of the one class.

        Parameters
        ----------
        X : Windows, TaskArray, array_like or sparse matrix of shape (n, d)
            Examples.
        y : ignored
            There for scikit-learn's sake.
        tasks : sequence of str, shape (n,), optional
            Task of every example. Default: what `X` carries, else one task.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `contamination` is out of range, lengths differ, or numbers are NaN or infinite.
        """
        share = self.contamination
        if not (isinstance(share, numbers.Real) and 0 < float(share) <= 0.5):
            raise ValueError(f"contamination must be a number in (0, 0.5], got {share!r}")
        X, tasks = split_tasks(X, tasks)
        X = self._check_X(X, reset=True)
        examples = self._gather(X, np.ones(X.shape[0]), tasks, None)
        self._fit(examples, self._settings(X, kind="novelty", fit_intercept=False))
        scores = self.model_.decision_function(X, [examples.names[t] for t in examples.ids])
        for t, calibration in enumerate(self.model_.calibration):
            calibration[0] = np.quantile(scores[examples.ids == t], share)
        return self

    @property
    def offset_(self) -> NDArray[np.float64]:
        """Threshold on f of every task, shape (n_tasks,)."""
        if not hasattr(self, "model_"):
            raise AttributeError("offset_ is known after fit")
        return self.model_.calibration[:, 0]

    def score_samples(self, X: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Return f of every example: the lower, the less it is like the training examples.

        Parameters
        ----------
        X : Windows, TaskArray, array_like or sparse matrix of shape (n, d)
            Examples.
        tasks : str or sequence of str, optional
            Task of every example, or one for all. Default: what `X` carries, or the only task.

        Returns
        -------
        ndarray of float64, shape (n,)

        Raises
        ------
        UnknownTaskError
            If a task was not trained on (and `from_relatives` is False).
        """
        return self._scores(X, tasks)

    def decision_function(self, X: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Return f minus the threshold of the task, negative for outliers.

        Parameters as in :meth:`score_samples`.
        """
        scores = self.score_samples(X, tasks)
        return scores - self.model_.offsets(self._task_names(X, tasks, scores.size))

    def predict(self, X: Any, tasks: Any = None) -> NDArray[np.int64]:
        """Return -1 for outliers and +1 for the others; parameters as in :meth:`score_samples`."""
        return np.where(self.decision_function(X, tasks) < 0, -1, 1)

    def fit_predict(self, X: Any, y: Any = None, tasks: Any = None) -> NDArray[np.int64]:
        """Train and judge the training examples; parameters as in :meth:`fit`."""
        return self.fit(X, tasks=tasks).predict(X, tasks)
