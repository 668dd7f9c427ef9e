"""A trained model in dual form: support examples, their coefficients and the kernels.

    f_t(x) = sum_m sum_i A_m[t, t_i] a_i k_m(x, x_e(i)) + b_t

with a_i = alpha_i y_i. An example may belong to several tasks, with one support vector for each.
A_m is theta_m K_m if the kernels are multiplied by task kernels, and diag(theta_tm) if each task
has other kernel weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._names import match_names
from seqmtl._surroundings import usual_floats
from seqmtl.calibration.curve import to_probability
from seqmtl.kernel_mkl.one_vs_one import vote
from seqmtl.kernels import BaseKernel
from seqmtl.sequences.task_array import split_tasks
from seqmtl.sequences.windows import task_table

_BLOCK = 1 << 22  # kernel values at a time, 32 MB: a plain choice


@dataclass(eq=False, repr=False)
class KernelModel:
    """A multi-task model of support vectors and kernels.

    Attributes
    ----------
    kernels : tuple of BaseKernel
        k_m, M of them.
    examples : Windows or ndarray, shape (E, ...)
        Support examples.
    example_ids : ndarray of int, shape (n,)
        e(i), the example of every support vector.
    dual_coef : ndarray of float64, shape (n,)
        alpha_i y_i.
    task_ids : ndarray of int, shape (n,)
        Task of every support vector.
    coupling : ndarray of float64, shape (M, T, T)
        A_m.
    bias : ndarray of float64, shape (T,)
        Intercepts.
    calibration : ndarray of float64, shape (T, 2)
        Slope and intercept of the sigmoid of every task.
    tasks : tuple of str
        Names of the tasks.
    classes : tuple
        Classes, sorted. With more than two, the tasks are pairs of classes.
    """

    kernels: tuple[BaseKernel, ...]
    examples: Any
    example_ids: NDArray[Any]
    dual_coef: NDArray[np.float64]
    task_ids: NDArray[Any]
    coupling: NDArray[np.float64]
    bias: NDArray[np.float64]
    calibration: NDArray[np.float64]
    tasks: tuple[str, ...]
    classes: tuple[Any, ...] = (-1, 1)

    @usual_floats
    def decision_function(self, data: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Score examples.

        Parameters
        ----------
        data : Windows or ndarray, shape (n, ...)
            Examples, as the kernels accept them.
        tasks : str or sequence of str, optional
            Task of every example, or one for all. Default: the tasks of the windows, or the only
            task; with more than two classes, all pairs of classes.

        Returns
        -------
        ndarray of float64, shape (n,) or (n, n_classes)
            Positive for the second class. With several classes and no tasks, votes per class.

        Raises
        ------
        UnknownTaskError
            If the model was not trained on a task.
        ValueError
            If the tasks of the examples are unknown.
        """
        data, tasks = split_tasks(data, tasks)
        if tasks is None and len(self.classes) > 2:
            return vote(self._scores_of(data, np.arange(len(self.tasks))), len(self.classes))
        return self._scores_by_task(data, tasks)[0]

    @usual_floats
    def predict_proba(self, data: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Return the probabilities of both classes, shape (n, 2).

        The parameters are those of :meth:`decision_function`.

        Raises
        ------
        ValueError
            If there are more than two classes.
        """
        if len(self.classes) > 2:
            raise ValueError(
                f"probabilities need a model with two classes, got {len(self.classes)}; "
                "use the votes"
            )
        scores, ids = self._scores_by_task(*split_tasks(data, tasks))
        slope, intercept = self.calibration[ids].T
        positive = to_probability(slope * scores + intercept)
        return np.column_stack([1.0 - positive, positive])

    def _scores_by_task(
        self, data: Any, tasks: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return f_t(x) of every example for its task t, and t, shape (n,) each."""
        names, numbers = task_table(data, tasks, self.tasks)
        ids = np.array(match_names(names, self.tasks, "the model"), dtype=np.int64)[numbers]
        scores = np.empty(ids.size)
        for t in np.unique(ids):
            rows = np.flatnonzero(ids == t)
            scores[rows] = self._scores_of(data[rows], np.array([t]))[:, 0]
        return scores, ids

    def choose(self, scores: NDArray[np.float64], tasks: Any = None) -> NDArray[np.int64]:
        """Convert scores to class indices.

        Raises
        ------
        ValueError
            If the scores are those of single pairs of classes.
        """
        if scores.ndim == 2:
            return scores.argmax(axis=1)
        if len(self.classes) > 2:
            raise ValueError(
                f"tasks must be None to choose between {len(self.classes)} classes: the tasks of "
                "the model are pairs of classes"
            )
        return (scores > 0).astype(np.int64)

    def _scores_of(self, X: Any, task_rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Score all examples for the tasks with the given indices, shape (n, n_indices)."""
        scores = np.tile(self.bias[task_rows], (len(X), 1))
        for kernel, A in zip(self.kernels, self.coupling, strict=True):
            weights = np.zeros((len(self.examples), task_rows.size))
            np.add.at(
                weights,
                self.example_ids,
                A[task_rows][:, self.task_ids].T * self.dual_coef[:, None],
            )
            # an example of several support vectors, as in pairs of classes, is compared once
            used = np.flatnonzero(weights.any(axis=1))
            if not used.size:
                continue
            support, weights = self.examples[used], weights[used]
            step = max(1, _BLOCK // used.size)
            for first in range(0, len(X), step):
                part = slice(first, first + step)
                scores[part] += kernel(X[part], support) @ weights
        return scores
