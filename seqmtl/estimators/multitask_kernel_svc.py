"""A support vector machine for several tasks with an arbitrary base kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from seqmtl.estimators._base import Examples
from seqmtl.estimators._kernel_base import (
    KernelClassifier,
    held_out_scores,
    kernel_matrix,
    require_matrices,
    resolve_all,
)
from seqmtl.kernels import RBF, BaseKernel, KernelRows, Linear, Polynomial, Precomputed
from seqmtl.models.calibration import calibrate_tasks
from seqmtl.models.kernel_model import KernelModel
from seqmtl.models.kernels import resolve_kernel
from seqmtl.models.training import check_classes
from seqmtl.solvers.svm import best_intercept, duality_gap, solve_dual, violation

_PRECOMPUTED = "precomputed"
_LARGE = 10.0  # multiple of the tolerance; larger violations and gaps mean the solver gave up


class MultiTaskKernelSVC(KernelClassifier):
    """Support vector machine for several related tasks, with an arbitrary base kernel.

    The kernel of an example x of task s and an example z of task t is K[s,t] k(x,z) (Evgeniou,
    Micchelli, Pontil 2005; Sheldon 2008, eq. 2). K = I gives one SVM per task, K = 11' the
    union; kernels of graphs and trees lie between the two, see
    :meth:`~seqmtl.TaskKernel.graphical`. K may be singular, as it is never inverted. The solver
    is libsvm, through scikit-learn. Tasks that K connects, directly or indirectly, share one
    unregularised intercept, so K = I gives exactly the SVMs of the single tasks.

    Parameters
    ----------
    kernel : str, BaseKernel or callable, default="rbf"
        "linear", "poly" or "rbf" with the parameters below; "precomputed" if X is the kernel
        matrix, (n, n) in training and (m, n) afterwards; a name of
        :func:`~seqmtl.kernels.make_kernel` ("spectrum:4"); a kernel of :mod:`seqmtl.kernels`; or
        a callable ``k(X, Z)`` that returns (n, m).
    gamma : float or "scale", default="scale"
        Parameter of "rbf" and "poly"; "scale" is 1 / (d * variance of X).
    degree : int, default=3
        Parameter of "poly".
    coef0 : float, default=0.0
        Parameter of "poly".
    task_kernel : TaskKernel, {"individual", "union", "easy"} or array, optional
        Task kernel K; an array is in the order of the sorted task names. Default:
        K = (11' + 3 I) / 4.
    C : float, default=1.0
        Cost of errors.
    class_weight : dict or "balanced", optional
        Factors on C by class.
    tol : float, default=1e-3
        Tolerance on violations of the optimality conditions, in units of the margin.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
        Class labels.
    tasks_ : tuple of str
        Tasks, sorted by name.
    task_kernel_ : TaskKernel
        Task kernel.
    kernels_ : tuple of BaseKernel
        The kernel, with its parameters.
    dual_coef_ : ndarray, shape (n,)
        Dual variables alpha of the examples with positive weight.
    dual_gap_ : float
        Duality gap relative to the sum of alpha; large for large C, even at a small violation.
    support_ : ndarray of int
        Indices of the support vectors among them.
    intercept_ : ndarray, shape (n_tasks,)
        Intercepts.
    model_ : KernelModel
        The fitted model; ``model_.save(path)`` saves it.
    n_features_in_ : int
        Numbers, or bases, per example; not set for texts.

    Examples
    --------
    >>> from seqmtl import MultiTaskKernelSVC
    >>> X, y = [[0.0], [1.0], [2.0], [0.1], [0.9], [2.2]], [0, 1, 0, 0, 1, 0]
    >>> model = MultiTaskKernelSVC(gamma=2.0, C=10).fit(X, y, tasks=list("aaabbb"))
    >>> model.predict([[1.1], [1.9]], tasks="b")
    array([1, 0])
    """

    _reported: ClassVar[dict[str, str]] = {"gap": "dual_gap_"}

    def __init__(
        self,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        task_kernel: Any = None,
        C: float = 1.0,
        class_weight: Any = None,
        tol: float = 1e-3,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.task_kernel = task_kernel
        self.C = C
        self.class_weight = class_weight
        self.tol = tol

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == _PRECOMPUTED

    def _base_kernel(self) -> Any:
        """Return the base kernel with the parameters of this estimator."""
        if not isinstance(self.kernel, str):
            return self.kernel
        named: dict[str, BaseKernel] = {
            "linear": Linear(),
            "poly": Polynomial(self.degree, self.gamma, self.coef0),
            "rbf": RBF(self.gamma),
        }
        return named.get(self.kernel, self.kernel)

    def _read(self, X: Any, y: Any, tasks: Any, sample_weight: Any) -> Examples:
        try:
            return super()._read(X, y, tasks, sample_weight)
        except BaseException:
            self.__dict__.pop("_given", None)
            raise

    def _gather(self, X: Any, y: NDArray[Any], tasks: Any, sample_weight: Any) -> Examples:
        """Use row indices as examples if the kernel matrix is given."""
        if not self._is_precomputed():
            return super()._gather(X, y, tasks, sample_weight)
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X must be a square kernel matrix where kernel='precomputed', got {X.shape}"
            )
        self._given = Precomputed(X)  # until training begins
        return super()._gather(np.arange(len(X))[:, None], y, tasks, sample_weight)

    def _fit_classes(self, examples: Examples) -> None:
        given = self.__dict__.pop("_given", None)
        X, y, ids, names, weight = self._signs(examples)
        check_classes(y, ids, names)
        self.task_kernel_ = resolve_kernel(self.task_kernel, names)
        K = self.task_kernel_.matrix[: len(names), : len(names)]
        C = self._costs(y, weight, self._class_weight())
        (used,) = resolve_all([given or self._base_kernel()], examples)
        kernel = KernelRows() if given else used
        require_matrices(1, y.size)
        alpha, bias, gap, worst = np.zeros(y.size), np.zeros(len(names)), 0.0, 0.0
        held_out = np.zeros(y.size)
        for group in connected_tasks(K):
            rows = np.flatnonzero(np.isin(ids, group))
            H = K[np.ix_(ids[rows], ids[rows])] * kernel_matrix(used, X[rows])
            alpha[rows] = solve_dual(H, y[rows], C[rows], self.tol)
            f = H @ (alpha[rows] * y[rows])
            bias[group] = best_intercept(f, y[rows], C[rows])
            held_out[rows] = held_out_scores(
                H, y[rows], ids[rows], C[rows], f + bias[group[0]], self.tol
            )
            gap += duality_gap(f, y[rows], C[rows], alpha[rows])
            worst = max(worst, violation(f, y[rows], C[rows], alpha[rows]))
        self.dual_gap_ = gap / float(alpha.sum())
        self.dual_coef_, self.support_ = alpha, np.flatnonzero(alpha)
        kept = self.support_
        model = KernelModel(
            (kernel,), X[kept], np.arange(kept.size), (alpha * y)[kept], ids[kept], K[None],
            bias, calibrate_tasks(held_out, y, ids, len(names), weight), names, self._labels(),
            {"task_kernel": self.task_kernel_.source, "C": float(self.C)},
        )  # fmt: skip
        self._finish(model, min(worst, self.dual_gap_) <= _LARGE * self.tol, self.dual_gap_)


def connected_tasks(K: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return the groups of tasks that K connects, directly or indirectly."""
    from scipy.sparse.csgraph import connected_components

    n_groups, group = connected_components(K != 0.0, directed=False)
    return [np.flatnonzero(group == number) for number in range(n_groups)]
