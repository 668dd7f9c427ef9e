"""The bases of the classifiers on kernels: examples, kernel matrices, models of solutions."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from seqmtl._checks import check_integer, check_number
from seqmtl._surroundings import usual_floats
from seqmtl.estimators._base import TaskClassifier, as_texts
from seqmtl.exceptions import MemoryLimitError
from seqmtl.kernels import BaseKernel, check_psd, make_kernel
from seqmtl.models.calibration import calibrate_tasks, find_copies
from seqmtl.models.examples import Examples
from seqmtl.models.held_out import draw_folds
from seqmtl.models.training import check_classes, class_factors
from seqmtl.sequences import Windows
from seqmtl.sequences.task_array import split_tasks
from seqmtl.tables.descent import KernelSolution, descend
from seqmtl.tables.kernel_model import KernelModel
from seqmtl.tables.rules import WeightRule
from seqmtl.tables.svm import Machine
from seqmtl.tables.working_set import LargeMachine, require_matrices

logger = logging.getLogger(__name__)

Array = NDArray[np.float64]


class Prepared(NamedTuple):
    """Examples and kernel matrices, prepared for one or several fits.

    Attributes
    ----------
    examples : Examples
        Examples with labels -1 and +1.
    sources : ndarray of int64, shape (n,)
        Index of each example in the training data, where it may belong to several tasks.
    kernels : tuple of BaseKernel
        Base kernels with their parameters.
    groups : list of ndarray of int64
        Tasks of each SVM.
    machines : list of Machine, or of LargeMachine
        One SVM for each group of tasks; large ones if their matrices do not fit into memory.
    constant : float
        What was added to the base kernels, as a constant feature.
    """

    examples: Examples
    sources: NDArray[np.int64]
    kernels: tuple[BaseKernel, ...]
    groups: list[NDArray[np.int64]]
    machines: list[Any]
    constant: float

    def rows(self, number: int) -> NDArray[np.int64]:
        """Return the indices of the examples of an SVM."""
        return np.flatnonzero(np.isin(self.examples.ids, self.groups[number]))


def _is_of_two_classes(classifier: Any) -> bool:
    """Tell whether there are two classes; before `fit`, whether there can be only two."""
    if hasattr(classifier, "classes_"):
        return bool(classifier.classes_.size == 2)
    return not classifier.__sklearn_tags__().classifier_tags.multi_class


class KernelClassifier(TaskClassifier):
    """Base class of the kernel classifiers; examples are numbers, windows or texts.

    A subclass implements `_prepare` and `_solve`, and adds its attributes in `_keep`.
    """

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
        texts = as_texts(X)
        if texts is None:
            X, y = validate_data(self, X, y, dtype=np.float64)
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

    def _check_X(self, X: Any, *, reset: bool) -> Any:  # noqa: N802
        if isinstance(X, Windows):
            return super()._check_X(X, reset=reset)
        texts = as_texts(X)
        return validate_data(self, X, dtype=float, reset=reset) if texts is None else texts

    def _check_parameters(self) -> None:
        """Check the parameters before anything is computed."""
        check_number("C", self.C)
        check_number("tol", self.tol)

    def _warn(self, solution: KernelSolution, stacklevel: int) -> None:
        """Warn if training stopped early."""
        if solution.converged:
            return
        reached = "before the objective settled"
        if not np.isnan(solution.gap):
            reached = f"at a relative gap of {solution.gap:.1e}"
        limits = "max_iter or tol" if hasattr(self, "max_iter") else "tol"
        warnings.warn(
            f"stopped {reached} (tol={self.tol:g}); scale the features, or raise {limits}",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )

    def _prepare(self, examples: Examples) -> Prepared:
        """Resolve the kernels, and compute their matrices."""
        raise NotImplementedError

    def _solve(self, machines: list[Machine], state: Array | None = None) -> KernelSolution:
        """Train the SVMs, and weight their kernels."""
        raise NotImplementedError

    @usual_floats
    def _fit_classes(self, examples: Examples) -> None:
        if "" in self.classes_.tolist():
            raise ValueError("y must have classes with names, got ''; name this class")
        prepared = self._prepare(examples)
        solution = self._solve(prepared.machines)
        self._keep(prepared, solution)
        self._warn(solution, stacklevel=4)

    def _machines(
        self,
        examples: Examples,
        kernels: Any,
        groups: Sequence[Any],
        products: Array,
        *,
        sources: NDArray[np.int64] | None = None,
        compared: Any = None,
        constant: float = 0.0,
        has_intercept: bool = True,
    ) -> Prepared:
        """Compute the kernel matrices.

        Parameters
        ----------
        examples : Examples
            Examples with labels -1 and +1.
        kernels : list
            Base kernels, as users specify them.
        groups : sequence of array_like of int
            The tasks of each SVM, in rising order.
        products : ndarray of float64, shape (K, T, T)
            Task kernels, by each of which every base kernel is multiplied.
        sources : ndarray of int64, shape (n,), optional
            See :class:`Prepared`.
        compared : ndarray, shape (n, ...), optional
            What the kernel takes as its first argument, if not the examples.
        constant : float
            What to add to the base kernels.
        has_intercept : bool
            Whether the SVMs have unregularised intercepts.
        """
        X, y, ids, names = examples.data, examples.y, examples.ids, examples.names
        check_classes(y, ids, names)
        resolved = resolve_all(kernels, examples)
        C = self._costs(examples)
        members = [np.array(group) for group in groups]
        rows = [np.flatnonzero(np.isin(ids, group)) for group in members]
        machines: list[Any] = []
        is_large = _is_large(resolved, [part.size for part in rows], compared is not None)
        for group, part in zip(members, rows, strict=True):
            own = (
                y[part],
                C[part],
                np.searchsorted(group, ids[part]),
                products[:, group][:, :, group],
            )
            if is_large:
                machines.append(LargeMachine(resolved, X[part], *own, has_intercept, constant))
                continue
            first = X[part] if compared is None else compared[part]
            grams = [
                kernel_matrix(k, first, None if compared is None else X[part]) for k in resolved
            ]
            stack = np.array(grams) + constant if constant else np.array(grams)
            machines.append(Machine(stack, *own, has_intercept))
        sources = np.arange(y.size) if sources is None else sources
        return Prepared(examples, sources, resolved, members, machines, constant)

    def _costs(self, examples: Examples) -> Array:
        """Return the cost C_i of every example."""
        C = self.C * class_factors(examples.y, self._class_weight())
        if not (np.isfinite(C) & (C > 0.0)).all():
            raise ValueError(
                f"class_weight must hold finite numbers above 0, got {self.class_weight!r}"
            )
        return C * examples.weight

    def _keep(self, prepared: Prepared, solution: KernelSolution) -> None:
        """Set the fitted attributes that all kernel classifiers have."""
        examples, n_tasks = prepared.examples, len(prepared.examples.names)
        alpha, held_out = np.zeros((2, examples.y.size))
        bias, coupling = np.zeros(n_tasks), np.zeros((len(prepared.kernels), n_tasks, n_tasks))
        theta, svms = solution.look
        for number, (machine, group) in enumerate(
            zip(prepared.machines, prepared.groups, strict=True)
        ):
            rows, svm = prepared.rows(number), svms[number]
            alpha[rows], bias[group] = svm.alpha, svm.bias
            coupling[:, group[:, None], group] = machine.couple(theta[number])
            held_out[rows] = held_out_scores(machine, theta[number], svm.f, self.tol)
        amounts = alpha * examples.y
        sums = np.bincount(examples.ids, amounts, minlength=n_tasks)
        kept = np.flatnonzero(amounts)
        _, first, example_ids = np.unique(
            prepared.sources[kept], return_index=True, return_inverse=True
        )
        self.model_ = KernelModel(
            kernels=prepared.kernels,
            examples=examples.data[kept[first]],
            example_ids=example_ids,
            amounts=amounts[kept],
            task_ids=examples.ids[kept],
            coupling=coupling,
            bias=bias + prepared.constant * (coupling.sum(axis=0) @ sums),
            calibration=calibrate_tasks(
                held_out, examples.y, examples.ids, n_tasks, examples.weight
            ),
            tasks=examples.names,
            classes=tuple(self.classes_.tolist()),
            training={"C": float(self.C)},
        )
        self.dual_coef_ = alpha
        self.tasks_, self.kernels_ = self.model_.tasks, self.model_.kernels
        self.intercept_ = self.model_.bias.copy()

    def _scores(self, X: Any, tasks: Any) -> Array:
        check_is_fitted(self)
        X, tasks = split_tasks(X, tasks)
        return self.model_.decision_function(self._check_X(X, reset=False), tasks)

    def predict(self, X: Any, tasks: Any = None) -> NDArray[Any]:
        """Predict classes; parameters as in :meth:`decision_function`."""
        scores = self.decision_function(X, tasks)
        return self.classes_[self.model_.choose(scores, tasks)]

    @available_if(_is_of_two_classes)
    def predict_proba(self, X: Any, tasks: Any = None) -> Array:
        """Predict class probabilities, shape (n, 2), with one sigmoid per task.

        The sigmoids are fitted during training to cross-validated scores, so they assume the class
        frequencies of the training data. Not available for more than two classes. The parameters
        are those of :meth:`decision_function`.
        """
        check_is_fitted(self)
        X, tasks = split_tasks(X, tasks)
        return self.model_.predict_proba(self._check_X(X, reset=False), tasks)


class MKLClassifier(KernelClassifier):
    """Base class of the classifiers that weight several kernels by a rule."""

    max_iter: int

    def _rule(self) -> WeightRule:
        """Return the rule by which kernels are weighted; it checks its parameters."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_iter", self.max_iter, 1)
        self._rule()

    def _solve(self, machines: list[Machine], state: Array | None = None) -> KernelSolution:
        rule = self._rule()
        return descend(machines, rule, tol=self.tol, max_iter=self.max_iter, state=state)

    def _keep(self, prepared: Prepared, solution: KernelSolution) -> None:
        super()._keep(prepared, solution)
        self.objective_, self.n_iter_ = solution.objective, len(solution.history)


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
    return tuple(kernel.resolve(examples.data, examples.weight) for kernel in found)


def _is_large(kernels: Sequence[BaseKernel], sizes: list[int], must_fit: bool) -> bool:
    """Tell whether the kernel matrices do not fit into memory, and log it.

    Raises
    ------
    MemoryLimitError
        If they do not, and are given or must be checked as a whole.
    """
    try:
        require_matrices(len(kernels), *sizes)
    except MemoryLimitError:
        if must_fit or not all(kernel.is_psd for kernel in kernels):
            raise
        logger.warning(
            "%d kernel matrices of %d examples do not fit into memory: only those of support "
            "vectors are kept, which is slower",
            len(kernels),
            sum(sizes),
        )
        return True
    return False


def kernel_matrix(kernel: BaseKernel, X: Any, Z: Any = None) -> Array:
    """Return the kernel matrix of examples, shape (n, n).

    Raises
    ------
    ValueError
        If it is not finite, symmetric and positive semi-definite.
    """
    H = kernel(X, Z)
    if not kernel.is_psd:
        check_psd(H, str(kernel))
    return H


def held_out_scores(
    machine: Machine | LargeMachine, theta: Array, scores: Array, tol: float
) -> Array:
    """Return cross-validated scores of the examples of an SVM.

    Folds are stratified by task and class, and copies of an example share a fold. An example that
    is the only one of its class in its task keeps its training score.

    Parameters
    ----------
    machine : Machine or LargeMachine
        The SVM, with n examples.
    theta : ndarray of float64, shape (M,)
        Kernel weights.
    scores : ndarray of float64, shape (n,)
        Training scores.
    tol : float
        Tolerance on violations of the optimality conditions.
    """
    y, (diagonal, score_apart) = machine.y, machine.apart(theta, tol)
    copy_of = find_copies(scores, diagonal, y)
    one_of_each = np.unique(copy_of, return_index=True)[1]
    tasks = machine.tasks[one_of_each]
    folds = draw_folds(y[one_of_each], tasks, np.random.default_rng(0))[copy_of]
    held_out = scores.copy()
    for fold in range(int(folds.max()) + 1):
        held, kept = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        held_out[held] = score_apart(kept, held)
    return held_out
