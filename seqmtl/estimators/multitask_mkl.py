"""A classifier that learns how much to trust each of several task kernels and views."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.estimators._base import Examples
from seqmtl.estimators._classifier import MultiTaskClassifier
from seqmtl.features.joint import JointFeatures
from seqmtl.models.fit import train_model
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.training import Settings
from seqmtl.solvers.dcd import Solution


class MultiTaskMKLClassifier(MultiTaskClassifier):
    """Multi-task support vector machine with learnt task kernels, over strings or numbers.

    Solves min over W, theta >= 0, ||theta||_p <= 1 of 1/2 sum_m ||W_m||^2_{Q_m} / theta_m +
    sum_i C_i loss(y_i f_{t_i}(x_i)), where each m is a view of the features times a task kernel
    (Widmer, Kloft, Sreedharan, Raetsch 2015, Problem 1, Algorithm 2), to a certified duality
    gap. With one task it is p-norm multiple kernel learning.

    Parameters
    ----------
    features : FeatureDefinition or list of FeatureDefinition, optional
        How to see the examples; a list holds the views. Default: ``WeightedDegree()`` for
        :class:`~seqmtl.Windows`, the numbers themselves for matrices.
    task_kernels : TaskKernel or list, optional
        Similarities to choose from, each with one or more matrices; see
        :meth:`~seqmtl.TaskKernel.hierarchical`, :meth:`~seqmtl.TaskKernel.smooth`,
        :meth:`~seqmtl.TaskKernel.multigraph`. "individual", "union" and "easy" go too. Every
        view is combined with every matrix. Default: 11' and I.
    norm : float, default=2.0
        p, 1 to infinity: 1 selects few kernels, infinity weighs all alike.
    C : float, default=1.0
        Cost of errors.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        Loss.
    class_weight : dict or "balanced", optional
        Factors on C by class.
    fit_intercept : bool, default=True
        Append a constant feature to every view, regularised and coupled like any other.
    tol : float, default=1e-3
        Relative duality gap to stop at.
    max_epochs : int, default=1000
        Epochs at most; a warning is given if they do not suffice.
    dtype : {"float32", "float64"}, optional
        Of the weights. Default: float32 for strings, float64 for numbers.
    random_state : int or RandomState, default=0
        Visiting order.
    from_relatives : bool, default=False
        Predict tasks without training data by their relatives in the task kernels, instead of
        refusing them.

    Attributes
    ----------
    theta_ : ndarray, shape (n_views * n_kernels,)
        Weights of the kernels, those of the first view first; see `kernel_weights_`.
    kernel_weights_ : list of dict
        View, label, tasks and weight of every kernel.
    task_kernel_ : TaskKernel
        sum_m theta_m K_m of every view.
    classes_, tasks_, coef_, intercept_, dual_coef_, dual_gap_, n_iter_, history_, model_, \
n_features_in_
        As in :class:`MultiTaskSVC`; the gap is that of the problem in which theta is dualised.

    Examples
    --------
    >>> from seqmtl import MultiTaskMKLClassifier
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [0.2, 0.9], [0.8, 0.1]], [0, 1, 0, 1]
    >>> mkl = MultiTaskMKLClassifier(norm=2.0).fit(X, y, tasks=["a", "a", "b", "b"])
    >>> [weight["label"] for weight in mkl.kernel_weights_]
    ['union', 'individual']
    """

    def __init__(  # noqa: PLR0913
        self,
        features: Any = None,
        task_kernels: Any = None,
        norm: float = 2.0,
        C: float = 1.0,
        loss: str = "hinge",
        class_weight: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_epochs: int = 1000,
        dtype: str | None = None,
        random_state: Any = 0,
        from_relatives: bool = False,
    ) -> None:
        self.features = features
        self.task_kernels = task_kernels
        self.norm = norm
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_epochs = max_epochs
        self.dtype = dtype
        self.random_state = random_state
        self.from_relatives = from_relatives

    def _settings(self, X: Any, **options: Any) -> Settings:
        if self.norm is None:
            raise ValueError(
                "norm must be a number from 1 to infinity, got None; for one fixed kernel take "
                "MultiTaskSVC"
            )
        return super()._settings(X, norm=self.norm, **options)

    def _features(self, X: Any) -> Any:
        if isinstance(self.features, (list, tuple)):
            return JointFeatures(list(self.features))
        return super()._features(X)

    def _train(self, examples: Examples, settings: Settings) -> tuple[MultiTaskModel, Solution]:
        X, y, ids, names, weight = examples
        model, solution = train_model(
            X, y, ids, names,
            features=self._features(X), task_kernel=self.task_kernels, settings=settings,
            sample_weight=weight,
        )  # fmt: skip
        self.theta_: NDArray[np.float64] = solution.theta
        self.kernel_weights_: list[dict[str, Any]] = model.training["mkl"]
        return model, solution
