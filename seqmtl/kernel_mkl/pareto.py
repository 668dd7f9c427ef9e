"""Trade-offs p between tasks: a classifier for one p, and the path over p, a Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl._surroundings import usual_floats
from seqmtl.core.norms import positive_weights
from seqmtl.kernel_mkl.classifier import checked_rule, read_examples, warn_if_unconverged
from seqmtl.kernel_mkl.descent import KernelSolution
from seqmtl.kernel_mkl.problem import KernelProblem
from seqmtl.kernel_mkl.rules import Shared, trade_off
from seqmtl.kernel_mkl.task_mkl import TaskMKLClassifier

#: Default trade-offs p of a path.
PATH = (0.01, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0, 1.2, 1.5, 2.0, 5.0, 10.0, 100.0)


@dataclass(eq=False, repr=False)
class ParetoMKLClassifier(TaskMKLClassifier):
    """Multi-task multiple kernel learning along the Pareto front of the tasks.

    All tasks share one kernel sum_m theta_m k_m, ||theta||_norm <= 1. With g_t the objective of
    the SVM of task t, solves

        min over theta, w, b   (sum_t g_t^p)^(1/p),    p > 0

    (Li, Georgiopoulos, Anagnostopoulos 2014, problem 1). p = 1 is the sum, p < 1 favours easy
    tasks and p > 1 hard ones, and p = infinity minimises the worst task. Every solution is
    Pareto-optimal, for p = infinity weakly: no task can improve without another getting worse. For
    p < 1 the problem is not convex, and the gap certifies a stationary point.

    Without tasks there may be more than two classes: each pair of classes becomes a task, and the
    votes of the pairs give the predicted class.

    Parameters
    ----------
    kernels : list, default=("linear", "poly", "rbf")
        Base kernels: names of :func:`~seqmtl.kernels.make_kernel`, or kernels of
        :mod:`seqmtl.kernels`.
    p : float, default=0.5
        Trade-off, above 0, up to infinity.
    norm : float, default=1.1
        Exponent of the norm on the kernel weights, from 1 (sparse) to infinity (uniform).
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
        lambda_t = (g_t / ||g||_p)^(p - 1), the sensitivity of the objective to g_t. For p < 1
        that of the paper is 1 / lambda_t.
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
        Support vectors and kernels.
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

    def _set_fitted_attributes(self, problem: KernelProblem, solution: KernelSolution) -> None:
        super()._set_fitted_attributes(problem, solution)
        self.theta_ = self.theta_[0].copy()
        self.weights_ = trade_off(self.objectives_, self.p)


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

        kernels = [str(kernel) for kernel in self.estimators[0].kernels_]
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
    rules = [checked_rule(model) for model in models]
    # from the p nearest to 1, a convex problem, to either side
    first = int(np.argmin(np.abs(np.log(np.minimum(grid, 1e300)))))
    problem: KernelProblem | None = None
    for order in (range(first, grid.size), range(first - 1, -1, -1)):
        previous = models[first] if problem else None
        for number in order:
            model = models[number]
            examples = read_examples(model, X, y, tasks, sample_weight)
            problem = problem or model._problem(examples)
            state = previous and positive_weights(previous.theta_, model.norm)[None]
            solution = model._solve(problem.svms, rules[number], state)
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
