"""Base of the kernel classifiers: examples, kernels, costs, scores."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from seqmtl._checks import check_number
from seqmtl._memory import require_memory
from seqmtl.estimators._base import Examples
from seqmtl.estimators._classifier import TaskClassifier
from seqmtl.kernels import BaseKernel, check_psd, make_kernel
from seqmtl.models.calibration import find_copies
from seqmtl.models.held_out import draw_folds
from seqmtl.models.kernel_model import KernelModel
from seqmtl.models.training import class_factors
from seqmtl.sequences import Windows
from seqmtl.sequences.task_array import split_tasks
from seqmtl.solvers.svm import best_intercept, solve_dual

_LARGEST_LOG = 690.0  # logarithm of the largest number, roughly


def _is_of_two_classes(classifier: Any) -> bool:
    """Tell whether there are two classes; before `fit`, whether there can be only two."""
    if hasattr(classifier, "classes_"):
        return bool(classifier.classes_.size == 2)
    return not classifier.__sklearn_tags__().classifier_tags.multi_class


class KernelClassifier(TaskClassifier):
    """Base class of the kernel classifiers; examples are numbers, windows or texts."""

    #: Parameters to increase if training stops before convergence.
    _limits: ClassVar[str] = "tol"

    C: float
    tol: float

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    def _check_X_y(self, X: Any, y: Any, *, numeric: bool) -> tuple[Any, NDArray[Any]]:  # noqa: N802
        self._check_parameters()
        if isinstance(X, Windows):
            return super()._check_X_y(X, y, numeric=numeric)
        if not _is_text(X):
            return self._check_numbers(X, y)
        X = _as_texts(X)
        if y is None:
            raise ValueError("y must be given: sequences carry no labels, got None")
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"))
        if y.shape != X.shape:
            raise ValueError(f"y must have one label per sequence ({X.size}), got {y.size}")
        return X, y

    def _check_numbers(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        X, y = validate_data(self, X, y, dtype=np.float64)
        if len(X) > 1 and (X == X[0]).all():
            raise ValueError(
                f"X must have features that vary, but all {len(X)} examples are the same"
            )
        return X, y

    def _check_X(self, X: Any, *, reset: bool) -> Any:  # noqa: N802
        if isinstance(X, Windows):
            return super()._check_X(X, reset=reset)
        if _is_text(X):
            return _as_texts(X)
        return validate_data(self, X, dtype=np.float64, reset=reset)

    def _check_parameters(self) -> None:
        """Check the parameters before anything is computed."""
        check_number("C", self.C)
        check_number("tol", self.tol)

    def _costs(
        self, y: NDArray[np.float64], weight: NDArray[np.float64] | None, class_weight: Any = None
    ) -> NDArray[np.float64]:
        """Return the cost C_i of every example."""
        C = self.C * class_factors(y, class_weight)
        if not (np.isfinite(C) & (C > 0.0)).all():
            raise ValueError(f"class_weight must hold finite numbers above 0, got {class_weight!r}")
        return C if weight is None else C * weight

    def _finish(self, model: KernelModel, converged: bool, gap: float) -> None:
        """Store the model, and warn if training stopped early."""
        self.model_ = model
        self.tasks_, self.intercept_ = model.tasks, model.bias.copy()
        self.kernels_ = model.kernels
        if not converged:
            reached = "before the objective settled"
            if not np.isnan(gap):
                reached = f"at a relative gap of {gap:.1e}"
            warnings.warn(
                f"stopped {reached} (tol={self.tol:g}); scale the features, or raise "
                f"{self._limits}",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _scores(self, X: Any, tasks: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        X, tasks = split_tasks(X, tasks)
        return self.model_.decision_function(self._check_X(X, reset=False), tasks)

    def predict(self, X: Any, tasks: Any = None) -> NDArray[Any]:
        """Predict classes; parameters as in :meth:`decision_function`."""
        scores = self.decision_function(X, tasks)
        return self.classes_[self.model_.choose(scores, tasks)]

    @available_if(_is_of_two_classes)
    def predict_proba(self, X: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Predict class probabilities, shape (n, 2), with one sigmoid per task.

        The sigmoids are fitted during training to cross-validated scores, so they assume the class
        frequencies of the training data. Not available for more than two classes. The parameters
        are those of :meth:`decision_function`.
        """
        check_is_fitted(self)
        X, tasks = split_tasks(X, tasks)
        return self.model_.predict_proba(self._check_X(X, reset=False), tasks)

    def _labels(self) -> tuple[Any, ...]:
        """Return the classes as JSON values."""
        return tuple(self.classes_.tolist())


def resolve_all(kernels: Any, examples: Examples) -> tuple[BaseKernel, ...]:
    """Convert kernels given by the user to kernels with all parameters set.

    Raises
    ------
    ValueError
        If there is none, or one is unknown.
    """
    if isinstance(kernels, (str, BaseKernel)) or not hasattr(kernels, "__iter__"):
        kernels = [kernels]
    found = tuple(make_kernel(spec) for spec in kernels)
    if not found:
        raise ValueError("kernels must hold at least one kernel, got none")
    return tuple(kernel.resolve(examples.X, examples.weight) for kernel in found)


def kernel_matrix(kernel: BaseKernel, X: Any) -> NDArray[np.float64]:
    """Return the kernel matrix of examples, shape (n, n), positive semi-definite.

    Raises
    ------
    ValueError
        If it is not finite, symmetric and positive semi-definite.
    """
    H = kernel(X)
    if not kernel.is_psd:
        check_psd(H, str(kernel))
    return H


def held_out_scores(
    H: NDArray[np.float64],
    y: NDArray[np.float64],
    ids: NDArray[Any],
    C: NDArray[np.float64],
    scores: NDArray[np.float64],
    tol: float,
    has_intercept: bool = True,
) -> NDArray[np.float64]:
    """Return cross-validated scores of examples from SVMs on a given kernel matrix.

    Folds are stratified by task and class, and copies of an example share a fold. An example that
    is the only one of its class in its task keeps its training score.

    Parameters
    ----------
    H : ndarray of float64, shape (n, n)
        Kernel matrix.
    y, C, scores : ndarray of float64, shape (n,)
        Labels -1 or +1, costs, and training scores.
    ids : ndarray of int, shape (n,)
        Task of every example.
    tol : float
        Tolerance on violations of the optimality conditions.
    has_intercept : bool
        Whether there is an unregularised intercept.
    """
    copy_of = find_copies(scores, np.diagonal(H), y)
    one_of_each = np.unique(copy_of, return_index=True)[1]
    folds = draw_folds(y[one_of_each], ids[one_of_each], np.random.default_rng(0))[copy_of]
    found = scores.copy()
    for fold in range(int(folds.max()) + 1):
        held, kept = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        G = H[np.ix_(kept, kept)]
        alpha = solve_dual(G, y[kept], C[kept], tol, has_intercept=has_intercept)
        amount = alpha * y[kept]
        bias = best_intercept(G @ amount, y[kept], C[kept]) if has_intercept else 0.0
        found[held] = H[np.ix_(held, kept)] @ amount + bias
    return found


def require_matrices(n_kernels: int, *sizes: int) -> None:
    """Check that kernel matrices of the given sizes fit into memory.

    Raises
    ------
    MemoryLimitError
        If they do not.
    """
    entries = float(n_kernels) * sum(n * n for n in sizes) + 2.0 * max(sizes) ** 2
    what = f"{n_kernels} x {len(sizes)} kernel matrices of up to {max(sizes):,} examples"
    require_memory(8.0 * entries, what, "train on fewer examples")


def check_power(p: float, n: int, what: str, power: float = 1.0) -> None:
    """Raise ValueError if p is so small that n^(power/p) overflows."""
    least = power * np.log(n) / _LARGEST_LOG
    if p < least:
        raise ValueError(f"p must be at least {least:.2g} for {n} {what}, got {p!r}")


def _is_text(X: Any) -> bool:
    """Tell whether X is a list or a column of texts."""
    if not isinstance(X, (list, tuple, np.ndarray)) or not len(X):
        return False
    first = X[0]
    if isinstance(first, np.ndarray) and first.shape == (1,):
        first = first[0]
    return isinstance(first, (str, bytes))


def _as_texts(X: Any) -> NDArray[Any]:
    """Return texts as an array, shape (n,)."""
    X = np.asarray(X)
    return X.reshape(len(X)) if X.dtype.kind in "US" else X.reshape(len(X)).astype(str)
