"""The interface that all models share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import brief
from seqmtl._names import NameIndex, match_names
from seqmtl._surroundings import usual_floats
from seqmtl._version import __version__
from seqmtl.calibration.curve import (
    CalibrationCurve,
    describe_curve,
    fit_consensus_offsets,
    fit_curve,
    forms_of_curves,
    mean_curve,
    pack_curves,
    to_probability,
    unpack_curves,
)
from seqmtl.calibration.sigmoid import CALIBRATION
from seqmtl.exceptions import ModelFileError, SeqmtlError
from seqmtl.sequences.windows import name_table

if TYPE_CHECKING:
    from seqmtl.files.model_file import Forms
    from seqmtl.scanning.candidate_scores import CandidateScores
    from seqmtl.scanning.predictor import Predictor
    from seqmtl.training.example_source import ExampleSource

FORMAT = "seqmtl model"
FORMAT_VERSION = 1
#: Structures of models, with what takes them.
_TAKEN_BY = {
    "weights": "predict, evaluate, calibrate, adapt, scan, variants, explain and info take it",
    "pairs": (
        "evaluate, scan, adapt, variants and info take it; it is calibrated: to change that, "
        "calibrate the donor and the acceptor model and run seqmtl pair again"
    ),
}


class Model:
    """A trained multi-task model.

    A subclass is a dataclass with these attributes, and its structure is in `_TAKEN_BY`. It
    implements `inputs`, `decision_function` (scores), `predictions` (the table of predictions),
    `describe` and `text` (summaries), `score_labelled` (for evaluation), `without_weights`, and
    `_pack`, `_forms` and `_unpack` (the part of the model file that follows the common header); a
    model that is not of weights checks that header in a `_check` of its own. One that finds sites
    has a `_predictor`.

    Attributes
    ----------
    structure : {"weights", "pairs"}
        Representation of the trained function.
    signals : tuple of str
        Signals of the datasets that it is evaluated on, each of one; "" if it is for any.
    learns_from_genome : bool
        Whether it is adapted to an organism by its genome, without labels.
    inputs : {"windows", "numbers", "genomes"}
        Type of the examples.
    shift : int
        Offset in bases of the windows from the centre of the sequences they are cut from.
    kind : {"classification", "regression"}
        Learning problem.
    tasks : tuple of str
        Training tasks, T of them.
    bias : ndarray of float64, shape (T,)
        Intercepts.
    calibration : ndarray of float64, shape (T, k)
        Calibration of each task: slope and intercept of the sigmoid. In regression k = 0.
    curves : dict of str to CalibrationCurve
        Calibration curve of each task that was calibrated on held-out examples; replaces the
        sigmoid.
    training : dict
        Settings, counts, objectives and history, as JSON values.
    """

    structure: ClassVar[str]
    signals: ClassVar[tuple[str, ...]] = ("",)
    learns_from_genome: ClassVar[bool] = False
    shift: int
    kind: str
    tasks: tuple[str, ...]
    bias: NDArray[np.float64]
    calibration: NDArray[np.float64]
    curves: dict[str, CalibrationCurve]
    training: dict[str, Any]

    @property
    def inputs(self) -> str:
        """Type of the examples."""
        raise NotImplementedError

    def decision_function(self, data: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Score examples."""
        raise NotImplementedError

    def predictions(self, data: Any, tasks: Any = None) -> dict[str, NDArray[Any]]:
        """Predict examples; return the columns of the prediction table by name.

        The parameters are those of :meth:`decision_function`.
        """
        raise NotImplementedError

    def predict_proba(self, data: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Return the probabilities of both classes, shape (n, 2).

        The parameters are those of :meth:`decision_function`.

        Raises
        ------
        ValueError
            If the model is not a classifier.
        """
        self._require_classes()
        positive = self.predictions(data, tasks)["probability"]
        return np.column_stack([1.0 - positive, positive])

    def describe(self) -> dict[str, Any]:
        """Return a summary of the model as JSON values."""
        raise NotImplementedError

    def text(self, file: str) -> list[str]:
        """Return a readable summary of the model, line by line; `file` is the name to show."""
        raise NotImplementedError

    def __repr__(self) -> str:
        names = ", ".join(self.tasks[:5]) + ", ..." * (len(self.tasks) > 5)
        return f"{type(self).__name__} of {names}"

    @usual_floats
    def probability(self, scores: NDArray[np.float64], tasks: Sequence[str]) -> NDArray[np.float64]:
        """Convert scores to calibrated probabilities, shape (n,).

        A task without training data uses the weighted mean log-odds of its relatives.

        Raises
        ------
        ValueError
            If the model is not a classifier.
        """
        names, ids = name_table(tasks)
        scores, out = np.asarray(scores, dtype=np.float64), np.empty(len(scores))
        for t, name in enumerate(names):
            out[ids == t] = self.log_odds(scores[ids == t], name)
        return to_probability(out)

    @usual_floats
    def log_odds(self, scores: NDArray[np.float64], task: str) -> NDArray[np.float64]:
        """Convert scores of one task to log-odds of the positive class, shape (n,).

        Raises
        ------
        ValueError
            If the model is not a classifier.
        """
        return self.log_odds_of(task)(scores)

    def log_odds_of(self, task: str) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Return the function that :meth:`log_odds` applies to scores of one task."""
        shares = self._shares([task])[:, 0]
        used, curves = np.flatnonzero(shares), []
        for t in used.tolist():
            slope, intercept = self.calibration[t].tolist()
            line = CalibrationCurve(np.zeros(1), np.array([intercept]), np.array([slope, slope]))
            curves.append(self.curves.get(self.tasks[t], line))
        return mean_curve(curves, shares[used].tolist()).__call__

    def calibrate(
        self,
        task: str,
        scores: NDArray[np.float64],
        y: NDArray[Any],
        counts: NDArray[Any] | None = None,
        method: str = "auto",
        prevalence: float | None = None,
        consensus: NDArray[Any] | None = None,
    ) -> dict[str, Any]:
        """Calibrate one task on scores of candidates that were not used for training.

        Parameters
        ----------
        task : str
            One of the training tasks.
        scores, y, counts, method, prevalence
            See :func:`seqmtl.calibration.curve.fit_curve`.
        consensus : ndarray of int, shape (n,), optional
            Number of the consensus of each candidate, -1 for none: their scores move, see
            ``fit_consensus_offsets``.

        Returns
        -------
        dict
            Method, counts, prevalence and a table of thresholds; also stored in
            ``training["calibration"]``.
        """
        name = self.match(task)
        if consensus is not None:
            shifts = fit_consensus_offsets(scores, y, consensus, counts, method)
            scores = scores + shifts[consensus]
        curve = fit_curve(scores, y, counts, method, prevalence)
        summary = describe_curve(curve, scores, y, counts, prevalence)
        if consensus is not None:
            self._add_consensus_offsets(name, shifts[:-1])
        curves = {**self.curves, name: curve}
        done = {**self.training.get("calibration", {}), name: summary}
        self.curves = {task: curves[task] for task in self.tasks if task in curves}
        done = {task: done[task] for task in self.tasks if task in done}
        self.training = {**self.training, "calibration": done}
        return dict(summary)

    def _add_consensus_offsets(self, task: str, shifts: NDArray[np.float64]) -> None:
        """Add to the scores of each consensus in one task."""
        raise NotImplementedError

    def prevalence(self, task: str) -> float:
        """Return the prevalence that a task's probabilities assume.

        This is the prevalence set at calibration or, without calibration, the weighted share of
        positive training examples. A task without training data uses the mean over all tasks.
        """
        is_there, shares = task in self.tasks, []
        matches = [task] if is_there else [self.tasks[t] for t in NameIndex(self.tasks).find(task)]
        for name in matches or self.tasks:
            counts = self.training["tasks"][name]
            calibration = self.training.get("calibration", {}).get(name, {})
            shares.append(calibration.get("prevalence", counts.get("n_positive", 0) / counts["n"]))
        return float(np.mean(shares))

    def predictor(
        self,
        organism: str | None = None,
        *,
        like: str | None = None,
        genome: str | None = None,
    ) -> Predictor:
        """Return what finds the sites of an organism, and introns, in letters.

        Parameters
        ----------
        organism : str, optional
            One of the model, or a relative in its task kernel; with `like` the name of a new one.
            Default: the only one of the model; with `like` that name, or the name of the genome if
            it is auto or one of the model.
        like : str, optional
            Relative of a new organism: a species, clade, common name or NCBI taxid, or auto.
        genome : str, optional
            FASTA file of the new organism. A model of pairs then settles on it how much each
            relative counts. Default: by the tree alone.

        Raises
        ------
        UnknownTaskError
            If the model lacks the organism, or no organism or clade has the name `like`.
        UsageError
            If the model has several organisms, and none is named.

        Examples
        --------
        >>> import seqmtl
        >>> predictor = seqmtl.load("starter:splice").predictor(like="zebrafish")
        >>> predictor("ACGTTGCA" * 20).introns.size
        0
        """
        return self._predictor()(self, organism, like, genome)

    def _predictor(self) -> Callable[..., Predictor]:
        """Return the class of its predictors."""
        raise SeqmtlError(f"only models of windows of DNA find sites, got one of {self.inputs}")

    def score_labelled(self, sources: Sequence[ExampleSource], what: str) -> list[CandidateScores]:
        """Score the candidates of datasets, or labelled windows.

        Warns that `what` is misleading if the model was trained on them.

        Parameters
        ----------
        sources : sequence of ExampleSource
            A dataset of each of :attr:`signals`, or the files of a model of any.
        what : str
            Such as "this accuracy is".

        Raises
        ------
        SeqmtlError
            If the data do not fit the model.
        """
        raise NotImplementedError

    def without_weights(self) -> Self:
        """Return a copy that does without the file, for what is known of the model: it is small."""
        raise NotImplementedError

    def match(self, name: str) -> str:
        """Return the name of a task as the model spells it.

        Raises
        ------
        UnknownTaskError
            If the model was not trained on this task.
        """
        return self.tasks[match_names([name], self.tasks, "this model")[0]]

    def _require_classes(self) -> None:
        if self.kind != "classification":
            raise ValueError(
                f"probabilities need a model of classification, got one of {self.kind}; use its "
                "scores"
            )

    def _shares(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the weight of each training task's calibration, shape (T, len(names)).

        A training task uses no other calibration.
        """
        self._require_classes()
        share = np.abs(self._mixing(names))
        sums = share.sum(axis=0)
        return np.where(sums > 0, share / np.where(sums > 0, sums, 1.0), 1.0 / len(self.tasks))

    def _mixing(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the weights that express tasks by the training tasks, shape (T, len(names))."""
        A = np.zeros((len(self.tasks), len(names)))
        A[match_names(names, self.tasks, "the model"), np.arange(len(names))] = 1.0
        return A

    # ---- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, atomically.

        Raises
        ------
        ValueError
            If the model has no training summary.
        SeqmtlError
            If the file cannot be written.
        """
        from seqmtl.files.model_file import write_arrays

        write_arrays(path, *self.contents())

    def contents(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return header and arrays of the model file, checked; see :meth:`save`."""
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
        header = json.loads(json.dumps(header | description))
        arrays |= {"bias": self.bias, "calibration": self.calibration} | pack_curves(self.curves)
        self._check(header, arrays)
        return header, arrays

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model of this structure; dense weights are memory-mapped.

        Raises
        ------
        ModelFileError
            If the file is damaged, not a model, or of another structure or format version.
        """
        path = os.fspath(path)
        return cls.rebuild(path, *read_model_file(path, [cls.structure]))

    @classmethod
    def rebuild(
        cls, path: str, description: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> Self:
        """Rebuild a model from the contents of its file.

        Raises
        ------
        ModelFileError
            If they are inconsistent.
        """
        try:
            cls._check(description, arrays)
            return cls._unpack(description, arrays, _common(description, arrays))
        except ValueError as error:
            raise damaged(error, path) from error

    @classmethod
    def _check(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Raise ValueError for contents that are not those of a model file."""
        from seqmtl.files.model_file import check_arrays
        from seqmtl.linear_model.schema import check_header

        check_header(description)
        check_arrays(arrays, _forms(description) | cls._forms(description, arrays))

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return description and arrays of everything that is not in the common header."""
        raise NotImplementedError

    @classmethod
    def _forms(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Forms:
        """Return types and shapes of the arrays that are not common to all models."""
        raise NotImplementedError

    @classmethod
    def _unpack(
        cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]], common: dict[str, Any]
    ) -> Self:
        """Rebuild a model from its checked file; `common` holds the fields that all models share.

        Raises ValueError for parts that contradict each other.
        """
        raise NotImplementedError


def read_model_file(
    path: str, only: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return description and arrays of a model file, of any structure, or `only` of some.

    Raises
    ------
    ModelFileError
        If the file is damaged, not a model, or of another structure or format version.
    """
    from seqmtl.files.model_file import read_arrays

    description, arrays = read_arrays(path)
    version = description.get("format_version")
    if description.get("format") != FORMAT or type(version) is not int:
        raise ModelFileError("is not a seqmtl model", path=path)
    if version != FORMAT_VERSION:
        raise ModelFileError(
            f"has model format {brief(version)}, but this seqmtl ({__version__}) reads "
            f"{FORMAT_VERSION}; train again, or install the seqmtl that wrote it",
            path=path,
        )
    if description.get("model") not in list(_TAKEN_BY):  # it may be a list, which has no hash
        got, expected = brief(description.get("model")), ", ".join(map(repr, _TAKEN_BY))
        raise damaged(f"model must be one of {expected}, got {got}", path)
    if only and (structure := description["model"]) not in only:
        message = f"is a model of {structure}, not of {' or '.join(only)}; {_TAKEN_BY[structure]}"
        raise ModelFileError(message, path=path)
    return description, arrays


def damaged(fault: object, path: str) -> ModelFileError:
    """Return the error for a model file whose content is wrong although its checksum fits."""
    return ModelFileError(f"{fault}; the file is damaged or was edited; train again", path=path)


def _forms(description: dict[str, Any]) -> Forms:
    """Return types and shapes of the arrays that all models have."""
    T, n = len(description["tasks"]), len(description["calibrated"])
    forms: Forms = {
        "bias": ("float64", (T,)),
        "calibration": ("float64", (T, len(CALIBRATION[description["kind"]]))),
    }
    return forms | (forms_of_curves(n) if n else {})


def _common(description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the fields that all models share."""
    kind, calibration = description["kind"], np.array(arrays["calibration"])
    if kind == "classification" and (calibration[:, 0] < 0).any():
        raise ValueError("array calibration must hold slopes of at least 0")
    return {
        "kind": kind,
        "tasks": tuple(description["tasks"]),
        "bias": np.array(arrays["bias"]),
        "calibration": calibration,
        "curves": unpack_curves(description["calibrated"], arrays),
        "training": dict(description["training"]),
        "shift": description["shift"],
    }


def is_known(name: str, names: Sequence[str]) -> bool:
    """Return whether a name matches one of `names`, in any spelling."""
    return len(NameIndex(names).find(name)) == 1
