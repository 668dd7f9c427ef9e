"""A trained model in kernel space: support examples, what each counts in every task, the kernels.

    f_t(x) = sum_m sum_i A_m[t, t_i] a_i k_m(x, x_e(i)) + b_t

with a_i = alpha_i y_i. An example may be in several tasks, and counts in each by itself. A_m is
theta_m K_m where kernels are products with task kernels, and the diagonal matrix of theta_tm where
tasks have kernels of their own.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._version import __version__
from seqmtl.exceptions import ModelFileError, UnknownTaskError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.kernels import BaseKernel, kernel_from_dict
from seqmtl.models.one_vs_one import vote
from seqmtl.sequences import Windows
from seqmtl.sequences.windows import name_table
from seqmtl.similarity.names import match_names

#: What a model file calls itself, by which it is told from one of weights.
KIND = "kernel model"
FORMAT_VERSION = 1
_CHUNK = 1 << 22  # kernel values at a time


@dataclass
class KernelModel:
    """Support vectors of several tasks, with their kernels.

    Attributes
    ----------
    kernels : tuple of BaseKernel
        k_m, M of them.
    examples : Windows or ndarray, shape (E, ...)
        Support examples.
    example_ids : ndarray of int, shape (n,)
        e(i), the example of every support vector.
    amounts : ndarray of float64, shape (n,)
        alpha_i y_i.
    task_ids : ndarray of int, shape (n,)
        Task of every support vector.
    coupling : ndarray of float64, shape (M, T, T)
        A_m.
    bias : ndarray of float64, shape (T,)
        Intercepts.
    tasks : tuple of str
        Names of the tasks.
    classes : tuple
        The classes, JSON values, sorted. Of two the second is positive; with more, the tasks are
        their pairs.
    training : dict
        How it was trained, as JSON values.
    feature_names : tuple of str
        Names of the numbers of an example, where known.
    """

    kernels: tuple[BaseKernel, ...]
    examples: Any
    example_ids: NDArray[Any]
    amounts: NDArray[np.float64]
    task_ids: NDArray[Any]
    coupling: NDArray[np.float64]
    bias: NDArray[np.float64]
    tasks: tuple[str, ...]
    classes: tuple[Any, ...] = (-1, 1)
    training: dict[str, Any] = field(default_factory=dict)
    feature_names: tuple[str, ...] = ()

    def task_scores(self, X: Any, tasks: str | Sequence[str]) -> NDArray[np.float64]:
        """Return f_t(x) of every example, t its task; shape (n,).

        Raises
        ------
        UnknownTaskError
            If a task was not trained on.
        ValueError
            If there is not one task per example.
        """
        n = len(X)
        is_one = isinstance(tasks, (str, int, np.integer))
        names, ids = name_table([tasks] * n if is_one else tasks)
        if ids.size != n:
            raise ValueError(f"tasks must have one entry per example ({n}), got {ids.size}")
        order = np.array(match_names(names, self.tasks, "the model"), dtype=np.int64)
        scores = np.empty(n)
        for number in range(len(names)):
            rows = np.flatnonzero(ids == number)
            scores[rows] = self._scores_of(X[rows], order[[number]])[:, 0]
        return scores

    def decision_function(self, X: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Score examples.

        Parameters
        ----------
        X : Windows or ndarray, shape (n, ...)
            Examples, as the kernels take them.
        tasks : str or sequence of str, optional
            Task of every example, or one for all. Default: what windows carry, or the only task;
            with more than two classes, all pairs of them.

        Returns
        -------
        ndarray of float64, shape (n,) or (n, n_classes)
            Positive for the second class; without tasks, votes for each of several classes.

        Raises
        ------
        UnknownTaskError
            If a task was not trained on, or it is not known of which task the examples are.
        """
        if tasks is None and len(self.classes) > 2:
            return vote(self._scores_of(X, np.arange(len(self.tasks))), len(self.classes))
        if tasks is None:
            tasks = self._carried_tasks(X)
        return self.task_scores(X, tasks)

    def predict(self, X: Any, tasks: Any = None) -> NDArray[Any]:
        """Return the class of every example; parameters as in :meth:`decision_function`."""
        return np.asarray(self.classes)[self.choose(self.decision_function(X, tasks), tasks)]

    def choose(self, scores: NDArray[np.float64], tasks: Any = None) -> NDArray[np.int64]:
        """Turn scores into numbers of classes.

        Raises
        ------
        ValueError
            If scores of single pairs of classes are given, which choose between two only.
        """
        if scores.ndim == 2:
            return scores.argmax(axis=1)
        if len(self.classes) > 2:
            raise ValueError(
                f"tasks must be None to choose between {len(self.classes)} classes: the tasks of "
                "the model are pairs of classes"
            )
        return (scores > 0).astype(np.int64)

    def _carried_tasks(self, X: Any) -> Any:
        if isinstance(X, Windows) and X.task_names != ("task",):
            return X.tasks
        if len(self.tasks) > 1:
            raise UnknownTaskError(
                f"tasks must be given: the model has several, {', '.join(self.tasks[:5])}; name "
                "that of every example (in a search with scoring=TaskScorer())"
            )
        return self.tasks[0]

    def _scores_of(self, X: Any, wanted: NDArray[np.int64]) -> NDArray[np.float64]:
        """Score all examples as of some tasks, by number; shape (n, len(wanted))."""
        scores = np.tile(self.bias[wanted], (len(X), 1))
        for kernel, A in zip(self.kernels, self.coupling, strict=True):
            weights = np.zeros((len(self.examples), wanted.size))
            np.add.at(
                weights, self.example_ids, A[wanted][:, self.task_ids].T * self.amounts[:, None]
            )
            used = np.flatnonzero(weights.any(axis=1))
            if not used.size:
                continue
            support, weights = self.examples[used], weights[used]
            step = max(1, _CHUNK // used.size)
            for first in range(0, len(X), step):
                part = slice(first, first + step)
                scores[part] += kernel(X[part], support) @ weights
        return scores

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file: arrays and JSON, no code.

        Raises
        ------
        ValueError
            If a kernel is a Python function, which no file can hold.
        SeqmtlError
            If the file cannot be written.
        """
        kind, arrays = _pack_examples(self.examples)
        description = {
            "model": KIND,
            "format": FORMAT_VERSION,
            "seqmtl": __version__,
            "kernels": [kernel.to_dict() for kernel in self.kernels],
            "examples": kind,
            "tasks": list(self.tasks),
            "classes": list(self.classes),
            "training": self.training,
            "feature_names": list(self.feature_names),
        }
        arrays |= {
            "example_ids": self.example_ids.astype(np.int64),
            "amounts": self.amounts,
            "task_ids": self.task_ids.astype(np.int64),
            "coupling": self.coupling,
            "bias": self.bias,
        }
        write_arrays(path, description, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> KernelModel:
        """Read what :meth:`save` wrote.

        Raises
        ------
        ModelFileError
            If the file is absent, foreign, damaged, or of a later version.
        """
        return cls.from_arrays(*read_arrays(path), os.fspath(path))

    @classmethod
    def from_arrays(
        cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]], path: str
    ) -> KernelModel:
        """Rebuild the model from what a file holds."""
        if description.get("model") != KIND:
            raise ModelFileError("is a model, but not one of kernels", path=path)
        if description.get("format") != FORMAT_VERSION:
            raise ModelFileError(
                f"has format {description.get('format')!r}, and this release reads "
                f"{FORMAT_VERSION}; update seqmtl",
                path=path,
            )
        try:
            model = cls(
                tuple(kernel_from_dict(entry) for entry in description["kernels"]),
                _unpack_examples(description["examples"], arrays),
                arrays["example_ids"],
                np.asarray(arrays["amounts"], dtype=np.float64),
                arrays["task_ids"],
                np.asarray(arrays["coupling"], dtype=np.float64),
                np.asarray(arrays["bias"], dtype=np.float64),
                tuple(map(str, description["tasks"])),
                tuple(description["classes"]),
                dict(description["training"]),
                tuple(map(str, description["feature_names"])),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(f"is not a whole kernel model: {error}", path=path) from error
        model._check(path)
        return model

    def _check(self, path: str) -> None:
        """Refuse arrays that do not fit together, and numbers that are none."""
        n, M, T, k = self.amounts.size, len(self.kernels), len(self.tasks), len(self.classes)
        fits = (
            (k == 2 or (k > 2 and T == k * (k - 1) // 2))
            and self.task_ids.dtype.kind == self.example_ids.dtype.kind == "i"
            and self.amounts.shape == self.task_ids.shape == self.example_ids.shape == (n,)
            and self.coupling.shape == (M, T, T)
            and self.bias.shape == (T,)
            and _are_numbers_below(self.task_ids, T)
            and _are_numbers_below(self.example_ids, len(self.examples))
        )
        if not fits:
            raise ModelFileError("is not a whole kernel model: its arrays do not fit", path=path)
        if not all(np.isfinite(a).all() for a in (self.amounts, self.coupling, self.bias)):
            raise ModelFileError("is not a whole kernel model: it has weights of NaN", path=path)


def _are_numbers_below(ids: NDArray[Any], limit: int) -> bool:
    return not ids.size or (int(ids.min()) >= 0 and int(ids.max()) < limit)


def _pack_examples(examples: Any) -> tuple[str, dict[str, NDArray[Any]]]:
    """Return what the examples are, and arrays that hold them."""
    if isinstance(examples, Windows):
        texts, kind = [str(s) for s in examples.sequences()], "windows"
    elif examples.dtype.kind in "UO":
        texts, kind = [str(s) for s in examples], "sequences"
    else:
        return "numbers", {"examples": np.asarray(examples, dtype=np.float64)}
    letters = np.frombuffer("".join(texts).encode("latin-1"), dtype=np.uint8)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return kind, {"letters": letters, "ends": ends}


def _unpack_examples(kind: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if kind == "numbers":
        return np.asarray(arrays["examples"], dtype=np.float64)
    letters = bytes(arrays["letters"]).decode("latin-1")
    ends = [0, *arrays["ends"].tolist()]
    if ends != sorted(ends) or ends[-1] != len(letters):
        raise ValueError("its sequences do not end where they should")
    texts = [letters[a:b] for a, b in itertools.pairwise(ends)]
    return Windows.from_strings(texts) if kind == "windows" else np.array(texts)
