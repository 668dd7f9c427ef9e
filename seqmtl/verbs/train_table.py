"""Train one model for all tasks on a table of numbers or sequences, or on windows with kernels."""

from __future__ import annotations

import logging
import math
import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from seqmtl import _kinds
from seqmtl.exceptions import SeqmtlError, UsageError
from seqmtl.files.outputs import check_outputs
from seqmtl.request import option, options_of, required, verb
from seqmtl.verbs import _options, _relations

if TYPE_CHECKING:
    from seqmtl.kernels import BaseKernel
    from seqmtl.similarity.build import KernelRequest
    from seqmtl.tables.grid import GridPoint
    from seqmtl.tables.kernel_model import KernelModel
    from seqmtl.verbs._examples import Examples

logger = logging.getLogger("seqmtl")

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
    "svr": "MultiTaskSVR",
}

_PARAMETERS = ("p", "q", "norm", "share", "contamination", "epsilon", "features")
_RELATIONS = ("similarity", "tree", "taxonomy", "alignment", "distances", "graph", "groups")
#: Options that only some methods take, with the parameters of their classes that say so.
_TAKEN_AS = {
    **{name: (name,) for name in _PARAMETERS},
    **dict.fromkeys((*_RELATIONS, "scales"), ("task_kernel", "task_kernels")),
    **dict.fromkeys(("kernel", "sequence"), ("kernel", "kernels")),
    **dict.fromkeys(("tune", "balanced"), ("class_weight",)),
    "mkl": ("task_kernels", "contamination", "epsilon"),
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
        "second); svr: linear regression on numbers, of the numbers in the label column",
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
    epsilon: float = _of_model(
        "svr: error without cost, in units of the label",
        metavar="E",
        kind=_kinds.finite_float,
        default=0.1,
    )
    features: str | None = _options.features_option("model")
    C: float | None = _of_model("-C", "cost (default: 1; minimax: 100)")
    tune: tuple[float, ...] | None = _of_model(
        "choose one cost for all tasks by 3-fold cross-validation, by the mean AUROC over "
        "tasks, or accuracy with more than two classes (replaces -C); so is one of several "
        "--similarity kernels",
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
            if getattr(self, each.name) == each.default or _takes(self.method, each.name):
                continue
            takers = ", ".join(method for method in METHODS if _takes(method, each.name))
            flag = f"--{each.name.replace('_', '-')}"
            raise UsageError(f"{flag} is an option of {takers}; {self.method} does not take it")
        is_one_point = self.plot and len(self.p or ()) < 2
        is_several = len(self.kernel) > 1 and not _has(self.method, "kernels")
        is_fixed = self.norm and not (self.mkl or self.has_classes)
        is_raw, is_unread = self.standardize and self.is_novelty, self.sequence and not self.kernel
        for is_so, message in (
            (self.plot and self.method != "pareto", "--plot is an option of pareto"),
            (is_one_point, "--plot draws the path over several values of --p; give them"),
            (is_several, f"{self.method} takes one --kernel; use kernel-mkl for several"),
            (is_fixed, "--norm applies to the --mkl weights; give --mkl too"),
            (is_raw, "one-class separates raw numbers from zero; drop --standardize"),
            (self.standardize and self.sequence, "--standardize applies to numbers, not sequences"),
            (is_unread, "--sequence needs a string --kernel, such as spectrum:4"),
        ):
            if is_so:
                raise UsageError(message)

    @property
    def is_novelty(self) -> bool:
        """Whether it learns one class."""
        return _has(self.method, "contamination")

    @property
    def has_classes(self) -> bool:
        """Whether it learns to tell classes apart."""
        return not (self.is_novelty or _has(self.method, "epsilon"))

    def run(self) -> KernelModel:
        """Train, and write the model.

        Returns
        -------
        KernelModel
            The model, or MultiTaskModel for novelties of windows; ``training["converged"]`` tells
            whether it reached the tolerance.
        """
        from seqmtl.verbs._examples import organisms_named, read_training_examples

        check_outputs(self.output, self.json, self.plot)
        relation = self.training_relation()
        _relations.check_tree(relation, organisms_named(self))
        started = time.perf_counter()
        examples = read_training_examples(self, require_labels=not self.is_novelty)
        model = _trained(self, relation, examples)
        model.training["seconds"] = round(time.perf_counter() - started, 3)
        told = (
            f"{self.method}, {len(model.tasks)} tasks, {model.training['n']} examples, "
            f"{model.training['n_support']} support vectors"
        )
        limits = "--max-epochs or --tol" if _takes(self.method, "max_epochs") else "--tol"
        self.finish(model, told, self.tol, limits)
        return model


def _has(method: str, parameter: str) -> bool:
    """Tell whether the class of a method has a parameter."""
    import seqmtl

    return hasattr(getattr(seqmtl, METHODS[method]), parameter)


def _takes(method: str, name: str) -> bool:
    """Tell whether a method takes an option."""
    return name not in _TAKEN_AS or any(_has(method, parameter) for parameter in _TAKEN_AS[name])


def _trained(request: TrainTable, relation: KernelRequest | None, examples: Examples) -> Any:
    """Return the model, trained and described."""
    from seqmtl.kernels import Linear, Standardized
    from seqmtl.tables.kernel_model import KernelModel
    from seqmtl.verbs._table_labels import check_classes, of_one_class, of_targets

    classes: tuple[Any, ...] = (-1, 1)
    scale = weight = None
    points: list[GridPoint] = []
    if request.is_novelty:
        examples, classes = of_one_class(examples)
    elif not request.has_classes:
        examples, classes = of_targets(examples), ()
    estimator = _estimator(request, relation, examples)
    if request.has_classes:
        check_classes(estimator, examples, request.method)
    if request.balanced:
        from sklearn.utils import compute_sample_weight

        weight = compute_sample_weight("balanced", examples.y)
    if request.method in ("minimax", "svr") and request.standardize is not False:
        scale = Standardized(Linear()).resolve(examples.X, weight)
        examples = examples._replace(X=scale.transform(examples.X))
    if request.has_classes:
        points = _chosen(request, estimator, examples, weight)
    centre = 0.0 if classes else float(examples.y.mean())  # the intercept is regularised
    if not classes:
        examples = examples._replace(y=examples.y - centre)
    estimator, converged = _fitted(request, estimator, examples, weight)
    model = estimator.model_
    if model.structure == "weights" and model.inputs == "numbers":
        model = KernelModel.of_linear(estimator, scale, classes)
        model.bias += centre
    model.feature_names, model.shift = examples.feature_names, request.shift
    model.training |= _summary(request, model, estimator, examples)
    model.training["converged"] = converged
    if request.has_classes:
        model.training["selection"] = [point.to_dict() for point in points]
    return model


def _estimator(request: TrainTable, relation: KernelRequest | None, examples: Examples) -> Any:
    """Return the estimator that is asked for.

    Raises
    ------
    SeqmtlError
        If the kernels or similarities do not fit the examples.
    """
    import numpy as np

    import seqmtl

    kind = getattr(seqmtl, METHODS[request.method])
    is_matrix = isinstance(examples.X, np.ndarray)
    settings: dict[str, Any] = {
        "C": request.C or kind.C,
        "tol": request.tol,
        "p": request.p[0] if request.p and len(request.p) == 1 else None,
        "task_kernel": _task_kernel(request, relation, examples),
        "max_epochs": request.max_epochs,
        "max_iter": request.max_epochs,
        "norm": request.norm or (2.0 if request.mkl else None),
        **{name: getattr(request, name) for name in ("q", "share", "contamination", "epsilon")},
    }
    settings["task_kernels"] = settings["task_kernel"]
    if _takes(request.method, "kernel"):
        settings["kernels"] = _kernels(request, examples)
        settings["kernel"] = settings["kernels"][0]
    elif not is_matrix and not hasattr(kind, "features"):
        raise SeqmtlError(f"{request.method} learns from numbers, but DATA holds DNA windows")
    elif not is_matrix:
        settings["features"] = _options.feature_map(request.features)
    elif request.share is not None:
        settings["regularizer"] = "mean"
    given = {name: value for name, value in settings.items() if value is not None}
    return kind(**{name: value for name, value in given.items() if hasattr(kind, name)})


def _kernels(request: TrainTable, examples: Examples) -> list[BaseKernel]:
    """Return the base kernels, with standardization where it applies."""
    import numpy as np

    from seqmtl.kernels import Standardized, make_kernel, short_name

    is_numbers = isinstance(examples.X, np.ndarray) and examples.X.ndim == 2
    default = ("linear", "poly", "rbf") if _has(request.method, "kernels") else ("rbf",)
    kernels = [make_kernel(words) for words in request.kernel or default]
    rule, remedy = "sequences", "use a string kernel such as wd:8 or spectrum:4"
    if is_numbers:
        rule, remedy = "numbers", "name the column of sequences with --sequence"
    for each in kernels:
        if is_numbers != (each.inputs == "numbers"):
            raise SeqmtlError(
                f"--kernel must compare {rule} here, got {short_name(each)}; {remedy}"
            )
    if not is_numbers and request.standardize:
        raise SeqmtlError("--standardize applies to numbers, but the examples are sequences")
    if not is_numbers or request.standardize is False:
        return kernels
    return [Standardized(each) for each in kernels]


def _task_kernel(request: TrainTable, relation: KernelRequest | None, examples: Examples) -> Any:
    if examples.tasks is not None:
        return request.task_kernel(relation, tuple(sorted(set(examples.tasks.tolist()))))
    if relation is not None:
        raise SeqmtlError(
            "a task similarity was given, but DATA has no task column; name it with --task-column"
        )
    return None


def _chosen(
    request: TrainTable, estimator: Any, examples: Examples, weight: Any
) -> list[GridPoint]:
    """Set open hyperparameters to the best in cross-validation; return all grid points."""
    import numpy as np

    from seqmtl.models.selection import alternatives
    from seqmtl.tables.grid import grid_scores

    grid: dict[str, Any] = {"C": request.tune} if request.tune else {}
    if len(request.p or ()) > 1:
        grid["p"] = request.p
    kernel = getattr(estimator, "task_kernel", None)
    if kernel is not None and len(kernels := alternatives(kernel)) > 1:
        grid["task_kernel"] = [*kernels.values()]
    if not grid:
        return []
    n_points, n_done = math.prod(map(len, grid.values())), 0
    what = "AUROC" if np.unique(examples.y).size == 2 else "accuracy"
    started = time.perf_counter()

    def show(point: GridPoint) -> None:
        nonlocal n_done
        n_done += 1
        seconds = (time.perf_counter() - started) / n_done * (n_points - n_done)
        logger.info(
            "%s: %s %.4f in %d folds; %d of %d, about %.0f s left",
            point,
            what,
            point.score,
            _FOLDS,
            n_done,
            n_points,
            seconds,
        )

    points = grid_scores(
        estimator,
        grid,
        examples.X,
        examples.y,
        examples.tasks,
        sample_weight=weight,
        n_folds=_FOLDS,
        seed=request.seed,
        on_point=show,
    )
    best = max(points, key=lambda point: point.score)
    logger.info("chosen: %s", best)
    estimator.set_params(**best.settings)
    return points


def _fitted(
    request: TrainTable, estimator: Any, examples: Examples, weight: Any
) -> tuple[Any, bool]:
    """Train, or trace the path and keep the chosen point; also return whether it converged."""
    from sklearn.exceptions import ConvergenceWarning

    from seqmtl.tables import pareto_path

    data = (examples.X, examples.y, examples.tasks)
    is_by_task = examples.y is None or examples.tasks is not None
    column = examples.tasks if is_by_task else examples.y
    logger.info(
        "training %s on %d examples, %d %s",
        request.method,
        len(examples.names),
        1 if column is None else len(set(column.tolist())),
        "tasks" if is_by_task else "classes",
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if request.plot and request.p:
            settings = estimator.get_params()
            best = settings.pop("p")
            path = pareto_path(*data, p=request.p, sample_weight=weight, **settings)
            path.plot(request.plot)
            estimator = path.estimators[path.p.tolist().index(best)]
        else:
            estimator.fit(*data, **({} if weight is None else {"sample_weight": weight}))
    others = [w for w in caught if not issubclass(w.category, ConvergenceWarning)]
    for warning in others:
        warnings.warn(warning.message, stacklevel=2)
    return estimator, len(others) == len(caught)


def _summary(
    request: TrainTable, model: KernelModel, estimator: Any, examples: Examples
) -> dict[str, Any]:
    """Summarize the training as JSON values: the data, settings and results."""
    from seqmtl.verbs._examples import LABEL, TASK

    y = examples.y
    summary: dict[str, Any] = {
        "method": request.method,
        "n": len(examples.names),
        "n_support": int((estimator.dual_coef_ != 0).sum()),
        **(
            {}
            if y is None or not model.classes
            else {"classes": {str(c): int((y == c).sum()) for c in model.classes}}
        ),
        "tol": request.tol,
        "balanced": request.balanced,
        "sources": request.sources,
    }
    if examples.tasks is not None:
        summary["tasks"] = {}
        for name in model.tasks:
            is_own = examples.tasks == name
            summary["tasks"][name] = {"n": int(is_own.sum())}
            if y is not None and model.classes:
                n_positive = int((is_own & (y == model.classes[1])).sum())
                summary["tasks"][name]["n_positive"] = n_positive
    if examples.feature_names:
        columns = {LABEL: request.label_column or LABEL, TASK: request.task_column or TASK}
        summary["columns"] = columns
    else:
        summary["shift"] = request.shift
    settings = estimator.get_params(deep=False)
    chosen = {
        name: str(settings[name])
        for name in ("p", "q", "norm", "share", "regularizer", "epsilon")
        if name in settings and name not in model.training
    }
    return summary | chosen | estimator.results()


train_table = verb(TrainTable)
