"""Base classes of the classifiers: class signs, probabilities, accuracy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets

from seqmtl.estimators._base import ExampleReader, MultiTaskEstimator
from seqmtl.models.examples import Examples
from seqmtl.sequences import Windows
from seqmtl.sequences.task_array import split_tasks


class TaskClassifier(ClassifierMixin, ExampleReader):
    """Base class of all classifiers; a subclass implements `_fit_classes` and `_scores`."""

    class_weight: Any

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
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : Windows, TaskArray, array_like or sparse matrix of shape (n, d)
            Examples.
        y : array_like, shape (n,)
            Classes, two of them. Optional for windows with labels.
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
            If a task lacks a class, lengths differ, or numbers are NaN or infinite.
        """
        self._fit_classes(self._read(X, y, tasks, sample_weight))
        return self

    def decision_function(self, X: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Score examples.

        Parameters
        ----------
        X : Windows, TaskArray, array_like or sparse matrix of shape (n, d)
            Examples.
        tasks : str or sequence of str, optional
            Task of every example, or one for all. Default: the tasks that `X` carries, or the
            only task.

        Returns
        -------
        ndarray of float64, shape (n,)
            Positive for ``classes_[1]``.

        Raises
        ------
        UnknownTaskError
            If the model was not trained on a task (and `from_relatives` is False).
        """
        return self._scores(X, tasks)

    def predict(self, X: Any, tasks: Any = None) -> NDArray[Any]:
        """Predict classes; the parameters are those of :meth:`decision_function`."""
        scores = self.decision_function(X, tasks)
        return self.classes_[(scores > 0).astype(int)]

    def score(
        self, X: Any, y: ArrayLike, tasks: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy; the parameters are those of :meth:`fit`."""
        return float(accuracy_score(y, self.predict(X, tasks), sample_weight=sample_weight))

    def _read(self, X: Any, y: Any, tasks: Any, sample_weight: Any) -> Examples:
        """Return validated examples, and set `classes_`."""
        X, tasks = split_tasks(X, tasks)
        if y is None and isinstance(X, Windows):
            y = X.labels
        X, y = self._check_X_y(X, y, numeric=False)
        check_classification_targets(y)
        examples = self._gather(X, y, tasks, sample_weight)
        self.classes_ = np.unique(examples.y)
        self._check_classes()
        return examples

    def _check_classes(self) -> None:
        if self.classes_.size == 2:
            return
        if self.classes_.size < 2:
            raise ValueError(
                "y must have two classes, but the data contains only one class: "
                f"{self.classes_.tolist()[0]!r}"
            )
        raise ValueError(
            f"Only binary classification is supported. The type of the target is multiclass "
            f"({self.classes_.size} classes)."
        )

    def _class_weight(self) -> Any:
        """Return the class weights with +1 and -1 for the classes."""
        weight = self.class_weight
        if not isinstance(weight, dict):
            return weight
        return {1: weight.get(self.classes_[1], 1.0), -1: weight.get(self.classes_[0], 1.0)}

    def _signs(self, examples: Examples) -> Examples:
        """Return the examples with their two classes as -1 and +1."""
        return replace(examples, y=np.where(examples.y == self.classes_[1], 1.0, -1.0))

    def _fit_classes(self, examples: Examples) -> None:
        """Train on examples with validated classes."""
        raise NotImplementedError

    def _scores(self, X: Any, tasks: Any) -> NDArray[np.float64]:
        """Return f(x) of every example."""
        raise NotImplementedError


class MultiTaskClassifier(MultiTaskEstimator, TaskClassifier):
    """Base class of the classifiers on features."""

    loss: str
    fit_intercept: bool

    def _fit_classes(self, examples: Examples) -> None:
        settings = self._settings(
            examples.data,
            loss=self.loss,
            class_weight=self._class_weight(),
            fit_intercept=self.fit_intercept,
        )
        self._fit(self._signs(examples), settings)

    def predict_proba(self, X: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Predict class probabilities, shape (n, 2), with one sigmoid per task.

        The sigmoids are fitted during training to approximate leave-one-out scores, so they assume
        the class frequencies of the training data. The parameters are those of
        :meth:`decision_function`.
        """
        scores = self.decision_function(X, tasks)
        positive = self.model_.probability(scores, self._task_names(X, tasks, scores.size))
        return np.column_stack([1.0 - positive, positive])
