"""A trained multi-task model of windows or numbers: weights, tasks, calibration, provenance."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from seqmtl._checks import refuse
from seqmtl._memory import require_memory
from seqmtl._messages import is_first_time
from seqmtl._names import NameIndex, match_names
from seqmtl._surroundings import usual_floats
from seqmtl.calibration.sigmoid import CALIBRATION
from seqmtl.core.weights import TaskWeights
from seqmtl.exceptions import UnknownTaskError
from seqmtl.features._base import FeatureDefinition
from seqmtl.features.joint import features_from_dict
from seqmtl.linear_model.base import Model
from seqmtl.linear_model.site import Site
from seqmtl.relations import TaskKernel
from seqmtl.sequences import Windows
from seqmtl.sequences.task_array import split_tasks
from seqmtl.sequences.windows import task_table

if TYPE_CHECKING:
    from seqmtl.calibration.curve import CalibrationCurve
    from seqmtl.files.model_file import Forms
    from seqmtl.scanning.candidate_scores import CandidateScores
    from seqmtl.scanning.predictor import Predictor
    from seqmtl.training.example_source import ExampleSource

#: With the name of a task, the message that relatives score it, which is logged once.
SCORED_FROM_RELATIVES = "scored from relatives"

logger = logging.getLogger(__name__)


@dataclass(repr=False)
class MultiTaskModel(Model):
    """A multi-task model of weights on a feature map; see :class:`~seqmtl.linear_model.base.Model`.

    Attributes
    ----------
    features : FeatureDefinition
        Feature map with all parameters resolved.
    length : int
        Window length in bases.
    tasks : tuple of str
        Training tasks, T of them.
    kernel : TaskKernel
        Task kernel, one matrix or one per view of the features; training tasks first, then
        relatives without data.
    W : TaskWeights, shape (n_features, T)
        Weights; :class:`numpy.asarray` gives the matrix.
    bias : ndarray of float64, shape (T,)
        Intercepts.
    site : Site
        Position of the signal in the window.
    consensus_bias : ndarray of float64, shape (T, n), optional
        Added to the scores of windows with each of n alternatives of the consensus; by calibration.
    """

    features: FeatureDefinition
    length: int
    tasks: tuple[str, ...]
    kernel: TaskKernel
    W: TaskWeights
    bias: NDArray[np.float64]
    calibration: NDArray[np.float64]
    site: Site
    training: dict[str, Any]
    shift: int = 0
    kind: str = "classification"
    curves: dict[str, CalibrationCurve] = field(default_factory=dict)
    consensus_bias: NDArray[np.float64] | None = None

    structure: ClassVar[str] = "weights"

    @property
    def inputs(self) -> str:
        """Type of the examples."""
        return "numbers" if self.features.kind == "numeric" else "windows"

    @property
    def is_sliding(self) -> bool:
        """Whether some features need no positions, and there is no site: windows are anywhere."""
        views = self.features.flat_views()
        return not self.site.length and any(view.is_position_free for view in views)

    def predictions(self, data: Any, tasks: Any = None) -> dict[str, NDArray[Any]]:
        """Return task, score, and the class probability.

        For windows around a consensus such as AG, a last column tells which windows have it.

        The parameters are those of :meth:`decision_function`.
        """
        data, tasks = split_tasks(data, tasks)
        data = self._as_matrix(data)
        scores = self.decision_function(data, tasks)
        names, ids = task_table(data, tasks, self.tasks)
        column = np.array(names, dtype=object)[ids]
        columns = {"organism" if self.inputs == "windows" else "task": column, "score": scores}
        if self.kind == "classification":
            columns["probability"] = self.probability(scores, column.tolist())
        if self.inputs == "windows" and self.site.letters:
            columns["has_site"] = self.site.is_in(data)
        return columns

    @usual_floats
    def decision_function(self, data: Any, tasks: Any = None) -> NDArray[np.float64]:
        """Score examples.

        A task without training data is scored as f = sum_s a_s f_s, where a = K_SS^+ K_Sn, from
        its relatives in the task kernel; a message of the log says so, once.

        Parameters
        ----------
        data : Windows, or array_like or sparse matrix of shape (n, d)
            Windows of the model's length, of any length if no feature needs positions, or numeric
            features.
        tasks : str or sequence of str, optional
            Task of every example, or one for all. Default: the tasks of the windows, or the only
            task of the model.

        Returns
        -------
        ndarray of float64, shape (n,)

        Raises
        ------
        UnknownTaskError
            If the task kernel lacks a task.
        TypeError, ValueError
            If the examples have another type or length, or their tasks are unknown.
        """
        data, tasks = split_tasks(data, tasks)
        data = self._as_matrix(data)
        self.check_examples(data)
        names, ids = task_table(data, tasks, self.tasks)
        self.log_relatives(names)
        W, bias = self.weights(names)
        if self.inputs == "windows":
            self.site.warn_missing_consensus(data)
        scores: NDArray[np.float64] = self.features.bind(data).scores(W, ids) + bias[ids]
        if self.consensus_bias is not None:
            added = self.consensus_biases(names)
            scores += added[ids, self.site.consensus_of(data)]
        return scores

    def _as_matrix(self, data: Any) -> Any:
        """Return numeric features as an array or a CSR matrix."""
        if self.inputs == "windows" or isinstance(data, Windows):
            return data
        from sklearn.utils.validation import check_array

        return check_array(data, accept_sparse="csr", dtype=np.float64)

    def check_examples(self, data: Any) -> None:
        """Check that examples are of the type, length and site of those of the training.

        Raises
        ------
        TypeError, ValueError
            If they are not.
        """
        if self.inputs == "windows" and not isinstance(data, Windows):
            raise TypeError(
                f"windows must be Windows, got {type(data).__name__}; use Windows.from_strings"
            )
        if self.features.is_position_free:
            return
        n, length, remedy = self.length, data.shape[1], ""
        if isinstance(data, Windows):
            base = self.site.offset
            is_told = data.site is not None and self.site.length > 0
            method = f"with_site_at({base}, {n})" if is_told else f"center({n})"
            remedy = f"; cut them with Windows.{method}"
            if is_told and length == n and data.site != base:
                raise ValueError(
                    f"the site must begin at base {base} of {n} as in training, got base "
                    f"{data.site}{remedy}"
                )
        if length != n:
            what = f"windows must have {n} bases" if remedy else f"X must have {n} features"
            raise ValueError(f"{what} as in training, got {length}{remedy}")

    def _predictor(self) -> Callable[..., Predictor]:
        from seqmtl.scanning.predictor import SitePredictor, WindowPredictor

        return WindowPredictor if self.is_sliding else SitePredictor

    def score_labelled(self, sources: Sequence[ExampleSource], what: str) -> list[CandidateScores]:
        """Score the candidates of a dataset, or labelled windows; see :class:`Model`."""
        from seqmtl.scanning.candidate_scores import score_labelled

        return score_labelled(self, sources, what)

    def without_weights(self) -> MultiTaskModel:
        """Return a copy of the model without its weights, and its mapped file."""
        none = np.zeros((self.W.shape[0], 0), dtype=np.float32)
        return deepcopy(replace(self, W=TaskWeights.of(none, self.W.columns)))

    def log_relatives(self, names: Sequence[str]) -> None:
        """Log, once each, the tasks without training data, which are scored from relatives.

        Raises
        ------
        UnknownTaskError
            If the task kernel lacks a task.
        """
        for row in self._places(names).values():
            name = self.kernel.names[row]
            if row >= len(self.tasks) and is_first_time((SCORED_FROM_RELATIVES, name)):
                logger.info(
                    "%s: no training data, scored from its relatives, of which %s counts most",
                    name,
                    self.tasks[int(self._mixing([name])[:, 0].argmax())],
                )

    def weights(self, names: Sequence[str]) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return weights, shape (n_features, len(names)), and intercepts of tasks or relatives."""
        by_view = np.array([self._mixing(names, K) for K in self.kernel.matrices])
        return self.W.times(by_view), self.bias @ self._mixing(names)

    def weight_similarity(self) -> TaskKernel:
        """Return the cosine of the weights of every two tasks, without their intercepts.

        Raises
        ------
        MemoryLimitError
            If the weights of many tasks do not fit into memory.
        """
        (n, T), size = self.W.shape, self.W.dtype.itemsize
        require_memory(float(n) * T * size, f"the weights of {T} tasks", "ask for fewer features")
        W, G = self.weights(self.tasks)[0], np.zeros((T, T))
        for first in range(0, n, 1 << 18):
            slab = W[first : first + (1 << 18)].astype(np.float64)
            G += slab.T @ slab
        norms = np.sqrt(np.maximum(np.diagonal(G), 1e-300))
        K = G / np.outer(norms, norms)
        np.fill_diagonal(K, 1.0)
        return TaskKernel(self.tasks, K, "weights of the model")

    def consensus_biases(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return what is added to the scores of each consensus, shape (len(names), n + 1).

        The last column, 0, is for windows with none of them.
        """
        added = np.zeros((len(names), len(self.site.consensus) + 1))
        if self.consensus_bias is not None:
            added[:, :-1] = self._mixing(names).T @ self.consensus_bias
        return added

    def _add_consensus_offsets(self, task: str, shifts: NDArray[np.float64]) -> None:
        """Add to the scores of each consensus in one task."""
        biases = self.consensus_biases(self.tasks)[:, :-1]
        biases[self.tasks.index(task), : shifts.size] += shifts
        self.consensus_bias = biases if biases.any() else None

    def _by_consensus(self) -> dict[str, dict[str, float]]:
        """Return what is added to the scores of each consensus, by task."""
        rows = self.consensus_biases(self.tasks)[:, :-1].tolist()
        consensus = self.site.consensus
        return {
            task: dict(zip(consensus, row, strict=True))
            for task, row in zip(self.tasks, rows, strict=True)
            if any(row)
        }

    def position_weights(self, task: str) -> list[NDArray[np.float64]]:
        """Return the weights of one task by position, as scanning and explanations use them.

        Returns
        -------
        list of ndarray of float64
            For d = 1..S, where S is the longest k-mer length, an array of shape (length, 4**d):
            the contribution to the score of the d-mer with this base-4 index starting at this
            position. A d-mer with a letter other than A, C, G, T contributes nothing.

        Raises
        ------
        SeqmtlError
            If the inputs are not DNA windows.
        MemoryLimitError
            If the weights of all S-mers do not fit into memory.
        """
        from seqmtl.linear_model.position_weights import position_weights

        return position_weights(self, [task])(0, self.length)

    def _mixing(
        self, names: Sequence[str], K: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return A with W_names = W A, shape (T, len(names)), for task kernel K.

        The default K is the mean over the views, which applies to the intercepts.
        """
        T = len(self.tasks)
        K = self.kernel.matrix if K is None else K
        A = np.zeros((T, len(names)))
        row = self._places(names)
        for column, name in enumerate(names):
            if row[name] < T:
                A[row[name], column] = 1.0
            else:
                A[:, column] = np.linalg.pinv(K[:T, :T], hermitian=True) @ K[:T, row[name]]
        return A

    def _places(self, names: Sequence[str]) -> dict[str, int]:
        """Return the row of the task kernel of every name."""
        index = NameIndex(self.kernel.names)
        for name in names:
            if not index.find(name):
                remedy = "give it a place among them: --like, seqmtl adapt; seqmtl.adaptation.adapt"
                if self.inputs == "numbers":
                    remedy = "give examples of it to fit: stratify folds by task and class"
                raise UnknownTaskError(
                    f"task {name!r} is not in the model's task kernel; {index.hint(name)} (or "
                    f"{remedy})",
                    name,
                )
        distinct = tuple(dict.fromkeys(names))
        return dict(zip(distinct, match_names(distinct, index.names, "this model"), strict=True))

    def describe(self) -> dict[str, Any]:
        """Return a summary of the model as JSON values."""
        return {
            "duality_gap": self.training["duality_gap"],
            "epochs": self.training["n_epochs"],
            "tasks": list(self.tasks),
            "task_kernel": {
                "names": list(self.kernel.names),
                "matrix": self.kernel.matrix.tolist(),
                "source": self.kernel.source,
            },
            "features": self.features.to_dict(self.length),
            "window": self.length,
            "n_features": int(self.W.shape[0]),
            "site": vars(self.site),
            "calibration": {
                name: dict(zip(CALIBRATION[self.kind], row.tolist(), strict=True))
                for name, row in zip(self.tasks, self.calibration, strict=True)
            },
            **({} if self.consensus_bias is None else {"consensus": self._by_consensus()}),
            "training": self.training,
        }

    def text(self, file: str) -> list[str]:
        """Return a readable summary of the model, line by line; `file` is the name to show."""
        from seqmtl.linear_model import training_summary as summary

        training, site = self.training, self.site
        position = f"offset {site.offset}, {site.letters or 'no consensus'}"
        lines = [
            f"model          {file}",
            f"features       {self.features}, {self.W.shape[0]:,} weights",
            f"window         {self.length} bases",
            f"site           {position if site.length else 'unknown'}",
            f"duality gap    {training['duality_gap']:.2e} after {training['work']:.1f} passes"
            + ("" if training["converged"] else " (stopped before the tolerance)"),
            f"support        {training['n_support']:,} support vectors",
            "settings       "
            + ", ".join(
                f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}"
                for key, value in training["settings"].items()
            ),
            *summary.tasks_text(self.tasks, training),
            *summary.calibration_text(training, self._by_consensus()),
            *self._kernel_text(),
        ]
        for part in (summary.learnt_text, summary.chosen_text, summary.adapted_text):
            lines += part(training)
        return lines

    def _kernel_text(self) -> list[str]:
        """Show the task kernel of the training tasks, and count their relatives."""
        n = len(self.kernel) - len(self.tasks)
        more = [f"  and {n} relative{'s' * (n > 1)} without data"] * bool(n)
        return [str(self.kernel.restrict(self.tasks)), *more]

    def __repr__(self) -> str:
        return f"{super().__repr__()}: {self.W.shape[0]:,} features of {self.features}"

    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        from seqmtl.linear_model.weights_io import pack_weights

        arrays = pack_weights(self.W)
        several = self.kernel.n_kernels > 1
        arrays["K"] = np.array(self.kernel.matrices if several else self.kernel.matrix)
        if self.consensus_bias is not None:
            arrays["word_bias"] = self.consensus_bias
        description = {
            "features": self.features.to_dict(self.length),
            "n_features": int(self.W.shape[0]),
            "length": self.length,
            "kernel": {
                "names": list(self.kernel.names),
                "source": self.kernel.source,
                "labels": list(self.kernel.labels),
            },
            "site": vars(self.site),
        }
        return description, arrays

    @classmethod
    def _forms(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Forms:
        from seqmtl.linear_model.weights_io import forms_of_weights

        T, kernel = len(description["tasks"]), description["kernel"]
        n, P, G = description["n_features"], len(kernel["names"]), len(kernel["labels"])
        forms: Forms = {"K": ("float64", (G, P, P) if G > 1 else (P, P))}
        if "word_bias" in arrays and (commas := description["site"]["letters"].count(",")):
            forms["word_bias"] = "float64", (T, commas + 1)
        dtype = description["training"]["settings"]["dtype"]
        return forms | forms_of_weights(arrays, T, n, dtype)

    @classmethod
    def _unpack(
        cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]], common: dict[str, Any]
    ) -> MultiTaskModel:
        from seqmtl.linear_model.schema import part
        from seqmtl.linear_model.weights_io import unpack_weights

        length, n_features = description["length"], description["n_features"]
        with part("features"):
            features = features_from_dict(description["features"])
            expected = features.n_features(length)
        if n_features != expected:
            refuse("n_features", f"{expected}, as the features have", n_features)
        with part("kernel"):
            names, source, labels = (
                description["kernel"][k] for k in ("names", "source", "labels")
            )
            kernel = TaskKernel(names, arrays["K"], source, labels=labels, not_psd="refuse")
        return cls(
            features=features,
            length=length,
            kernel=kernel,
            W=unpack_weights(
                arrays,
                features.view_columns(length),
                len(description["tasks"]),
                description["training"]["settings"]["dtype"],
            ),
            site=Site(*(description["site"][field.name] for field in fields(Site))),
            consensus_bias=np.array(arrays["word_bias"]) if "word_bias" in arrays else None,
            **common,
        )
