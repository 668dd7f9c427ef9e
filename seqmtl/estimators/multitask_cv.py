"""A multi-task classifier that selects how much tasks share by cross-validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from seqmtl.estimators._base import FeatureParameters
from seqmtl.estimators._classifier import MultiTaskClassifier
from seqmtl.models.examples import Examples
from seqmtl.models.kernels import resolve_kernel
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.selection import COSTS, Space
from seqmtl.models.training import Settings
from seqmtl.solvers.dcd import Solution


@dataclass(eq=False, repr=False)
class MultiTaskClassifierCV(FeatureParameters, MultiTaskClassifier):
    """Support vector machine for several tasks that selects by cross-validation what they share.

    This is the default of ``seqmtl train``. For each task it selects the trust in its relatives,
    between one SVM per task and one for all, and the cost. The hyperparameters are averages
    weighted by held-out log-likelihood (see :mod:`seqmtl.models.selection`). A final
    :class:`~seqmtl.MultiTaskSVC` is trained with them on all examples.

    Parameters
    ----------
    features : FeatureDefinition, optional
        Feature map; its ``variants()``, if any, are tried as well. Default:
        ``PositionalKmers()`` for :class:`~seqmtl.Windows`, the identity for matrices.
    task_kernel : TaskKernel or array, optional
        Relation of the tasks; an array is in the order of the sorted task names. It is tried
        along with treating all tasks as alike, the default.
    costs : sequence of float, default=(1.0, 3.0, 10.0)
        Costs to choose from.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        Loss.
    class_weight : dict or "balanced", optional
        Factors on the cost by class.
    fit_intercept : bool, default=True
        Append a constant feature, regularised and coupled like any other.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_epochs : int, default=1000
        Maximum number of epochs; a warning is given if it is reached.
    dtype : {"float32", "float64"} or the NumPy type, optional
        Type of the weights. Default: float32 for strings, float64 for numbers.
    random_state : int or RandomState, default=0
        Seed of the folds and the visiting order.
    from_relatives : bool, default=False
        Predict tasks without training data from their relatives in the task kernel, instead of
        raising an error.

    Attributes
    ----------
    selection_ : dict
        The selection: per task "trust", "C", and the "weights" of the trust values.
    C_ : float
        Overall cost; the diagonal of the task kernel holds the task costs relative to it.
    classes_ : ndarray, shape (2,)
        Class labels.
    tasks_ : tuple of str
        Tasks, sorted by name.
    task_kernel_ : TaskKernel
        The selected task kernel.
    coef_ : ndarray, shape (n_tasks, n_features)
        Weights.
    intercept_ : ndarray, shape (n_tasks,)
        Intercepts.
    dual_coef_ : ndarray, shape (n,)
        Dual variables alpha.
    dual_gap_ : float
        Relative duality gap.
    n_iter_ : int
        Number of epochs.
    history_ : list of dict
        Epoch, work, gap and number of active examples at every full check of the problem.
    model_ : MultiTaskModel
        The fitted model; ``model_.save(path)`` saves it.
    n_features_in_ : int
        Numbers, or bases, per example.

    Examples
    --------
    >>> from seqmtl import MultiTaskClassifierCV
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [0.2, 0.9], [0.8, 0.1]] * 3, [0, 1, 0, 1] * 3
    >>> svc = MultiTaskClassifierCV().fit(X, y, tasks=["a", "a", "b", "b"] * 3)
    >>> svc.predict([[0.9, 0.2]], tasks=["b"])
    array([1])
    """

    task_kernel: Any = None
    costs: Any = COSTS
    _: KW_ONLY
    loss: str = "hinge"
    class_weight: Any = None
    fit_intercept: bool = True

    C = 1.0  # until one is chosen

    def _train(self, examples: Examples, settings: Settings) -> tuple[MultiTaskModel, Solution]:
        names = examples.names
        relation = None if self.task_kernel is None else resolve_kernel(self.task_kernel, names)
        costs = tuple(sorted(float(cost) for cost in self.costs))
        if not costs:
            raise ValueError("costs must hold at least one cost to choose from, got none")
        space = Space.of_sharing(names, relation, costs)
        model, solution = self._train_model(examples, settings, space=space)
        self.selection_: dict[str, Any] = model.training["selection"]
        self.C_: float = model.training["settings"]["C"]
        return model, solution
