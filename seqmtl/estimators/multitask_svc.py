"""The multi-task SVM as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets

from seqmtl.estimators._base import MultiTaskEstimator
from seqmtl.sequences import Windows
from seqmtl.solvers.dcd import State


class MultiTaskSVC(ClassifierMixin, MultiTaskEstimator):
    """Support vector machine for several related tasks, over strings or numbers.

    Solves min 1/2 sum_{s,t} Q[s,t] <w_s, w_t> + sum_i C_i loss(y_i f_{t_i}(x_i)) with Q the
    inverse of the task kernel, by dual coordinate descent to a certified duality gap (Widmer,
    Kloft, Goernitz, Raetsch 2012, eq. 8). With one task it is the plain linear SVM.

    Parameters
    ----------
    features : FeatureDefinition, optional
        How to see the examples. Default: ``WeightedDegree()`` for :class:`~seqmtl.Windows`, the
        numbers themselves for matrices.
    task_kernel : TaskKernel, {"independent", "union", "easy"} or array, optional
        Similarity of the tasks; an array is in the order of the sorted task names. Default:
        K = (11' + 3 I) / 4, a quarter in common.
    C : float, default=1.0
        Cost of errors.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        Loss.
    class_weight : dict or "balanced", optional
        Factors on C by class.
    fit_intercept : bool, default=True
        Append a constant feature, regularised and coupled like any other.
    tol : float, default=1e-3
        Relative duality gap to stop at.
    max_epochs : int, default=1000
        Epochs at most; a warning is given if they do not suffice.
    dtype : {"float32", "float64"}, optional
        Of the weights. Default: float32 for strings, float64 for numbers.
    random_state : int or RandomState, default=0
        Visiting order.
    warm_start : bool, default=False
        Start from the dual variables of the last fit; rows may have been added at the end.
    from_relatives : bool, default=False
        Predict tasks without training data by their relatives in the task kernel, instead of
        refusing them.

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
        Relative duality gap reached.
    n_iter_ : int
        Epochs.
    history_ : list of dict
        Epoch, work, gap and active examples at every look at the whole problem.
    model_ : MultiTaskModel
        The model without scikit-learn around it; ``model_.save(path)`` keeps it.
    n_features_in_ : int
        Numbers, or bases, per example.

    Examples
    --------
    >>> from seqmtl import MultiTaskSVC
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [0.2, 0.9], [0.8, 0.1]], [0, 1, 0, 1]
    >>> MultiTaskSVC().fit(X, y, tasks=["a", "a", "b", "b"]).predict([[0.9, 0.2]], tasks=["b"])
    array([1])
    """

    def __init__(  # noqa: PLR0913
        self,
        features: Any = None,
        task_kernel: Any = None,
        C: float = 1.0,
        loss: str = "hinge",
        class_weight: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_epochs: int = 1000,
        dtype: str | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        from_relatives: bool = False,
    ) -> None:
        self.features = features
        self.task_kernel = task_kernel
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_epochs = max_epochs
        self.dtype = dtype
        self.random_state = random_state
        self.warm_start = warm_start
        self.from_relatives = from_relatives

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        tasks: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> MultiTaskSVC:
        """Train.

        Parameters
        ----------
        X : Windows, array_like or sparse matrix of shape (n, d)
            Examples.
        y : array_like, shape (n,)
            Two classes. Windows may carry them instead.
        tasks : sequence of str, shape (n,), optional
            Task of every example. Default: what Windows carry, else one task.
        sample_weight : array_like, shape (n,), optional
            Factors on C; rows of weight 0 are left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a task lacks a class, lengths differ, or numbers are NaN or infinite.
        """
        if y is None and isinstance(X, Windows):
            y = X.labels
        X, y = self._check_X_y(X, y, numeric=False)
        check_classification_targets(y)
        examples = self._gather(X, y, tasks, sample_weight)
        self.classes_ = np.unique(examples.y)
        self._check_classes()
        signs = np.where(examples.y == self.classes_[1], 1.0, -1.0)
        settings = self._settings(
            X, loss=self.loss, class_weight=self._class_weight(), fit_intercept=self.fit_intercept
        )
        self._fit(examples._replace(y=signs), settings)
        self._C = float(self.C)
        return self

    def decision_function(self, X: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Score examples.

        Parameters
        ----------
        X : Windows, array_like or sparse matrix of shape (n, d)
            Examples.
        tasks : str or sequence of str, optional
            Task of every example, or one for all. Default: what Windows carry, or the only task.

        Returns
        -------
        ndarray of float64, shape (n,)
            Positive for ``classes_[1]``.

        Raises
        ------
        UnknownTaskError
            If a task was not trained on (and `from_relatives` is False).
        """
        return self._scores(X, tasks)

    def predict(self, X: Any, tasks: Any = None) -> NDArray[Any]:
        """Predict classes; parameters as in :meth:`decision_function`."""
        scores = self.decision_function(X, tasks)
        return self.classes_[(scores > 0).astype(int)]

    def predict_proba(self, X: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Predict class probabilities, shape (n, 2), by a sigmoid per task.

        The sigmoids are fitted in training on approximate leave-one-out scores, at the class
        frequencies of the training data. Parameters as in :meth:`decision_function`.
        """
        scores = self.decision_function(X, tasks)
        positive = self.model_.probability(scores, self._task_names(X, tasks, scores.size))
        return np.column_stack([1.0 - positive, positive])

    def score(
        self, X: Any, y: ArrayLike, tasks: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy; parameters as in :meth:`fit`."""
        return float(accuracy_score(y, self.predict(X, tasks), sample_weight=sample_weight))

    def _check_classes(self) -> None:
        if self.classes_.size == 2:
            return
        if self.classes_.size < 2:
            raise ValueError(
                "y must have two classes to be told apart, but the data contains only one class: "
                f"{self.classes_[0]!r}"
            )
        raise ValueError(
            f"Only binary classification is supported. The type of the target is multiclass "
            f"({self.classes_.size} classes)."
        )

    def _class_weight(self) -> Any:
        """Return the class weights with the classes called +1 and -1."""
        weight = self.class_weight
        if not isinstance(weight, dict):
            return weight
        return {1: weight.get(self.classes_[1], 1.0), -1: weight.get(self.classes_[0], 1.0)}

    def _start(self, n: int, seed: int) -> State | None:
        """Scale the dual variables of the last fit to the new C."""
        last = getattr(self, "dual_coef_", None)
        if not self.warm_start or last is None or last.size > n:
            return None
        alpha = np.zeros(n)
        alpha[: last.size] = last * (self.C / self._C)
        return State(alpha, np.arange(n), np.random.default_rng(seed))
