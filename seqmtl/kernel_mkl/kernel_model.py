"""A trained model in dual form: support examples, their coefficients and the kernels.

    f_t(x) = sum_m sum_i A_m[t, t_i] a_i k_m(x, x_e(i)) + b_t

with a_i = alpha_i y_i. An example may belong to several tasks, with one support vector for each.
A_m is theta_m K_m if the kernels are multiplied by task kernels, and diag(theta_tm) if each task
has other kernel weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import refuse
from seqmtl._names import match_names
from seqmtl._surroundings import usual_floats
from seqmtl.calibration.curve import CalibrationCurve
from seqmtl.exceptions import UnknownTaskError
from seqmtl.files.model_file import Forms
from seqmtl.kernel_mkl.one_vs_one import vote
from seqmtl.kernels import BaseKernel, kernel_from_dict, short_name
from seqmtl.linear_model.base import Model
from seqmtl.linear_model.schema import part
from seqmtl.sequences import Windows
from seqmtl.sequences.task_array import split_tasks
from seqmtl.sequences.windows import name_table

_BLOCK = 1 << 22  # kernel values at a time, 32 MB: a plain choice


@dataclass(repr=False)
class KernelModel(Model):
    """A multi-task model of support vectors and kernels; see also :class:`Model`.

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
    tasks : tuple of str
        Names of the tasks.
    classes : tuple
        Classes as JSON values, sorted. With more than two, the tasks are pairs of classes.
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
    training: dict[str, Any] = field(default_factory=dict)
    kind: str = "classification"
    curves: dict[str, CalibrationCurve] = field(default_factory=dict)
    shift: int = 0

    structure: ClassVar[str] = "kernels"

    @property
    def inputs(self) -> str:
        """Type of the examples."""
        if isinstance(self.examples, Windows):
            return "windows"
        return "sequences" if self.examples.dtype.kind in "UO" else "numbers"

    def task_scores(self, X: Any, tasks: str | Sequence[str]) -> NDArray[np.float64]:
        """Return f_t(x) of every example for its task t, shape (n,).

        Raises
        ------
        UnknownTaskError
            If the model was not trained on a task.
        ValueError
            If the number of tasks differs from the number of examples.
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
            If the model was not trained on a task, or the tasks of the examples are unknown.
        """
        data, tasks = split_tasks(data, tasks)
        if tasks is None and len(self.classes) > 2:
            return vote(self._scores_of(data, np.arange(len(self.tasks))), len(self.classes))
        return self.task_scores(data, self._carried_tasks(data) if tasks is None else tasks)

    def predictions(self, data: Any, tasks: Any = None) -> dict[str, NDArray[Any]]:
        """Return task, score, class and probability; with several classes, votes and class.

        The parameters are those of :meth:`decision_function`.
        """
        data, tasks = split_tasks(data, tasks)
        if tasks is None and len(self.classes) <= 2:
            tasks = self._carried_tasks(data)
        scores = self.decision_function(data, tasks)
        classes = np.array(self.classes, dtype=object)[self.choose(scores)]
        if scores.ndim == 2:
            votes = zip(self.classes, scores.T, strict=True)
            return {**{f"votes_{name}": column for name, column in votes}, "class": classes}
        column = np.full(len(scores), tasks, dtype=object)
        probability = self.probability(scores, column.tolist())
        return {"task": column, "score": scores, "class": classes, "probability": probability}

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
        return super().predict_proba(data, tasks)

    def predict(self, X: Any, tasks: Any = None) -> NDArray[Any]:
        """Predict the class; parameters as `decision_function`."""
        return np.asarray(self.classes)[self.choose(self.decision_function(X, tasks), tasks)]

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

    def _carried_tasks(self, X: Any) -> Any:
        if isinstance(X, Windows) and X.task_names != ("task",):
            return X.tasks
        if len(self.tasks) > 1:
            raise UnknownTaskError(
                f"tasks must be given: the model has several, {', '.join(self.tasks[:5])}"
                f"{', ...' * (len(self.tasks) > 5)}; name the task of every example "
                "(in a search with scoring=TaskScorer())"
            )
        return self.tasks[0]

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

    def describe(self) -> dict[str, Any]:
        """Return a summary of the model as JSON values."""
        return {
            "tasks": list(self.tasks),
            "classes": list(self.classes),
            "kernels": [kernel.to_dict() for kernel in self.kernels],
            "n_support": len(self.dual_coef),
            "training": self.training,
        }

    def text(self, file: str) -> list[str]:
        """Return a readable summary of the model, line by line; `file` is the name to show."""
        return [
            f"model          {file}",
            f"classes        {', '.join(map(str, self.classes))}",
            f"kernels        {'; '.join(map(short_name, self.kernels))}",
            f"support        {len(self.dual_coef):,} vectors",
            "tasks          " + ", ".join(self.tasks),
        ]

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = _pack_examples(self.inputs, self.examples) | {
            "example_ids": self.example_ids.astype(np.int64),
            "amounts": self.dual_coef,
            "task_ids": self.task_ids.astype(np.int64),
            "coupling": self.coupling,
        }
        description = {
            "kernels": [kernel.to_dict() for kernel in self.kernels],
            "examples": self.inputs,
            "classes": list(self.classes),
        }
        return description, arrays

    @classmethod
    def _forms(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Forms:
        T, M = len(description["tasks"]), len(description["kernels"])
        n = arrays["amounts"].size if "amounts" in arrays else 0
        forms: Forms = {"letters": ("uint8", (None,)), "ends": ("int64", (None,))}
        if description["examples"] == "numbers":
            forms = {"examples": ("float64", (None, None))}
        return forms | {
            "example_ids": ("int64", (n,)),
            "amounts": ("float64", (n,)),
            "task_ids": ("int64", (n,)),
            "coupling": ("float64", (M, T, T)),
        }

    @classmethod
    def _unpack(
        cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]], common: dict[str, Any]
    ) -> KernelModel:
        with part("kernels"):
            kernels = tuple(kernel_from_dict(entry) for entry in description["kernels"])
        inputs = description["examples"]
        if any((kernel.inputs == "numbers") != (inputs == "numbers") for kernel in kernels):
            refuse("kernels", f"kernels of {inputs}", description["kernels"])
        examples = _unpack_examples(inputs, arrays)
        with part("examples"):
            for kernel in kernels:
                kernel.check_examples(examples)
        for name, n in (("task_ids", len(common["tasks"])), ("example_ids", len(examples))):
            if not _are_numbers_below(arrays[name], n):
                raise ValueError(f"array {name} must hold numbers from 0 to {n - 1}")
        return cls(
            kernels=kernels,
            examples=examples,
            classes=tuple(description["classes"]),
            example_ids=arrays["example_ids"],
            dual_coef=arrays["amounts"],
            task_ids=arrays["task_ids"],
            coupling=arrays["coupling"],
            **common,
        )


def _are_numbers_below(ids: NDArray[Any], limit: int) -> bool:
    return not ids.size or (int(ids.min()) >= 0 and int(ids.max()) < limit)


def _pack_examples(kind: str, examples: Any) -> dict[str, NDArray[Any]]:
    """Return arrays that store the examples."""
    if kind == "numbers":
        return {"examples": np.asarray(examples, dtype=np.float64)}
    texts = list(map(str, examples.sequences() if kind == "windows" else examples))
    letters = np.frombuffer("".join(texts).encode("latin-1"), dtype=np.uint8)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return {"letters": letters, "ends": ends}


def _unpack_examples(kind: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if kind == "numbers":
        return arrays["examples"]
    letters = bytes(arrays["letters"]).decode("latin-1")
    ends = [0, *arrays["ends"].tolist()]
    if ends != sorted(ends) or ends[-1] != len(letters):
        raise ValueError(f"array ends must hold rising numbers up to {len(letters)}")
    texts = [letters[a:b] for a, b in itertools.pairwise(ends)]
    if kind == "windows" and set(letters) - set("ACGTN"):
        raise ValueError("array letters must hold letters of DNA")
    return Windows.from_strings(texts) if kind == "windows" else np.array(texts)
