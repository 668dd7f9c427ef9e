"""What the estimators on features share: settings, fitted attributes, scores, and `fit`."""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from seqmtl.core.dcd import Solution
from seqmtl.estimators._examples import (
    check_X,
    classification_examples,
    feature_map,
    plain_examples,
    seed_of,
    signed_class_weight,
    with_signs,
)
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences import Windows
from seqmtl.sequences.examples import Examples
from seqmtl.training.fit import fit
from seqmtl.training.settings import Settings
from seqmtl.training.task_kernels import resolve_kernel

if TYPE_CHECKING:
    from seqmtl.training.selection import SearchSpace


@dataclass(eq=False, repr=False)
class LinearEstimator(BaseEstimator):
    """Base class of the estimators on features, with the parameters of all; see subclasses."""

    features: Any = None
    task_kernel: Any = None
    _: KW_ONLY
    tol: float = 1e-3
    max_epochs: int = 1000
    dtype: Any = None
    random_state: Any = 0

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
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
            Examples; strings are sequences, of one length unless no feature needs positions.
        y : array_like, shape (n,)
            Classes, two of them, or targets. Classes are optional for windows with labels.
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
            If a task lacks a class, there are no targets, lengths differ, or numbers are NaN or
            infinite.
        """
        examples, settings = self._read(X, y, tasks, sample_weight)
        features = feature_map(self.features)
        model, solution = fit(examples, self.task_kernel, features=features, settings=settings)
        store_fit(self, model, solution)
        return self

    def _read(self, X: Any, y: Any, tasks: Any, sample_weight: Any) -> tuple[Examples, Settings]:
        """Return validated examples and the settings."""
        raise NotImplementedError

    @property
    def coef_(self) -> NDArray[Any]:
        """Weights of the tasks, shape (n_tasks, n_features)."""
        if not hasattr(self, "model_"):
            raise AttributeError("coef_ is available after fit")
        return np.asarray(self.model_.W).T

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return what each column of `coef_` counts.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of columns of numbers. Default: those of the data frame in `fit`, or x0, x1, ...

        Returns
        -------
        ndarray of str, shape (n_features,)
            ``ACG@-2`` is a k-mer whose first base is at -2, where 0 is the first base of the site
            or else the middle, ``ACG@-4..0`` one in a bin of positions, 0-based half-open. ``ACG``
            is anywhere; unless stranded, the first of it and its reverse complement by alphabet
            counts both, and the other nothing. Names of several maps begin with the number of the
            map: ``1:ACG``.

        Raises
        ------
        AttributeError
            Before fit.
        ValueError
            If `input_features` are not the names of `fit`.
        SeqmtlError
            If features are hashed.
        """
        if not hasattr(self, "model_"):
            raise AttributeError("get_feature_names_out is available after fit")
        model = self.model_
        if model.features.kind == "numeric":
            return np.asarray(_check_feature_names_in(self, input_features))
        return np.asarray(model.features.feature_names(model.length), dtype=object)


def training_settings(estimator: Any, data: Any, **options: Any) -> Settings:
    """Return the parameters of an estimator that are settings, replaced by `options`."""
    names = {field.name for field in fields(Settings)} & estimator.get_params().keys()
    chosen = {name: getattr(estimator, name) for name in ("C", *names)}
    if estimator.dtype is None:
        chosen["dtype"] = "float32" if isinstance(data, Windows) else "float64"
    return Settings(**chosen | {"seed": seed_of(estimator.random_state)} | options)


def store_fit(estimator: Any, model: MultiTaskModel, solution: Solution) -> None:
    """Set the fitted attributes that all estimators on features have; called by `fit`."""
    estimator.model_ = model
    estimator.tasks_, estimator.task_kernel_ = model.tasks, model.kernel
    estimator.intercept_ = model.bias.copy()
    estimator.dual_coef_ = solution.alpha
    estimator.dual_gap_ = solution.gap
    estimator.n_iter_ = max(math.ceil(solution.work), 1)  # few examples are solved before
    estimator.history_ = model.training["history"]
    if "selection" in model.training:
        estimator.selection_ = model.training["selection"]
        estimator.C_ = model.training["settings"]["C"]
    if "mkl" in model.training:
        estimator.theta_ = solution.theta
        estimator.kernel_weights_ = model.training["mkl"]
    if not solution.converged:
        dtype, remedy = model.training["settings"]["dtype"], "raise max_epochs or tol"
        if solution.stopped_by == "rounding":
            other = "give dtype='float64', or " if dtype == "float32" else ""
            remedy = f"{dtype} weights allow no smaller gap, so {other}raise tol"
        warnings.warn(
            f"stopped after {solution.work:.1f} passes over the training data at a relative "
            f"duality gap of {solution.gap:.1e} (tol={estimator.tol:g}); {remedy}",
            ConvergenceWarning,
            stacklevel=3,
        )


def search_space(estimator: Any, names: tuple[str, ...]) -> SearchSpace:
    """Return the search space of an estimator that selects what tasks share, and their costs.

    Raises
    ------
    ValueError
        If there is no cost, or one is out of range.
    """
    from seqmtl.training.selection import SearchSpace

    relation, costs = estimator.task_kernel, estimator.costs
    is_list = hasattr(costs, "__iter__") and not isinstance(costs, str)
    if not is_list or not [*costs]:
        raise ValueError(f"costs must hold at least one cost to choose from, got {costs!r}")
    relation = None if relation is None else resolve_kernel(relation, names)
    return SearchSpace.of_sharing(names, relation, tuple(costs))


def model_and_examples(estimator: Any, X: Any, tasks: Any) -> tuple[MultiTaskModel, Any, Any]:
    """Return the model, examples as it takes them, and the tasks that are given."""
    check_is_fitted(estimator)
    X, tasks = plain_examples(X, tasks)
    return estimator.model_, check_X(estimator, X, reset=False), tasks


@dataclass(eq=False, repr=False)
class MultiTaskClassifier(ClassifierMixin, LinearEstimator):
    """Base class of the classifiers on features."""

    _: KW_ONLY
    loss: str = "hinge"
    class_weight: Any = None
    fit_intercept: bool = True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _read(self, X: Any, y: Any, tasks: Any, sample_weight: Any) -> tuple[Examples, Settings]:
        """Return examples with labels -1 and +1, and the settings."""
        examples = classification_examples(self, X, y, tasks, sample_weight)
        weight = signed_class_weight(self.class_weight, self.classes_)
        settings = training_settings(self, examples.data, class_weight=weight)
        return with_signs(examples, self.classes_), settings

    def decision_function(self, X: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Score examples.

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
            Positive for ``classes_[1]``.

        Raises
        ------
        UnknownTaskError
            If the task kernel lacks a task.
        """
        model, X, tasks = model_and_examples(self, X, tasks)
        return model.decision_function(X, tasks)

    def predict(self, X: Any, tasks: Any = None) -> NDArray[Any]:
        """Predict classes; the parameters are those of :meth:`decision_function`."""
        scores = self.decision_function(X, tasks)
        return self.classes_[(scores > 0).astype(int)]

    def score(
        self, X: Any, y: ArrayLike, tasks: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy; the parameters are those of :meth:`fit`."""
        return float(accuracy_score(y, self.predict(X, tasks), sample_weight=sample_weight))

    def predict_proba(self, X: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Predict class probabilities, shape (n, 2), with one sigmoid per task.

        The sigmoids are fitted during training to approximate leave-one-out scores, so they assume
        the class frequencies of the training data. The parameters are those of
        :meth:`decision_function`.
        """
        model, X, tasks = model_and_examples(self, X, tasks)
        return model.predict_proba(X, tasks)
