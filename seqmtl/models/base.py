"""What every model answers, whatever it is made of."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import check_choice
from seqmtl._version import __version__
from seqmtl.exceptions import ModelFileError, UnknownTaskError
from seqmtl.files.model_file import read_arrays, write_arrays
from seqmtl.models.calibration import CALIBRATION
from seqmtl.models.probability_curve import (
    ProbabilityCurve,
    describe_curve,
    fit_curve,
    pack_curves,
    to_probability,
    unpack_curves,
)
from seqmtl.sequences.windows import name_table
from seqmtl.similarity.names import match_names

FORMAT = "seqmtl model"
FORMAT_VERSION = 5


class Model:
    """A trained model of several tasks: scores, probabilities, accuracy, description, file.

    A subclass is a dataclass with these attributes. It scores in `decision_function`, says in
    `predictions` what it finds, in `describe` and `text` what it is, and in `_pack` and `_unpack`
    what its file holds besides the header.

    Attributes
    ----------
    structure : {"weights", "kernels"}
        What it is made of.
    inputs : {"windows", "numbers", "sequences"}
        What it scores.
    length : int
        Bases, or numbers, per example; 0 where that varies.
    shift : int
        Bases by which windows lie after the centre of the sequences they are cut from.
    can_scan : bool
        Whether a score is a sum over positions, so that genomes can be scanned.
    kind : {"classification", "regression", "novelty"}
        What was learned.
    tasks : tuple of str
        Tasks that were trained on, T of them.
    classes : tuple
        The classes, JSON values, sorted. Of two the second is positive.
    bias : ndarray of float64, shape (T,)
        Intercepts.
    calibration : ndarray of float64, shape (T, k)
        What the scores of every task mean. Classification: slope and intercept of the sigmoid;
        novelty: offset, the score from which on an example is none; regression: k = 0.
    curves : dict of str to ProbabilityCurve
        By task, what scores mean where the model was calibrated on held-out examples; takes the
        place of the sigmoid.
    training : dict
        Settings, counts, objectives and history, as JSON values.
    feature_names : tuple of str
        Names of the numbers of an example, where known.
    """

    structure: ClassVar[str]
    length: int
    shift: int
    kind: str
    tasks: tuple[str, ...]
    classes: tuple[Any, ...]
    bias: NDArray[np.float64]
    calibration: NDArray[np.float64]
    curves: dict[str, ProbabilityCurve]
    training: dict[str, Any]
    feature_names: tuple[str, ...]

    @property
    def inputs(self) -> str:
        """What it scores."""
        raise NotImplementedError

    @property
    def can_scan(self) -> bool:
        """Whether a score is a sum over the positions of a window."""
        return False

    def decision_function(
        self, data: Any, tasks: Any = None, *, from_relatives: bool = False
    ) -> NDArray[np.float64]:
        """Score examples."""
        raise NotImplementedError

    def predictions(
        self, data: Any, tasks: Any = None, *, from_relatives: bool = False
    ) -> dict[str, NDArray[Any]]:
        """Return all that is predicted of some examples, column by column, by the column's name.

        Parameters as in :meth:`decision_function`.
        """
        raise NotImplementedError

    def predict_proba(
        self, data: Any, tasks: Any = None, *, from_relatives: bool = False
    ) -> NDArray[np.float64]:
        """Return the probabilities of the classes, shape (n, n_classes).

        Parameters as in :meth:`decision_function`.

        Raises
        ------
        ValueError
            If the model is not one of two classes.
        """
        self._require("classification", "probabilities")
        if len(self.classes) > 2:
            raise ValueError(
                f"probabilities must be asked of a model of two classes, got {len(self.classes)}; "
                "use the votes"
            )
        positive = self.predictions(data, tasks, from_relatives=from_relatives)["probability"]
        return np.column_stack([1.0 - positive, positive])

    def evaluate(
        self,
        labels: NDArray[Any],
        scores: NDArray[np.float64],
        tasks: Any,
        **options: Any,
    ) -> dict[str, Any]:
        """Judge scores by labels; see :func:`seqmtl.evaluation.evaluate`.

        Parameters
        ----------
        labels : ndarray, shape (n,)
            What :meth:`signs` returns.
        scores : ndarray of float64, shape (n,) or (n, n_classes)
            What :meth:`decision_function` returns.
        tasks : sequence of str, shape (n,)
            Tasks.
        **options
            Counts, n_bootstrap, seed.
        """
        from seqmtl.evaluation import evaluate

        return evaluate(labels, scores, tasks, **options)

    def signs(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Turn labels as data have them into what :meth:`evaluate` takes."""
        return labels

    def check_dataset(self, path: str) -> None:
        """Refuse a dataset whose signal is another, or elsewhere in the window.

        Raises
        ------
        SeqmtlError
            If it is.
        """

    def describe(self) -> dict[str, Any]:
        """Return what the model is, as JSON values."""
        raise NotImplementedError

    def text(self, file: str) -> list[str]:
        """Return what the model is, as lines to read; `file` is what to call it."""
        raise NotImplementedError

    # ---- what scores mean

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
        """Turn scores of one task into log-odds of the positive class, shape (n,).

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
        """Return the share of positive examples at which a task's probabilities hold.

        That of the calibration, weighted, else that of the training examples. A task without
        training data has the mean of all.
        """
        known = [name for name in self.tasks if is_known(task, [name])] or list(self.tasks)
        shares = []
        for name in known:
            counts = self.training["tasks"][name]
            found = self.training.get("calibration", {}).get(name, {})
            shares.append(found.get("prevalence", counts.get("n_positive", 0) / counts["n"]))
        return float(np.mean(shares))

    def match(self, name: str) -> str:
        """Return the task's name in the model's own spelling.

        Raises
        ------
        UnknownTaskError
            If the model was not trained on it.
        """
        return self.tasks[match_names([name], self.tasks, "this model")[0]]

    def _require(self, kind: str, what: str) -> None:
        if self.kind != kind:
            raise ValueError(
                f"{what} must be asked of a model of {kind}, got one of {self.kind}; use its scores"
            )

    def _shares(self, names: Sequence[str], kind: str, what: str) -> NDArray[np.float64]:
        """Return whose calibration some tasks use, in the shares of the scores, (T, len(names)).

        For a task that was trained on, it is its own.
        """
        self._require(kind, what)
        share = np.abs(self._mixing(names, True))
        sums = share.sum(axis=0)
        return np.where(sums > 0, share / np.where(sums > 0, sums, 1.0), 1.0 / len(self.tasks))

    def _mixing(self, names: Sequence[str], from_relatives: bool) -> NDArray[np.float64]:
        """Return the shares in which tasks are made of the trained ones, shape (T, len(names))."""
        A = np.zeros((len(self.tasks), len(names)))
        A[match_names(names, self.tasks, "the model"), np.arange(len(names))] = 1.0
        return A

    # ---- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, arrays and JSON; it appears when it is whole.

        Raises
        ------
        ValueError
            If a kernel is a Python function, which no file can hold.
        SeqmtlError
            If the file cannot be written.
        """
        description, arrays = self._pack()
        header = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "seqmtl_version": __version__,
            "model": self.structure,
            "kind": self.kind,
            "tasks": list(self.tasks),
            "shift": self.shift,
            "calibrated": list(self.curves),
            "training": self.training,
        }
        arrays |= {"bias": self.bias, "calibration": self.calibration}
        write_arrays(path, header | description, arrays | pack_curves(self.curves))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model of this structure; dense weights stay on disk, memory-mapped.

        Raises
        ------
        ModelFileError
            If the file is damaged, foreign, of another structure or of another format.
        """
        path = os.fspath(path)
        description, arrays = read_model_file(path)
        found = description.get("model")
        if found != cls.structure:
            raise ModelFileError(
                f"is a model of {found}, not of {cls.structure}; predict, evaluate, "
                "calibrate and info take it",
                path=path,
            )
        return cls.rebuild(path, description, arrays)

    @classmethod
    def rebuild(
        cls, path: str, description: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> Self:
        """Make a model of what its file holds.

        Raises
        ------
        ModelFileError
            If that is no consistent model.
        """
        try:
            return cls._unpack(description, arrays, _common(description, arrays))
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"is not a consistent model: {error}", path=path) from error

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return description and arrays of what the header does not hold."""
        raise NotImplementedError

    @classmethod
    def _unpack(
        cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]], common: dict[str, Any]
    ) -> Self:
        """Rebuild a model from its file; `common` are the fields that all models have."""
        raise NotImplementedError


def read_model_file(path: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return description and arrays of a file of this format.

    Raises
    ------
    ModelFileError
        If the file is damaged, foreign, or of another format.
    """
    description, arrays = read_arrays(path)
    version = description.get("format_version")
    if description.get("format") != FORMAT or not isinstance(version, int):
        raise ModelFileError("is not a seqmtl model", path=path)
    if version != FORMAT_VERSION:
        remedy = "install a newer seqmtl" if version > FORMAT_VERSION else "train again"
        raise ModelFileError(
            f"has model format {version}, this seqmtl ({__version__}) reads "
            f"{FORMAT_VERSION}; {remedy}",
            path=path,
        )
    return description, arrays


def _common(description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the fields that all models have."""
    kind, tasks = description["kind"], tuple(map(str, description["tasks"]))
    check_choice("kind", kind, CALIBRATION)
    if arrays["bias"].shape != (len(tasks),):
        raise ValueError("intercepts do not match the tasks")
    if arrays["calibration"].shape != (len(tasks), len(CALIBRATION[kind])):
        raise ValueError("calibration does not match the tasks")
    return {
        "kind": kind,
        "tasks": tasks,
        "bias": np.array(arrays["bias"], dtype=np.float64),
        "calibration": np.array(arrays["calibration"], dtype=np.float64),
        "curves": unpack_curves(description["calibrated"], arrays),
        "training": dict(description["training"]),
        "shift": int(description["shift"]),
    }


def is_known(name: str, names: Sequence[str]) -> bool:
    """Tell whether a name is among some, in whatever spelling."""
    try:
        match_names([name], names, "")
    except UnknownTaskError:
        return False
    return True
