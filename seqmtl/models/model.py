"""A trained multi-task model of windows: weights, tasks, calibration, and where they came from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._version import __version__
from seqmtl.exceptions import ModelFileError, UnknownTaskError
from seqmtl.features.joint import flat_views
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.models.packing import FORMAT_VERSION, pack, unpack
from seqmtl.models.probability_curve import (
    ProbabilityCurve,
    describe_curve,
    fit_curve,
    to_probability,
)
from seqmtl.models.site import Site
from seqmtl.sequences import Windows
from seqmtl.sequences.windows import name_table
from seqmtl.similarity import TaskKernel
from seqmtl.similarity.names import match_names


@dataclass
class MultiTaskModel:
    """Weights of several tasks over one feature map.

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
    calibration : ndarray of float64, shape (T, k)
        What the scores of every task mean. Classification: slope and intercept of the sigmoid;
        novelty: offset, the score from which on an example is none; regression: k = 0.
    site : Site
        Where the signal sits.
    training : dict
        Settings, counts, objectives and history, as JSON values.
    shift : int
        Bases by which the window lies after the centre of the sequences it is cut from.
    kind : {"classification", "regression", "novelty"}
        What was learned.
    curves : dict of str to ProbabilityCurve
        By task, what scores mean where the model was calibrated on held-out windows; takes the
        place of the sigmoid.
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

    def probability(self, scores: NDArray[np.float64], tasks: Sequence[str]) -> NDArray[np.float64]:
        """Turn scores into probabilities by the calibration of each task, shape (n,).

        A task without training data borrows the log-odds of its relatives.

        Raises
        ------
        ValueError
            If the model is not one of classification.
        """
        names, ids = name_table(tasks)
        scores, out = np.asarray(scores, dtype=np.float64), np.empty(len(scores))
        for t, name in enumerate(names):
            out[ids == t] = self.log_odds(scores[ids == t], name)
        return to_probability(out)

    def log_odds(self, scores: NDArray[np.float64], task: str) -> NDArray[np.float64]:
        """Turn scores of one task into log-odds of a true site, shape (n,).

        Raises
        ------
        ValueError
            If the model is not one of classification.
        """
        shares = self._shares([task], "classification", "probabilities")[:, 0]
        sum_ = np.zeros(len(scores))
        for t in np.flatnonzero(shares):
            curve = self.curves.get(self.tasks[t])
            a, b = self.calibration[t]
            sum_ += shares[t] * (a * scores + b if curve is None else curve(scores))
        return sum_

    def offsets(self, tasks: Sequence[str]) -> NDArray[np.float64]:
        """Score below which an example of each task is a novelty, shape (n,).

        A task without training data borrows the offsets of its relatives.

        Raises
        ------
        ValueError
            If the model is not one of novelty detection.
        """
        names, ids = name_table(tasks)
        shares = self._shares(names, "novelty", "offsets")
        return np.asarray(shares.T @ self.calibration)[ids, 0]

    def match(self, name: str) -> str:
        """Return the task's name in the model's own spelling.

        Raises
        ------
        UnknownTaskError
            If the model was not trained on it.
        """
        return self.tasks[match_names([name], self.tasks, "this model")[0]]

    def calibrate(
        self,
        task: str,
        scores: NDArray[np.float64],
        y: NDArray[Any],
        counts: NDArray[Any] | None = None,
        method: str = "auto",
        prevalence: float | None = None,
    ) -> dict[str, Any]:
        """Calibrate one task on scores of candidates that had no part in the training.

        Parameters
        ----------
        task : str
            One of the trained tasks.
        scores, y, counts, method, prevalence
            See :func:`seqmtl.models.probability_curve.fit_curve`.

        Returns
        -------
        dict
            Method, counts, prevalence, and a table of thresholds; kept in
            ``training["calibration"]`` too.
        """
        name = self.match(task)
        curve = fit_curve(scores, y, counts, method, prevalence)
        found = describe_curve(curve, scores, y, counts, prevalence)
        curves = {**self.curves, name: curve}
        done = {**self.training.get("calibration", {}), name: found}
        self.curves = {task: curves[task] for task in self.tasks if task in curves}
        done = {task: done[task] for task in self.tasks if task in done}
        self.training = {**self.training, "calibration": done}
        return dict(found)

    def prevalence(self, task: str) -> float:
        """Return the share of true sites at which a task's probabilities hold.

        That of the calibration, weighted, else that of the training windows. A task without
        training data has the mean of all.
        """
        known = [name for name in self.tasks if _is_known(task, [name])] or list(self.tasks)
        shares = []
        for name in known:
            counts = self.training["tasks"][name]
            found = self.training.get("calibration", {}).get(name, {})
            shares.append(found.get("prevalence", counts.get("n_positive", 0) / counts["n"]))
        return float(np.mean(shares))

    def _shares(self, names: Sequence[str], kind: str, what: str) -> NDArray[np.float64]:
        """Return whose calibration some tasks use, in the shares of the weights, (T, len(names)).

        For a task that was trained on, it is its own.
        """
        if self.kind != kind:
            raise ValueError(
                f"{what} must be asked of a model of {kind}, got one of {self.kind}; use its scores"
            )
        share = np.abs(self._mixing(names, True))
        sums = share.sum(axis=0)
        return np.where(sums > 0, share / np.where(sums > 0, sums, 1.0), 1.0 / len(self.tasks))

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
                    known = len(self.kernel) > T and _is_known(name, self.kernel.names)
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file; it appears when it is whole.

        Rows of zeros are left out where they are the majority.
        """
        write_arrays(path, *pack(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MultiTaskModel:
        """Read a model; dense weights stay on disk, memory-mapped.

        Raises
        ------
        ModelFileError
            If the file is damaged, foreign, or of another format.
        """
        return cls.from_arrays(*read_arrays(path), os.fspath(path))

    @classmethod
    def from_arrays(
        cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]], path: str
    ) -> MultiTaskModel:
        """Rebuild the model from what a file holds."""
        version = description.get("format_version")
        if description.get("format") != "seqmtl model" or not isinstance(version, int):
            if description.get("model") == "kernel model":
                raise ModelFileError(
                    "is a model of kernels, not of weights; predict, evaluate and info take it",
                    path=path,
                )
            raise ModelFileError("is not a seqmtl model", path=path)
        if version != FORMAT_VERSION:
            remedy = "install a newer seqmtl" if version > FORMAT_VERSION else "train again"
            raise ModelFileError(
                f"has model format {version}, this seqmtl ({__version__}) reads "
                f"{FORMAT_VERSION}; {remedy}",
                path=path,
            )
        try:
            return cls(**unpack(description, arrays))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"is not a consistent model: {error}", path=path) from error


def _is_known(name: str, names: Sequence[str]) -> bool:
    try:
        match_names([name], names, "")
    except UnknownTaskError:
        return False
    return True


def _mix(W: NDArray[Any], A: NDArray[np.float64], out: NDArray[Any]) -> None:
    """Set out to W A, a slab at a time; where A only picks columns, they are copied."""
    picked = A.argmax(axis=0)
    is_pick = np.array_equal(A, np.eye(A.shape[0])[:, picked])
    for first in range(0, W.shape[0], 1 << 20):
        slab = W[first : first + (1 << 20)]
        out[first : first + (1 << 20)] = slab[:, picked] if is_pick else slab @ A
