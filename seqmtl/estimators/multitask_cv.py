"""The multi-task classifier that chooses by itself how much the tasks share."""

from __future__ import annotations

from typing import Any

from seqmtl.estimators._base import Examples
from seqmtl.estimators._classifier import MultiTaskClassifier
from seqmtl.models.kernels import resolve_kernel
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.selected import labelled, train_selected
from seqmtl.models.selection import COSTS, Space
from seqmtl.models.training import Settings
from seqmtl.solvers.dcd import Solution


class MultiTaskClassifierCV(MultiTaskClassifier):
    """Support vector machine for several tasks that chooses by cross-validation what they share.

    What ``seqmtl train`` does by default: for every task, how far it trusts its relatives, between
    a model of its own and one for all, and its cost. No labels are spent on it: the hyperparameters
    are averaged by their held-out log-likelihoods, and all labels train one
    :class:`~seqmtl.MultiTaskSVC` with them (see :mod:`seqmtl.models.selection`).

    Parameters
    ----------
    features : FeatureDefinition, optional
        How to see the examples; its ``variants()``, if it has any, are chosen from too. Default:
        ``PositionalKmers()`` for :class:`~seqmtl.Windows`, the numbers themselves for matrices.
    task_kernel : TaskKernel or array, optional
        Who is close to whom; an array is in the order of the sorted task names. It is tried beside
        taking all tasks as alike. Default: that alone.
    costs : sequence of float, default=(1.0, 3.0, 10.0)
        Costs to choose from.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        Loss.
    class_weight : dict or "balanced", optional
        Factors on the cost by class.
    fit_intercept : bool, default=True
        Append a constant feature, regularised and coupled like any other.
    tol : float, default=1e-3
        Relative duality gap to stop at.
    max_epochs : int, default=1000
        Epochs at most; a warning is given if they do not suffice.
    dtype : {"float32", "float64"}, optional
        Of the weights. Default: float32 for strings, float64 for numbers.
    random_state : int or RandomState, default=0
        Folds and visiting order.
    from_relatives : bool, default=False
        Predict tasks without training data by their relatives in the task kernel, instead of
        refusing them.

    Attributes
    ----------
    selection_ : dict
        What was chosen: for every task "trust", "C", and the "weights" of the degrees of trust.
    C_ : float
        Cost of all; those of the tasks are on the diagonal of the task kernel, in units of it.
    classes_ : ndarray, shape (2,)
        Class labels.
    tasks_ : tuple of str
        Tasks, sorted by name.
    task_kernel_ : TaskKernel
        The task kernel that came out.
    coef_ : ndarray, shape (n_tasks, n_features)
        Weights.
    intercept_ : ndarray, shape (n_tasks,)
        Intercepts.
    dual_coef_ : ndarray, shape (n,)
        Dual variables alpha.
    dual_gap_ : float
        Relative duality gap reached.
    n_iter_ : int
        Epochs.
    history_ : list of dict
        Epoch, work, gap and active examples at every look at the whole problem.
    model_ : MultiTaskModel
        The model without scikit-learn around it; ``model_.save(path)`` keeps it.
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

    def __init__(  # noqa: PLR0913
        self,
        features: Any = None,
        task_kernel: Any = None,
        costs: Any = COSTS,
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
        self.task_kernel = task_kernel
        self.costs = costs
        self.loss = loss
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_epochs = max_epochs
        self.dtype = dtype
        self.random_state = random_state
        self.from_relatives = from_relatives

    def _settings(self, X: Any, **options: Any) -> Settings:
        return super()._settings(X, C=1.0, **options)  # replaced

    def _train(self, examples: Examples, settings: Settings) -> tuple[MultiTaskModel, Solution]:
        X, y, ids, names, weight = examples
        relation = None if self.task_kernel is None else resolve_kernel(self.task_kernel, names)
        costs = tuple(sorted(float(cost) for cost in self.costs))
        if not costs:
            raise ValueError("costs must hold at least one cost to choose from, got none")
        model, solution = train_selected(
            labelled(X, y, ids, names, weight), Space.of_sharing(names, relation, costs),
            features=self._features(X), settings=settings,
        )  # fmt: skip
        self.selection_: dict[str, Any] = model.training["selection"]
        self.C_: float = model.training["settings"]["C"]
        return model, solution
