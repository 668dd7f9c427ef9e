"""A trained multi-task model of windows: weights, tasks, calibration, and where they came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from seqmtl.exceptions import UnknownTaskError
from seqmtl.features.joint import flat_views
from seqmtl.models.base import Model, is_known
from seqmtl.models.packing import pack, unpack
from seqmtl.models.probability_curve import ProbabilityCurve
from seqmtl.models.site import Site, site_of_model
from seqmtl.sequences import Windows
from seqmtl.sequences.task_array import split_tasks
from seqmtl.sequences.windows import name_table
from seqmtl.similarity import TaskKernel
from seqmtl.similarity.names import match_names


@dataclass
class MultiTaskModel(Model):
    """Weights of several tasks over one feature map; see also :class:`~seqmtl.models.base.Model`.

    Attributes
    ----------
    features : FeatureDefinition
        The feature map, resolved.
    length : int
        Window length in bases.
    tasks : tuple of str
        Tasks that were trained on, T of them.
    kernel : TaskKernel
        Task kernel, or one per view of the features; the trained tasks first, then relatives
        without data.
    W : ndarray, shape (n_features, T)
        Weights.
    bias : ndarray of float64, shape (T,)
        Intercepts.
    site : Site
        Where the signal sits.
    """

    features: Any
    length: int
    tasks: tuple[str, ...]
    kernel: TaskKernel
    W: NDArray[Any]
    bias: NDArray[np.float64]
    calibration: NDArray[np.float64]
    site: Site
    training: dict[str, Any]
    shift: int = 0
    kind: str = "classification"
    curves: dict[str, ProbabilityCurve] = field(default_factory=dict)

    classes: tuple[Any, ...] = field(init=False, default=(-1, 1))
    feature_names: tuple[str, ...] = field(init=False, default=())

    structure: ClassVar[str] = "weights"

    @property
    def inputs(self) -> str:
        """What it scores."""
        return "numbers" if self.features.kind == "numeric" else "windows"

    @property
    def can_scan(self) -> bool:
        """Whether a score is a sum over the positions of a window."""
        return self.inputs == "windows"

    def predictions(
        self, data: Any, tasks: Any = None, *, from_relatives: bool = False
    ) -> dict[str, NDArray[Any]]:
        """Return task and score; the probability of classes, and -1 or 1 of novelties and others.

        Parameters as in :meth:`decision_function`.
        """
        data, tasks = split_tasks(data, tasks)
        scores = self.decision_function(data, tasks, from_relatives=from_relatives)
        names, ids = self._task_table(data, tasks)
        column = np.array(names, dtype=object)[ids]
        found = {"organism" if self.can_scan else "task": column, "score": scores}
        if self.kind == "classification":
            found["probability"] = self.probability(scores, column.tolist())
        if self.kind == "novelty":
            found["score"] = margins = scores - self.offsets(column.tolist())
            found["class"] = np.where(margins < 0, -1, 1)
        return found

    def decision_function(
        self, data: Any, tasks: Any = None, *, from_relatives: bool = False
    ) -> NDArray[np.float64]:
        """Score examples.

        Parameters
        ----------
        data : Windows, or ndarray or csr_matrix of shape (n, d)
            Windows of the model's length, or numeric features.
        tasks : str or sequence of str, optional
            Task of every example, or one for all. Default: the tasks that windows carry, or the
            only task of the model.
        from_relatives : bool, default=False
            Score a task without training data by its relatives, f = sum_s K[new, s] v_s, where
            the task kernel knows it.

        Returns
        -------
        ndarray of float64, shape (n,)

        Raises
        ------
        UnknownTaskError
            If a task was not trained on.
        ValueError
            If the examples have another length, or their tasks are not known.
        """
        data, tasks = split_tasks(data, tasks)
        if data.shape[1] != self.length:
            n, found = self.length, data.shape[1]
            if isinstance(data, Windows):
                rule, remedy = f"windows must have {n} bases", "; cut them with Windows.center"
            else:
                rule, remedy = f"X must have {n} features", ""
            raise ValueError(f"{rule} as in training, got {found}{remedy}")
        names, ids = self._task_table(data, tasks)
        W, bias = self.weights(names, from_relatives=from_relatives)
        return self.features.bind(data).scores(W, ids) + bias[ids]

    def weights(
        self, names: Sequence[str], *, from_relatives: bool = False
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the weights, shape (n_features, len(names)), and intercepts of some tasks."""
        A = self._mixing(names, from_relatives)
        if np.array_equal(A, np.eye(len(self.tasks))):
            return self.W, self.bias
        W = np.empty((self.W.shape[0], len(names)), dtype=self.W.dtype)
        for columns, K in self._views():
            _mix(self.W[columns], self._mixing(names, from_relatives, K), W[columns])
        return W, self.bias @ A

    def _views(self) -> list[tuple[slice, NDArray[np.float64]]]:
        """Return rows of W and task kernel of every view of the features."""
        views = flat_views(self.features)
        ends = np.cumsum([view.n_features(self.length) for view in views])
        kernels = self.kernel.matrices
        if len(kernels) == 1:
            kernels = np.broadcast_to(kernels, (len(ends), *kernels.shape[1:]))
        return [
            (slice(int(end) - size, int(end)), K)
            for end, size, K in zip(ends, np.diff(ends, prepend=0), kernels, strict=True)
        ]

    def position_weights(
        self, task: str, *, from_relatives: bool = False
    ) -> list[NDArray[np.float64]]:
        """Weights of one task position by position: all that scores and explanations need.

        Returns
        -------
        list of ndarray of float64
            For d = 1..S, S the longest k-mers, an array of shape (length, 4**d): what the d-mer
            with this base-4 number adds to the score where it starts at this position. A d-mer
            that covers a letter other than A, C, G, T adds nothing.

        Raises
        ------
        SeqmtlError
            If the model is not one of windows of DNA.
        MemoryLimitError
            If the weights of all S-mers do not fit into memory.
        """
        column = self.weights([task], from_relatives=from_relatives)[0][:, 0]
        found: list[NDArray[np.float64]] = self.features.position_weights(column, self.length)
        return found

    def _mixing(
        self, names: Sequence[str], from_relatives: bool, K: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return A with W_names = W A, shape (T, len(names)), where K is the task kernel.

        Default: the mean over the views, which holds for the intercepts.
        """
        T = len(self.tasks)
        K = self.kernel.matrix if K is None else K
        A = np.zeros((T, len(names)))
        for column, name in enumerate(names):
            try:
                A[match_names([name], self.tasks, "this model")[0], column] = 1.0
                continue
            except UnknownTaskError as error:
                if not from_relatives:
                    known = len(self.kernel) > T and is_known(name, self.kernel.names)
                    hint = "; ask for a prediction from its relatives to use it all the same"
                    raise UnknownTaskError(
                        f"task {name!r} was not trained on (the model has "
                        f"{', '.join(self.tasks)}){hint if known else ''}"
                    ) from error
            i = match_names([name], self.kernel.names, "the model's task kernel")[0]
            A[:, column] = np.linalg.pinv(K[:T, :T], hermitian=True) @ K[:T, i]
        return A

    def _task_table(self, data: Any, tasks: Any) -> tuple[list[str], NDArray[np.int64]]:
        """Return the distinct tasks of some examples, and the number of each example's task."""
        n = data.shape[0]
        if isinstance(tasks, str):
            return [tasks], np.zeros(n, dtype=np.int64)
        if tasks is None:
            if isinstance(data, Windows):
                used, ids = np.unique(data.task_ids, return_inverse=True)
                return [data.task_names[t] for t in used], ids.astype(np.int64)
            if len(self.tasks) > 1:
                raise ValueError(
                    f"tasks must be given: the model has {len(self.tasks)} tasks "
                    f"({', '.join(self.tasks[:5])}) and the examples do not say theirs"
                )
            return list(self.tasks), np.zeros(n, dtype=np.int64)
        names, numbers = name_table(tasks)
        if numbers.size != n:
            raise ValueError(f"tasks must have one entry per example ({n}), got {numbers.size}")
        return names, numbers.astype(np.int64)

    def check_dataset(self, path: str) -> None:
        """Refuse a dataset whose signal is another, or elsewhere in the window."""
        site_of_model(self.site, path, self.length, self.shift)

    def describe(self) -> dict[str, Any]:
        """Return what the model is, as JSON values."""
        from seqmtl.models.weights_text import describe

        return describe(self)

    def text(self, file: str) -> list[str]:
        """Return what the model is, as lines to read; `file` is what to call it."""
        from seqmtl.models.weights_text import lines

        return lines(self, file)

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return pack(self)

    @classmethod
    def _unpack(
        cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]], common: dict[str, Any]
    ) -> MultiTaskModel:
        return cls(**common, **unpack(description, arrays))


def _mix(W: NDArray[Any], A: NDArray[np.float64], out: NDArray[Any]) -> None:
    """Set out to W A, a slab at a time; where A only picks columns, they are copied."""
    picked = A.argmax(axis=0)
    is_pick = np.array_equal(A, np.eye(A.shape[0])[:, picked])
    for first in range(0, W.shape[0], 1 << 20):
        slab = W[first : first + (1 << 20)]
        out[first : first + (1 << 20)] = slab[:, picked] if is_pick else slab @ A
