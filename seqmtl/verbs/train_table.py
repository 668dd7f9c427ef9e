"""Train one model for all tasks on a table of numbers or sequences, or on windows with kernels."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from seqmtl import _kinds
from seqmtl.exceptions import UsageError
from seqmtl.files.outputs import check_outputs
from seqmtl.request import option, options_of, required, verb
from seqmtl.verbs import _options, _relations

if TYPE_CHECKING:
    from seqmtl.tables.kernel_model import KernelModel

#: Methods, with the class that does what each says.
METHODS = {
    "kernel-svc": "MultiTaskKernelSVC",
    "kernel-mkl": "KernelMKLClassifier",
    "pareto": "ParetoMKLClassifier",
    "individual-mkl": "IndividualMKLClassifier",
    "partial-mkl": "PartiallySharedMKLClassifier",
    "sparse-mkl": "SparseMKLClassifier",
    "minimax": "MinimaxClassifier",
    "one-class": "MultiTaskOneClassSVM",
}

_PARAMETERS = ("p", "q", "norm", "share", "contamination", "features")
_RELATIONS = ("similarity", "tree", "taxonomy", "alignment", "distances", "graph", "groups")
#: Options that only some methods take, with the parameters of their classes that say so.
_TAKEN_AS = {
    **{name: (name,) for name in _PARAMETERS},
    **dict.fromkeys((*_RELATIONS, "scales"), ("task_kernel", "task_kernels")),
    **dict.fromkeys(("kernel", "sequence"), ("kernel", "kernels")),
    **dict.fromkeys(("tune", "balanced"), ("class_weight",)),
    "mkl": ("task_kernels",),
    "max_epochs": ("max_epochs", "max_iter"),
}
_FOLDS = 3


def kernel(value: Any) -> str:
    """Take a base kernel, such as rbf:0.5."""
    from seqmtl.kernels import make_kernel

    words = _kinds.text(value)
    make_kernel(words)
    return words


def trade_offs(value: Any) -> tuple[float, ...]:
    """Take comma-separated numbers above 0, or inf; return them sorted, without duplicates."""
    values = value.split(",") if isinstance(value, str) else value
    several = values if isinstance(values, (list, tuple)) else [values]
    infinite = ("inf", math.inf)
    return tuple(sorted({math.inf if p in infinite else _kinds.positive_float(p) for p in several}))


_of_tables = partial(option, group="tables")
_of_model = partial(option, group="model")


@dataclass(frozen=True, kw_only=True)
class TrainTable(_options.TrainingRun, _options.TrainingRows, _relations.TrainingRelations):
    """Train on a table of numbers or sequences, or on windows with kernels."""

    data: str | None = _options.window_data("training windows", "or a table (below)")
    method: str = required(
        "kernel-svc: one base kernel times the task kernel; kernel-mkl: weighted products of "
        "several base and task kernels; pareto, sparse-mkl, partial-mkl, individual-mkl: one "
        "SVM per task, with kernel weights shared along the Pareto front, sparse and similar, "
        "partly shared, or separate; minimax: linear, for the worst task; one-class: linear "
        "novelty detection on numbers or on k-mers of windows (of two classes, it learns the "
        "second)",
        choices=tuple(METHODS),
    )
    plot: str | None = _options.figure("pareto with several --p: draw the path over them")
    label_column: str | None = _of_tables(
        "label column; of two classes, the last in sort order is positive (default: label)",
        metavar="NAME",
    )
    task_column: str | None = _of_tables("task column (default: task)", metavar="NAME")
    sequence: str | None = _of_tables("sequence column to learn from", metavar="NAME")
    standardize: bool | None = _of_tables(
        "scale numeric columns to mean 0 and variance 1 over the training rows; the model "
        "stores the scaling (default: yes)",
        kind=_kinds.flag,
    )
    kernel: tuple[str, ...] = _of_model(
        "base kernel: linear, poly:2, rbf, rbf:0.5; for sequences wd:8, wd:8:2, spectrum:4, "
        "mismatch:5:1, gapped:8:5; may be repeated, except with kernel-svc (default for "
        "numbers: rbf with kernel-svc, else linear, poly and rbf)",
        metavar="SPEC",
        kind=kernel,
        is_repeated=True,
    )
    p: tuple[float, ...] | None = _of_model(
        "pareto: trade-off; below 1 favours easy tasks, above 1 (up to inf) hard ones (default:"
        " 0.5); sparse-mkl: norm over kernels, at most 1 (default: 1). Of several values, "
        "cross-validation picks the best, as with --tune",
        metavar="P,...",
        kind=trade_offs,
    )
    norm: float | None = _of_model(
        "p of the p-norm on the kernel weights: 1 sparse, inf uniform (default: 2; pareto and "
        "individual-mkl: 1.1); with minimax, on the losses (default: inf)",
        metavar="P",
        kind=_kinds.norm,
    )
    share: float | None = _of_model(
        "partial-mkl: shared fraction of the kernel weights, 0 to 1 (default: 0.5); minimax: "
        "shared fraction of the task weights (default: shared low-dimensional subspace instead)",
        metavar="S",
        kind=_kinds.finite_float,
    )
    q: float | None = _of_model(
        "sparse-mkl: norm over tasks, 1 to 2 (default: 2)", metavar="Q", kind=_kinds.finite_float
    )
    contamination: float = _of_model(
        "one-class: fraction of each task's examples to call novelties",
        metavar="SHARE",
        kind=_kinds.finite_float,
        default=0.1,
    )
    features: str | None = _options.features_option("model")
    C: float | None = _of_model("-C", "cost (default: 1; minimax: 100)")
    tune: tuple[float, ...] | None = _of_model(
        "choose one cost for all tasks by 3-fold cross-validation, by the mean AUROC over "
        "tasks, or accuracy with more than two classes (replaces -C)",
        metavar="C,...",
        kind=_kinds.positive_floats,
    )
    balanced: bool = _of_model("give both classes equal weight", default=False)
    tol: float = _of_model("stop at this relative duality gap (default: 1e-3)", default=1e-3)
    max_epochs: int | None = _of_model(
        "maximum number of iterations (default: 1000; minimax: 10000)"
    )

    def check(self) -> None:
        """Refuse options that the method does not take, before reading any file."""
        super().check()
        for each in options_of(type(self)):
            if getattr(self, each.name) == each.default or takes(self.method, each.name):
                continue
            takers = ", ".join(method for method in METHODS if takes(method, each.name))
            flag = f"--{each.name.replace('_', '-')}"
            raise UsageError(f"{flag} is an option of {takers}; {self.method} does not take it")
        is_one_point = self.plot and len(self.p or ()) < 2
        is_several = len(self.kernel) > 1 and not has_parameter(self.method, "kernels")
        is_raw, is_unread = self.standardize and self.is_novelty, self.sequence and not self.kernel
        for is_so, message in (
            (self.plot and self.method != "pareto", "--plot is an option of pareto"),
            (is_one_point, "--plot draws the path over several values of --p; give them"),
            (is_several, f"{self.method} takes one --kernel; use kernel-mkl for several"),
            (is_raw, "one-class separates raw numbers from zero; drop --standardize"),
            (self.standardize and self.sequence, "--standardize applies to numbers, not sequences"),
            (is_unread, "--sequence needs a string --kernel, such as spectrum:4"),
        ):
            if is_so:
                raise UsageError(message)

    @property
    def is_novelty(self) -> bool:
        """Whether it learns one class."""
        return has_parameter(self.method, "contamination")

    def run(self) -> KernelModel:
        """Train, and write the model.

        Returns
        -------
        KernelModel
            The model, or MultiTaskModel for novelties of windows; ``training["converged"]`` tells
            whether it reached the tolerance.
        """
        from seqmtl.verbs._examples import organisms_named, read_training_examples
        from seqmtl.verbs._table_training import train_on

        check_outputs(self.output, self.json, self.plot)
        relation = self.training_relation()
        _relations.check_tree(relation, organisms_named(self))
        started = time.perf_counter()
        examples = read_training_examples(self, require_labels=not self.is_novelty)
        model = train_on(self, relation, examples)
        model.training["seconds"] = round(time.perf_counter() - started, 3)
        told = (
            f"{self.method}, {len(model.tasks)} tasks, {model.training['n']} examples, "
            f"{model.training['n_support']} support vectors"
        )
        limits = "--max-epochs or --tol" if takes(self.method, "max_epochs") else "--tol"
        self.finish(model, told, self.tol, limits)
        return model


def has_parameter(method: str, parameter: str) -> bool:
    """Tell whether the class of a method has a parameter."""
    import seqmtl

    return hasattr(getattr(seqmtl, METHODS[method]), parameter)


def takes(method: str, name: str) -> bool:
    """Tell whether a method takes an option."""
    return name not in _TAKEN_AS or any(
        has_parameter(method, parameter) for parameter in _TAKEN_AS[name]
    )


train_table = verb(TrainTable)
