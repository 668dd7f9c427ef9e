"""Multi-task MKL with kernel weights per task: individual, shared, partly shared, or sparse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from seqmtl._checks import check_integer
from seqmtl._surroundings import usual_floats
from seqmtl.core.norms import norm_of
from seqmtl.estimators._examples import with_signs
from seqmtl.kernel_mkl.classifier import (
    KernelClassifier,
    example_costs,
    read_examples,
    warn_if_unconverged,
)
from seqmtl.kernel_mkl.descent import KernelSolution, descend
from seqmtl.kernel_mkl.one_vs_one import split_pairs
from seqmtl.kernel_mkl.problem import KernelProblem
from seqmtl.kernel_mkl.rules import MixedNorm, Partial, Separate, Shared, WeightRule, trade_off
from seqmtl.kernel_mkl.svm import KernelSVM
from seqmtl.kernels import short_name
from seqmtl.sequences.examples import Examples

Array = NDArray[np.float64]

_ROUGH = 1e-2  # relative gap of the convex problem that the non-convex one starts from
_LARGEST_LOG = 690.0  # logarithm of the largest number, roughly


@dataclass(eq=False, repr=False)
class TaskMKLClassifier(KernelClassifier):
    """Base class: T SVMs with an intercept each, on kernels weighted by the rule of a subclass."""

    kernels: Any = ("linear", "poly", "rbf")

    class_weight = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    def _rule(self) -> WeightRule:
        """Return the rule by which kernels are weighted; it checks its parameters."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_iter", self.max_iter, 1)
        self._rule()

    def _problem(self, examples: Examples) -> KernelProblem:
        """Compute kernel matrices by task, or by pair of classes if there are several."""
        if self.classes_.size == 2:
            examples, sources = with_signs(examples, self.classes_), None
        elif len(examples.names) == 1:
            names, sources, signs, ids = split_pairs(examples.y, self.classes_)
            weight = examples.weight[sources]
            examples = Examples(examples.data[sources], signs, ids, names, weight)
        else:
            raise ValueError(
                f"y must have two classes where there are tasks, got {self.classes_.size}; "
                "without tasks the classes are learnt one against one"
            )
        T = len(examples.names)
        cost, groups = example_costs(self, examples), [[t] for t in range(T)]
        return KernelProblem.of(
            examples, cost, self.kernels, groups, np.ones((1, T, T)), sources=sources
        )

    def _solve(self, svms: list[KernelSVM], state: Array | None = None) -> KernelSolution:
        return descend(svms, self._rule(), tol=self.tol, max_iter=self.max_iter, state=state)

    def _set_fitted_attributes(self, problem: KernelProblem, solution: KernelSolution) -> None:
        super()._set_fitted_attributes(problem, solution)
        self.theta_, self.objectives_ = solution.theta, solution.g
        self.objective_, self.n_iter_ = solution.objective, len(solution.history)
        self.gap_ = solution.gap
        self.history_ = list(solution.history)
        self.model_.training |= {
            "objectives": self.objectives_.tolist(),
            "theta": self.theta_.tolist(),
        }


@dataclass(eq=False, repr=False)
class IndividualMKLClassifier(TaskMKLClassifier):
    """Multiple kernel learning for every task alone, the baseline of multi-task learning.

    Task t has the kernel sum_m theta_tm k_m, ||theta_t||_q <= 1, and minimises the objective of
    one SVM (Kloft, Brefeld, Sonnenburg, Zien 2011). Without tasks there may be more than two
    classes; see :class:`~seqmtl.ParetoMKLClassifier`.

    Parameters
    ----------
    kernels : list, default=("linear", "poly", "rbf")
        Base kernels: names of :func:`~seqmtl.kernels.make_kernel`, kernels of
        :mod:`seqmtl.kernels`, or callables ``k(X, Z)`` that return (n, m).
    norm : float, default=1.1
        q of the norm on the kernel weights, from 1 (sparse) to infinity (uniform).
    C : float, default=1.0
        Cost of errors.
    tol : float, default=1e-4
        Relative duality gap of every task at which training stops.
    max_iter : int, default=1000
        Maximum number of iterations.

    Attributes
    ----------
    theta_ : ndarray, shape (n_tasks, n_kernels)
        Kernel weights.
    objectives_ : ndarray, shape (n_tasks,)
        g_t.
    objective_, gap_, n_iter_, history_, classes_, tasks_, kernels_, intercept_, model_
        See :class:`~seqmtl.ParetoMKLClassifier`; the objective is the sum of g_t.
    """

    norm: float = 1.1
    C: float = 1.0
    tol: float = 1e-4
    max_iter: int = 1000

    def _rule(self) -> Separate:
        return Separate(self.norm)


@dataclass(eq=False, repr=False)
class PartiallySharedMKLClassifier(TaskMKLClassifier):
    """Multi-task multiple kernel learning with a shared kernel and one kernel per task.

    Task t has the kernel sum_m (zeta_m + gamma_tm) k_m, ||zeta||_1 <= mu, ||gamma_t||_1 <= 1 - mu.
    The sum of the SVM objectives of the tasks is minimised (Tang, Chen, Ye 2009). Without tasks
    there may be more than two classes; see :class:`~seqmtl.ParetoMKLClassifier`.

    Parameters
    ----------
    kernels : list, default=("linear", "poly", "rbf")
        Base kernels, as in :class:`IndividualMKLClassifier`.
    share : float, default=0.5
        mu, from 0 (nothing shared) to 1 (one kernel for all).
    C : float, default=1.0
        Cost of errors.
    tol : float, default=1e-4
        Relative duality gap at which training stops.
    max_iter : int, default=1000
        Maximum number of iterations.

    Attributes
    ----------
    theta_ : ndarray, shape (n_tasks, n_kernels)
        Kernel weights zeta + gamma_t.
    common_ : ndarray, shape (n_kernels,)
        zeta.
    objectives_ : ndarray, shape (n_tasks,)
        g_t.
    objective_, gap_, n_iter_, history_, classes_, tasks_, kernels_, intercept_, model_
        See :class:`~seqmtl.ParetoMKLClassifier`; the objective is the sum of g_t.
    """

    share: float = 0.5
    C: float = 1.0
    tol: float = 1e-4
    max_iter: int = 1000

    def _rule(self) -> Partial:
        return Partial(self.share)

    def _set_fitted_attributes(self, problem: KernelProblem, solution: KernelSolution) -> None:
        super()._set_fitted_attributes(problem, solution)
        self.common_ = solution.state[0].copy()


@dataclass(eq=False, repr=False)
class SparseMKLClassifier(TaskMKLClassifier):
    """Multi-task multiple kernel learning with a mixed norm: few kernels, the same for all tasks.

    Minimises 1/2 (sum_m (sum_t ||w_tm||^q)^(p/q))^(2/p) + C times the sum of the hinge losses,
    with the l_p-l_q norm of Rakotomamonjy, Flamary, Gasso, Canu (2011) squared, as is usual in
    multiple kernel learning. p = 1, q = 2 is :class:`~seqmtl.ParetoMKLClassifier` with
    p = norm = 1. The problem is not convex for p < 1; then the better of two local minima is
    taken, reached from equal weights and from the solution of p = 1. Without tasks there may be
    more than two classes; see :class:`~seqmtl.ParetoMKLClassifier`.

    Parameters
    ----------
    kernels : list, default=("linear", "poly", "rbf")
        Base kernels, as in :class:`IndividualMKLClassifier`.
    p : float, default=1.0
        Norm over kernels, in (0, 1]; smaller values select fewer kernels.
    q : float, default=2.0
        Norm over tasks, from 1 to 2; 2 gives all tasks the same kernel weights.
    C : float, default=1.0
        Cost of errors.
    tol : float, default=1e-4
        Relative duality gap at which training stops; for p < 1 a hundred times the relative
        decrease of the objective per iteration.
    max_iter : int, default=1000
        Maximum number of iterations.

    Attributes
    ----------
    theta_ : ndarray, shape (n_tasks, n_kernels)
        Kernel weights; the squared norm is the sum of ||w_tm||^2 / theta_tm.
    objectives_ : ndarray, shape (n_tasks,)
        g_t.
    objective_, gap_, n_iter_, history_, classes_, tasks_, kernels_, intercept_, model_
        See :class:`~seqmtl.ParetoMKLClassifier`; the objective is the sum of g_t. The gap is NaN
        for p < 1.
    """

    p: float = 1.0
    q: float = 2.0
    C: float = 1.0
    tol: float = 1e-4
    max_iter: int = 1000

    def _rule(self) -> MixedNorm:
        return MixedNorm(self.p, self.q)

    def _solve(self, svms: list[KernelSVM], state: Array | None = None) -> KernelSolution:
        _check_power(self.p, svms[0].n_kernels, "kernels", power=2.0)
        if self.p == 1.0:
            return super()._solve(svms, state)
        convex = MixedNorm(1.0, self.q)
        rough = descend(svms, convex, tol=_ROUGH, max_iter=self.max_iter)
        starts = (None, self._rule().rescale(rough.state))
        solutions = [super(SparseMKLClassifier, self)._solve(svms, start) for start in starts]
        return min(solutions, key=lambda solution: solution.objective)


@dataclass(eq=False, repr=False)
class ParetoMKLClassifier(TaskMKLClassifier):
    """Multi-task multiple kernel learning along the Pareto front of the tasks.

    All tasks share one kernel sum_m theta_m k_m, ||theta||_q <= 1. With g_t the objective of
    the SVM of task t, solves

        min over theta, w, b   (sum_t g_t^p)^(1/p),    p > 0

    (Li, Georgiopoulos, Anagnostopoulos 2014, problem 1). p = 1 is the sum, p < 1 favours easy
    tasks and p > 1 hard ones, and p = infinity minimises the worst task. Every solution is
    Pareto-optimal: no task can improve without another getting worse. For p < 1 the problem is not
    convex, and the gap certifies a stationary point.

    Without tasks there may be more than two classes: each pair of classes becomes a task, and the
    votes of the pairs give the predicted class.

    Parameters
    ----------
    kernels : list, default=("linear", "poly", "rbf")
        Base kernels: names of :func:`~seqmtl.kernels.make_kernel`, kernels of
        :mod:`seqmtl.kernels`, or callables ``k(X, Z)`` that return (n, m).
    p : float, default=0.5
        Trade-off, above 0, up to infinity.
    norm : float, default=1.1
        q of the norm on the kernel weights, from 1 (sparse) to infinity (uniform).
    C : float, default=1.0
        Cost of errors.
    tol : float, default=1e-4
        Relative gap at which training stops.
    max_iter : int, default=1000
        Maximum number of iterations, each of T or 2 T SVMs.

    Attributes
    ----------
    classes_ : ndarray
        Class labels.
    tasks_ : tuple of str
        Tasks, sorted by name, or pairs of classes, ``"a vs b"``.
    objectives_ : ndarray, shape (n_tasks,)
        g_t.
    weights_ : ndarray, shape (n_tasks,)
        lambda_t = (g_t / ||g||_p)^(p - 1), the sensitivity of the objective to g_t.
    theta_ : ndarray, shape (n_kernels,)
        Kernel weights.
    objective_ : float
        (sum_t g_t^p)^(1/p).
    gap_ : float
        Relative duality gap; for p < 1 that of the sum of lambda_t g_t.
    n_iter_ : int
        Number of iterations.
    history_ : list of dict
        Objective and gap of every iteration.
    dual_coef_ : ndarray
        Dual variables of the examples; with several classes, pair by pair.
    kernels_ : tuple of BaseKernel
        Kernels with their parameters.
    intercept_ : ndarray, shape (n_tasks,)
        Intercepts, unregularised.
    model_ : KernelModel
        The fitted model; ``model_.save(path)`` saves it.
    n_features_in_ : int
        Numbers, or bases, per example; not set for texts.

    Examples
    --------
    >>> from seqmtl import ParetoMKLClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [0.1], [0.9], [2.2]], [0, 1, 0, 0, 1, 0]
    >>> model = ParetoMKLClassifier(["linear", "rbf:2"], C=10).fit(X, y, tasks=list("aaabbb"))
    >>> model.predict([[1.1], [1.9]], tasks="b")
    array([1, 0])
    >>> model.theta_.round(3)
    array([0., 1.])
    """

    p: float = 0.5
    norm: float = 1.1
    C: float = 1.0
    tol: float = 1e-4
    max_iter: int = 1000

    def _rule(self) -> Shared:
        return Shared(self.norm, self.p)

    def _solve(self, svms: list[KernelSVM], state: Array | None = None) -> KernelSolution:
        _check_power(self.p, len(svms), "tasks")
        return super()._solve(svms, state)

    def _set_fitted_attributes(self, problem: KernelProblem, solution: KernelSolution) -> None:
        super()._set_fitted_attributes(problem, solution)
        self.theta_ = self.theta_[0].copy()
        self.weights_ = trade_off(self.objectives_, self.p)
        self.model_.training |= {"p": str(self.p), "norm": str(self.norm)}


def _check_power(p: float, n: int, what: str, power: float = 1.0) -> None:
    """Raise ValueError if p is so small that n^(power/p) overflows."""
    least = power * np.log(n) / _LARGEST_LOG
    if p < least:
        raise ValueError(f"p must be at least {least:.2g} for {n} {what}, got {p!r}")


#: Default trade-offs p of a path.
PATH = (0.01, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0, 1.2, 1.5, 2.0, 5.0, 10.0, 100.0)
_START = 1e-3  # initial weight of every kernel on a path, relative to the largest


@dataclass(frozen=True)
class ParetoPath:
    """Solutions for several trade-offs p.

    Attributes
    ----------
    p : ndarray of float64, shape (P,)
        Trade-offs, in rising order.
    tasks : tuple of str
        Tasks.
    objectives : ndarray of float64, shape (P, T)
        g_t.
    weights : ndarray of float64, shape (P, T)
        lambda_t.
    theta : ndarray of float64, shape (P, M)
        Kernel weights.
    estimators : list of ParetoMKLClassifier
        The fitted classifiers.
    """

    p: NDArray[np.float64]
    tasks: tuple[str, ...]
    objectives: NDArray[np.float64]
    weights: NDArray[np.float64]
    theta: NDArray[np.float64]
    estimators: list[ParetoMKLClassifier]

    def plot(self, path: Any) -> None:
        """Plot the objectives and the kernel weights along the path.

        Parameters
        ----------
        path : str or path-like
            Output file: .png, .svg or .pdf.
        """
        from seqmtl._style import save_figure
        from seqmtl.evaluation.pareto import draw_path

        kernels = [short_name(kernel) for kernel in self.estimators[0].kernels_]
        figure = draw_path(self.p, self.objectives, self.tasks, self.theta, kernels)
        save_figure(figure, path)


@usual_floats
def pareto_path(
    X: Any,
    y: ArrayLike,
    tasks: Any = None,
    *,
    p: float | Sequence[float] = PATH,
    sample_weight: ArrayLike | None = None,
    **parameters: Any,
) -> ParetoPath:
    """Train :class:`ParetoMKLClassifier` for several p, with warm starts.

    Kernel matrices are computed once. The path starts at the p nearest to 1 and continues in both
    directions.

    Parameters
    ----------
    X, y, tasks, sample_weight
        See :meth:`ParetoMKLClassifier.fit`.
    p : float or sequence of float
        Trade-offs, in any order. Default: :data:`PATH`.
    **parameters
        Parameters of :class:`ParetoMKLClassifier`.

    Returns
    -------
    ParetoPath
        ``path.plot("front.png")`` plots it.

    Raises
    ------
    ValueError
        If a p is not positive, or as in :meth:`ParetoMKLClassifier.fit`.
    """
    grid = np.unique(np.asarray(p, dtype=np.float64))
    if not grid.size:
        raise ValueError("p must hold at least one number above 0, got none")
    models = [ParetoMKLClassifier(p=value, **parameters) for value in grid.tolist()]
    for model in models:
        model._check_parameters()
    first = int(np.argmin(np.abs(np.log(np.minimum(grid, 1e300)))))
    problem: KernelProblem | None = None
    for order in (range(first, grid.size), range(first - 1, -1, -1)):
        previous = models[first] if problem else None
        for model in [models[number] for number in order]:
            examples = read_examples(model, X, y, tasks, sample_weight)
            problem = problem or model._problem(examples)
            state = None if previous is None else _warm(previous.theta_, model.norm)
            solution = model._solve(problem.svms, state)
            model._set_fitted_attributes(problem, solution)
            warn_if_unconverged(model, solution)
            previous = model
    return ParetoPath(
        grid,
        models[0].tasks_,
        np.array([model.objectives_ for model in models]),
        np.array([model.weights_ for model in models]),
        np.array([model.theta_ for model in models]),
        models,
    )


def _warm(theta: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """Return initial weights near a solution, none of them 0, as those would stay 0."""
    theta = np.maximum(theta, _START * theta.max())
    return (theta / norm_of(theta, norm))[None]
