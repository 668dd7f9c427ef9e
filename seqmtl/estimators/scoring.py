"""Task-aware scorers for scikit-learn's searches and cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.utils.metadata_routing import MetadataRequest

from seqmtl._checks import check_choice
from seqmtl.sequences import TaskArray, Windows

_METRICS = {"auroc": roc_auc_score, "auprc": average_precision_score}


class TaskScorer:
    """Mean over tasks of the area under the ROC or precision-recall curve.

    scikit-learn's "roc_auc" cannot pass tasks to the classifier. This scorer uses the tasks that
    a TaskArray or Windows carry, or else requests `tasks`, which requires metadata routing to be
    enabled.

    Parameters
    ----------
    metric : {"auroc", "auprc"}, default="auroc"
        Area under the ROC curve, or average precision.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV
    >>> from seqmtl import MultiTaskKernelSVC, TaskScorer
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 4, [0, 1, 0, 1] * 4
    >>> tasks = (["a"] * 4 + ["b"] * 4) * 2
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     svc = MultiTaskKernelSVC(gamma=5.0).set_fit_request(tasks=True)
    ...     search = GridSearchCV(svc, {"C": [0.1, 10]}, scoring=TaskScorer("auroc"), cv=2)
    ...     float(search.fit(X, y, tasks=tasks).best_score_)
    1.0
    """

    def __init__(self, metric: str = "auroc") -> None:
        check_choice("metric", metric, _METRICS)
        self.metric = metric

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, tasks: Any = None) -> float:
        """Score a fitted binary classifier.

        Parameters
        ----------
        estimator : classifier
            With ``decision_function(X, tasks=...)``.
        X : array_like, TaskArray or Windows, shape (n, ...)
            Examples.
        y : array_like, shape (n,)
            Classes.
        tasks : sequence of str, shape (n,), optional
            Task of every example. Default: the tasks that `X` carries, or else a single task.

        Returns
        -------
        float
            Mean over the tasks with both classes.

        Raises
        ------
        ValueError
            If no task has both classes.
        """
        scores = estimator.decision_function(X, **({} if tasks is None else {"tasks": tasks}))
        if tasks is None:
            tasks = X.tasks if isinstance(X, (Windows, TaskArray)) else ["task"] * len(scores)
        names = np.asarray(tasks)
        positive = np.asarray(y) == estimator.classes_[-1]
        areas = []
        for name in np.unique(names):
            rows = names == name
            if 0 < positive[rows].sum() < rows.sum():
                areas.append(_METRICS[self.metric](positive[rows], scores[rows]))
        if not areas:
            raise ValueError("y must have both classes in some task, got none that has")
        return float(np.mean(areas))

    def get_metadata_routing(self) -> MetadataRequest:
        """Request the tasks."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="tasks", alias=True)
        return request

    def __repr__(self) -> str:
        return f"TaskScorer({self.metric!r})"
