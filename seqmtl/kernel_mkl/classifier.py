"""The base of the classifiers on kernels: validation, `fit`, and predictions of the model."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from seqmtl._checks import check_flag, check_integer, check_number
from seqmtl._surroundings import usual_floats
from seqmtl.estimators import _examples
from seqmtl.estimators._examples import (
    as_texts,
    check_sizes,
    classification_examples,
    plain_examples,
    signed_class_weight,
)
from seqmtl.kernel_mkl.descent import KernelSolution, descend
from seqmtl.kernel_mkl.problem import KernelProblem
from seqmtl.kernel_mkl.rules import WeightRule
from seqmtl.kernel_mkl.svm import KernelSVM
from seqmtl.sequences import Windows
from seqmtl.sequences.examples import Examples
from seqmtl.training.settings import class_factors

Array = NDArray[np.float64]


def _is_binary(classifier: Any) -> bool:
    """Return whether there are two classes; before `fit`, whether there can be only two."""
    if hasattr(classifier, "classes_"):
        return bool(classifier.classes_.size == 2)
    return not classifier.__sklearn_tags__().classifier_tags.multi_class


class KernelClassifier(ClassifierMixin, BaseEstimator):
    """Base class of the kernel classifiers; examples are numbers, windows or texts.

    A subclass implements `_rule` and `_problem`, and extends `_set_fitted_attributes`.
    """

    C: float
    class_weight: Any
    tol: float
    max_iter: int

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.classifier_tags.multi_class = False
        return tags

    @usual_floats
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
        X : Windows, TaskArray, sequence of str, or array_like of shape (n, d)
            Examples; strings are sequences.
        y : array_like, shape (n,)
            Classes: two, or more where the estimator allows them. Optional for windows with labels.
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
        rule = checked_rule(self)
        problem = self._problem(read_examples(self, X, y, tasks, sample_weight))
        solution = self._solve(problem.svms, rule)
        self._set_fitted_attributes(problem, solution)
        warn_if_unconverged(self, solution)
        return self

    def _rule(self) -> WeightRule:
        """Return the rule by which kernels are weighted; it checks its parameters."""
        raise NotImplementedError

    def _problem(self, examples: Examples) -> KernelProblem:
        """Resolve the kernels, and compute their matrices; y holds classes."""
        raise NotImplementedError

    def _solve(
        self, svms: list[KernelSVM], rule: WeightRule, state: Array | None = None
    ) -> KernelSolution:
        """Train the SVMs, and weight their kernels."""
        return descend(svms, rule, tol=self.tol, max_iter=self.max_iter, state=state)

    def _set_fitted_attributes(self, problem: KernelProblem, solution: KernelSolution) -> None:
        """Set the fitted attributes that all kernel classifiers have."""
        classes = tuple(self.classes_.tolist())
        self.model_, self.dual_coef_ = problem.model(solution, classes, self.tol)
        self.tasks_, self.kernels_ = self.model_.tasks, self.model_.kernels
        self.intercept_ = self.model_.bias.copy()

    def decision_function(self, X: Any, tasks: Any = None) -> Array:
        """Score examples.

        Parameters
        ----------
        X : Windows, TaskArray, sequence of str, or array_like of shape (n, d)
            Examples; strings are sequences.
        tasks : str or sequence of str, optional
            Task of every example, or one for all. Default: the tasks that `X` carries, or the
            only task.

        Returns
        -------
        ndarray of float64, shape (n,)
            Positive for ``classes_[1]``. Of several classes the votes, shape (n, n_classes).

        Raises
        ------
        UnknownTaskError
            If the model was not trained on a task.
        """
        check_is_fitted(self)
        X, tasks = plain_examples(X, tasks)
        return self.model_.decision_function(check_X(self, X), tasks)

    def predict(self, X: Any, tasks: Any = None) -> NDArray[Any]:
        """Predict classes; the parameters are those of :meth:`decision_function`."""
        scores = self.decision_function(X, tasks)
        return self.classes_[self.model_.choose(scores, tasks)]

    @available_if(_is_binary)
    def predict_proba(self, X: Any, tasks: Any = None) -> Array:
        """Predict class probabilities, shape (n, 2), with one sigmoid per task.

        The sigmoids are fitted during training to cross-validated scores, so they assume the class
        frequencies of the training data. Not available for more than two classes. The parameters
        are those of :meth:`decision_function`.
        """
        check_is_fitted(self)
        X, tasks = plain_examples(X, tasks)
        return self.model_.predict_proba(check_X(self, X), tasks)

    def score(
        self, X: Any, y: ArrayLike, tasks: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy; the parameters are those of :meth:`fit`."""
        return float(accuracy_score(y, self.predict(X, tasks), sample_weight=sample_weight))


def checked_rule(estimator: KernelClassifier) -> WeightRule:
    """Check the parameters before anything is computed, and return the rule."""
    check_number("C", estimator.C)
    check_number("tol", estimator.tol)
    if hasattr(estimator, "max_iter"):
        check_integer("max_iter", estimator.max_iter, 1)
    if hasattr(estimator, "fit_intercept"):
        check_flag("fit_intercept", estimator.fit_intercept)
    return estimator._rule()


def read_examples(
    estimator: KernelClassifier, X: Any, y: Any, tasks: Any, sample_weight: Any
) -> Examples:
    """Return validated examples with classes as y, and set `classes_`."""
    examples = classification_examples(estimator, X, y, tasks, sample_weight, check_X_y)
    if "" in estimator.classes_.tolist():
        raise ValueError("y must have classes with names, got ''; name this class")
    return examples


def check_X_y(estimator: KernelClassifier, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:  # noqa: N802
    """Return validated examples and classes."""
    if isinstance(X, Windows):
        return _examples.check_X_y(estimator, X, y)
    texts = as_texts(X)
    if texts is None:
        X, y = validate_data(estimator, X, y, dtype=np.float64)
        check_sizes(X)
        if len(X) > 1 and (X == X[0]).all():
            raise ValueError(
                f"X must have features that vary, but all {len(X)} examples are the same"
            )
        return X, y
    if y is None:
        raise ValueError("y must be given: sequences carry no labels, got None")
    y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"))
    if y.shape != texts.shape:
        raise ValueError(f"y must have one label per sequence ({texts.size}), got {y.size}")
    return texts, y


def check_X(estimator: KernelClassifier, X: Any) -> Any:  # noqa: N802
    """Return validated examples to be scored."""
    if isinstance(X, Windows):
        return X
    texts = as_texts(X)
    if texts is not None:
        return texts
    return check_sizes(validate_data(estimator, X, dtype=np.float64, reset=False))


def example_costs(estimator: KernelClassifier, examples: Examples) -> Array:
    """Return the cost C_i of every example with label -1 or +1."""
    weight = signed_class_weight(estimator.class_weight, estimator.classes_)
    cost: Array = estimator.C * class_factors(examples.y, weight) * examples.weight
    return cost


def warn_if_unconverged(estimator: KernelClassifier, solution: KernelSolution) -> None:
    """Warn the user of `fit`, or of a function that is wrapped like it, of a training cut short."""
    if solution.converged:
        return
    reached = "before the objective settled"
    if not np.isnan(solution.gap):
        reached = f"at a relative gap of {solution.gap:.1e}"
    limits = "max_iter or tol" if hasattr(estimator, "max_iter") else "tol"
    warnings.warn(
        f"stopped {reached} (tol={estimator.tol:g}); scale the features, or raise {limits}",
        ConvergenceWarning,
        stacklevel=4,
    )
