"""Multi-task MKL on features: learn weights of views times task kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.estimators._base import FeatureParameters
from seqmtl.estimators._classifier import MultiTaskClassifier
from seqmtl.features.joint import JointFeatures
from seqmtl.models.examples import Examples
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.training import Settings
from seqmtl.solvers.dcd import Solution


@dataclass(eq=False, repr=False)
class MultiTaskMKLClassifier(FeatureParameters, MultiTaskClassifier):
    """Multi-task support vector machine with learnt task kernels, for strings or numbers.

    Solves min over W, theta >= 0, ||theta||_p <= 1 of 1/2 sum_m ||W_m||^2_{Q_m} / theta_m +
    sum_i C_i loss(y_i f_{t_i}(x_i)), where each m is a view of the features times a task kernel
    (Widmer, Kloft, Sreedharan, Raetsch 2015, Problem 1, Algorithm 2), to a certified duality
    gap. With one task this is p-norm multiple kernel learning.

    Parameters
    ----------
    features : FeatureDefinition or list of FeatureDefinition, optional
        Feature map, or a list of them, one per view. Default: ``PositionalKmers()`` for
        :class:`~seqmtl.Windows`, the identity for matrices.
    task_kernels : TaskKernel or list, optional
        Similarities to choose from, each with one or more matrices, or "individual", "union",
        "easy"; see :meth:`~seqmtl.TaskKernel.hierarchical`, :meth:`~seqmtl.TaskKernel.smooth`,
        :meth:`~seqmtl.TaskKernel.multigraph`. Every view is combined with every matrix.
        Default: 11' and I.
    norm : float, default=2.0
        p of the p-norm on the kernel weights, from 1 (sparse) to infinity (uniform).
    C : float, default=1.0
        Cost of errors.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        Loss.
    class_weight : dict or "balanced", optional
        Factors on C by class.
    fit_intercept : bool, default=True
        Append a constant feature to every view, regularised and coupled like any other.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_epochs : int, default=1000
        Maximum number of epochs; a warning is given if it is reached.
    dtype : {"float32", "float64"} or the NumPy type, optional
        Type of the weights. Default: float32 for strings, float64 for numbers.
    random_state : int or RandomState, default=0
        Seed of the visiting order.
    from_relatives : bool, default=False
        Predict tasks without training data from their relatives in the task kernels, instead of
        raising an error.

    Attributes
    ----------
    theta_ : ndarray, shape (n_views * n_kernels,)
        Kernel weights, view by view; see `kernel_weights_`.
    kernel_weights_ : list of dict
        View, label, tasks and weight of every kernel.
    task_kernel_ : TaskKernel
        sum_m theta_m K_m of every view.
    classes_, tasks_, coef_, intercept_, dual_coef_, dual_gap_, n_iter_, history_, model_, \
n_features_in_
        As in :class:`MultiTaskSVC`, but the gap is that of the problem with theta dualised.

    Examples
    --------
    >>> from seqmtl import MultiTaskMKLClassifier
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [0.2, 0.9], [0.8, 0.1]], [0, 1, 0, 1]
    >>> mkl = MultiTaskMKLClassifier(norm=2.0).fit(X, y, tasks=["a", "a", "b", "b"])
    >>> [weight["label"] for weight in mkl.kernel_weights_]
    ['union', 'individual']
    """

    task_kernels: Any = None
    norm: float = 2.0
    C: float = 1.0
    _: KW_ONLY
    loss: str = "hinge"
    class_weight: Any = None
    fit_intercept: bool = True

    def _settings(self, X: Any, **options: Any) -> Settings:
        if self.norm is None:
            raise ValueError(
                "norm must be a number from 1 to infinity, got None; for one fixed kernel use "
                "MultiTaskSVC"
            )
        return super()._settings(X, norm=self.norm, **options)

    def _features(self, X: Any) -> Any:
        if isinstance(self.features, (list, tuple)):
            return JointFeatures(list(self.features))
        return super()._features(X)

    def _train(self, examples: Examples, settings: Settings) -> tuple[MultiTaskModel, Solution]:
        model, solution = self._train_model(examples, settings, task_kernel=self.task_kernels)
        self.theta_: NDArray[np.float64] = solution.theta
        self.kernel_weights_: list[dict[str, Any]] = model.training["mkl"]
        return model, solution
