"""Base classes of the estimators: examples and tasks, settings, training, classes, scores."""

from __future__ import annotations

import os
import warnings
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_is_fitted,
    validate_data,
)

from seqmtl._names import check_distinct
from seqmtl.core.dcd import Solution
from seqmtl.features.joint import JointFeatures
from seqmtl.features.numeric import Numeric
from seqmtl.models.examples import Examples
from seqmtl.models.fit import train
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.training import Settings
from seqmtl.sequences import Windows
from seqmtl.sequences.task_array import split_tasks
from seqmtl.sequences.windows import name_table

_MATRIX: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": np.float64,
}


class ExampleReader(BaseEstimator):
    """Base class of all estimators: validation of examples and tasks.

    Subclasses are dataclasses, whose fields are the parameters.
    """

    random_state: Any

    def _check_X_y(self, X: Any, y: Any, *, numeric: bool) -> tuple[Any, NDArray[Any]]:  # noqa: N802
        """Return validated examples and targets, as float64 if `numeric`."""
        X = as_windows(X)
        if not isinstance(X, Windows):
            X, y = validate_data(self, X, y, y_numeric=numeric, **_MATRIX)
            return X, y.astype(np.float64, copy=False) if numeric else y
        if y is None:
            raise ValueError("y must be given: sequences and windows carry no targets")
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y") if numeric else y
        y = np.asarray(y)
        if y.shape != (len(X),):
            raise ValueError(f"y must have one label per window ({len(X)}), got {y.shape}")
        return self._check_X(X, reset=True), y

    def _check_X(self, X: Any, *, reset: bool) -> Any:  # noqa: N802
        X = as_windows(X)
        if not isinstance(X, Windows):
            return validate_data(self, X, reset=reset, **_MATRIX)
        if reset:
            self.n_features_in_ = X.length
        return X

    def _gather(self, X: Any, y: NDArray[Any], tasks: Any, sample_weight: Any) -> Examples:
        """Return validated examples with their tasks as indices, without those of weight 0."""
        names, ids = _number_tasks(X, tasks)
        if sample_weight is None:
            return Examples(X, y, ids, names)
        weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        used = np.flatnonzero(weight)
        return Examples(X[used], y[used], ids[used], names, weight[used])

    def _seed(self) -> int:
        """Return the seed that follows from `random_state`."""
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        return int(seed)


@dataclass(eq=False, repr=False)
class FeatureParameters:
    """Parameters that all estimators on feature maps have."""

    features: Any = None
    _: KW_ONLY
    tol: float = 1e-3
    max_epochs: int = 1000
    dtype: Any = None
    random_state: Any = 0


class MultiTaskEstimator(ExampleReader):
    """Base class of the estimators on features: `fit` makes the settings and calls `_fit`.

    A subclass with another training algorithm overrides `_train`.
    """

    features: Any
    task_kernel: Any
    C: float
    tol: float
    max_epochs: int
    dtype: Any

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def coef_(self) -> NDArray[Any]:
        """Weights of the tasks, shape (n_tasks, n_features)."""
        if not hasattr(self, "model_"):
            raise AttributeError("coef_ is available after fit")
        return np.asarray(self.model_.W).T

    def _settings(self, X: Any, **options: Any) -> Settings:
        """Return the settings common to all estimators, together with `options`."""
        dtype = self.dtype
        if dtype is None:
            dtype = "float32" if isinstance(X, Windows) else "float64"
        return Settings(
            C=self.C,
            tol=self.tol,
            max_epochs=self.max_epochs,
            dtype=dtype,
            seed=self._seed(),
            **options,
        )

    def _fit(self, examples: Examples, settings: Settings) -> None:
        """Train, and set the fitted attributes that all estimators have."""
        self.model_, solution = self._train(examples, settings)
        self.tasks_, self.task_kernel_ = self.model_.tasks, self.model_.kernel
        self.intercept_ = self.model_.bias.copy()
        self.dual_coef_ = solution.alpha
        self.dual_gap_, self.n_iter_ = solution.gap, solution.n_epochs
        self.history_ = self.model_.training["history"]
        if settings.norm is not None:
            self.theta_: NDArray[np.float64] = solution.theta
            self.kernel_weights_: list[dict[str, Any]] = self.model_.training["mkl"]
        if not solution.converged:
            warnings.warn(
                f"stopped after {solution.n_epochs} epochs at a relative duality gap of "
                f"{solution.gap:.1e} (tol={self.tol:g}); raise max_epochs or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _train(self, examples: Examples, settings: Settings) -> tuple[MultiTaskModel, Solution]:
        return self._train_model(examples, settings, task_kernel=self.task_kernel)

    def _train_model(
        self, examples: Examples, settings: Settings, **options: Any
    ) -> tuple[MultiTaskModel, Solution]:
        return train(examples, features=self._features(examples.data), settings=settings, **options)

    def _features(self, X: Any) -> Any:
        if isinstance(self.features, (list, tuple)):
            return JointFeatures(list(self.features))
        if self.features is None and not isinstance(X, Windows):
            return Numeric()
        return self.features

    def _scores(self, X: Any, tasks: Any) -> NDArray[np.float64]:
        """Return f(x) of every example."""
        check_is_fitted(self)
        X, tasks = split_tasks(X, tasks)
        X = self._check_X(X, reset=False)
        tasks = self._known_task(X, tasks)
        return self.model_.decision_function(X, tasks)

    def _known_task(self, X: Any, tasks: Any) -> Any:
        """Assign windows without organisms to the only task of the model."""
        if tasks is None and isinstance(X, Windows) and len(self.model_.tasks) == 1:
            return self.model_.tasks[0] if X.task_names == ("task",) else None
        return tasks

    def _task_names(self, X: Any, tasks: Any, n: int) -> list[str]:
        """Return the task of each of n scored examples."""
        X, tasks = split_tasks(X, tasks)
        names = self._known_task(X, tasks)
        if names is None:
            names = X.tasks if isinstance(X, Windows) else self.tasks_[0]
        return [names] * n if isinstance(names, str) else [str(name) for name in names]


def as_windows(X: Any) -> Any:
    """Return sequences as windows, and other examples as they are.

    Raises
    ------
    ValueError
        If X is the name of a file, has masked numbers, or the sequences differ in length.
    """
    if isinstance(X, (str, os.PathLike)):
        raise ValueError(
            f"X must be Windows, sequences or numbers, got a path; use read_windows({str(X)!r})"
        )
    if np.ma.is_masked(X):
        raise ValueError("X must have no masked numbers; fill them in or leave the examples out")
    texts = as_texts(X)
    return X if texts is None else Windows.from_strings(texts.tolist())


def as_texts(X: Any) -> NDArray[Any] | None:
    """Return a list or a column of texts as an array, shape (n,), or None if X is none.

    Raises
    ------
    ValueError
        If the first is a text, but not all are.
    """
    if isinstance(X, Windows) or hasattr(X, "tocsr"):
        return None
    if isinstance(X, (list, tuple)):
        first = X[0] if X else None
        while isinstance(first, (list, tuple, np.ndarray)) and len(first) == 1:
            first = first[0]
        if not isinstance(first, (str, bytes)):
            return None
    elif not hasattr(X, "__array__"):
        return None
    texts = np.asarray(X)
    if texts.dtype.kind not in "OSTU" or texts.shape not in {(texts.size,), (texts.size, 1)}:
        return None
    column = texts.reshape(-1).astype(object)
    is_text = [isinstance(value, (str, bytes)) for value in column]
    if not is_text[:1] or not is_text[0] or _is_number(column[0]):
        return None
    if not all(is_text):
        i = is_text.index(False)
        raise ValueError(
            f"X must hold sequences, got {column[i]!r} for example {i}; leave the example out"
        )
    return np.array([v.decode("latin-1") if isinstance(v, bytes) else v for v in column])


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _checked_names(tasks: Any) -> list[Any]:
    """Raise ValueError for missing tasks; None and NaN would otherwise be tasks of their own."""
    names = list(tasks)
    missing = next((i for i, name in enumerate(names) if _is_missing(name)), None)
    if missing is not None:
        raise ValueError(
            f"tasks must name the task of every example, got {names[missing]!r} for example "
            f"{missing}; fill it in or leave the example out"
        )
    return names


def _is_missing(name: Any) -> bool:
    """Tell whether a name is None, NaN, or the NA of pandas, which is not even a truth value."""
    try:
        return name is None or bool(name != name)
    except TypeError:
        return True


def _number_tasks(X: Any, tasks: Any) -> tuple[tuple[str, ...], NDArray[np.int16]]:
    """Return the sorted task names and the task index of every example."""
    if tasks is None:
        tasks = X.tasks if isinstance(X, Windows) else np.full(X.shape[0], "task")
    else:
        tasks = _checked_names(tasks)
    found, ids = name_table(tasks)
    if isinstance(X, Windows):
        check_distinct(found)
    if ids.size != X.shape[0]:
        raise ValueError(
            f"tasks must have one entry per example ({X.shape[0]}), got {ids.size}; for "
            "cross-validation use a TaskArray or Windows, which carry them"
        )
    order = sorted(range(len(found)), key=found.__getitem__)
    rank = np.argsort(order).astype(np.int16)
    return tuple(found[i] for i in order), rank[ids]


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
        X : Windows, TaskArray, sequence of str, or array_like or sparse matrix of shape (n, d)
            Examples; strings are sequences of equal length.
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
        X : Windows, TaskArray, sequence of str, or array_like or sparse matrix of shape (n, d)
            Examples; strings are sequences of equal length.
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
            If the task kernel lacks a task.
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
        classes = self.classes_.tolist()
        if unknown := [name for name in weight if name not in classes]:
            raise ValueError(
                f"class_weight must be for the classes of y, {classes}, got {unknown[0]!r}; "
                "correct it"
            )
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
