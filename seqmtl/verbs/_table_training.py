"""Training on a table of numbers or sequences, or on windows with kernels."""

from __future__ import annotations

import logging
import math
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_sample_weight, get_tags

import seqmtl
from seqmtl.exceptions import SeqmtlError
from seqmtl.features.positional_kmers import PositionalKmers
from seqmtl.kernels import BaseKernel, Linear, Standardized, make_kernel, short_name
from seqmtl.similarity.build import KernelRequest
from seqmtl.tables import pareto_path
from seqmtl.tables.grid import GridPoint, grid_scores
from seqmtl.tables.kernel_model import KernelModel
from seqmtl.verbs._examples import LABEL, TASK, Examples
from seqmtl.verbs.train_table import METHODS, has_parameter, takes

if TYPE_CHECKING:
    from seqmtl.verbs.train_table import TrainTable

logger = logging.getLogger("seqmtl")

_FOLDS = 3


def train_on(request: TrainTable, relation: KernelRequest | None, examples: Examples) -> Any:
    """Return the model, trained and described."""
    classes, scale, weight = (-1, 1), None, None
    points: list[GridPoint] = []
    if request.is_novelty:
        examples, classes = _of_one_class(examples)
    estimator = _estimator(request, relation, examples)
    if not request.is_novelty:
        _check_classes(estimator, examples, request.method)
    if request.balanced:
        weight = compute_sample_weight("balanced", examples.y)
    if request.method == "minimax" and request.standardize is not False:
        scale = Standardized(Linear()).resolve(examples.X, weight)
        examples = examples._replace(X=scale.transform(examples.X))
    if not request.is_novelty:
        points = _chosen(request, estimator, examples, weight)
    estimator, converged = _fitted(request, estimator, examples, weight)
    model = estimator.model_
    if model.structure == "weights" and model.inputs == "numbers":
        model = KernelModel.of_linear(estimator, scale, classes)
    model.feature_names, model.shift = examples.feature_names, request.shift
    model.training |= _summary(request, model, estimator, examples)
    model.training["converged"] = converged
    if not request.is_novelty:
        model.training["selection"] = [point.to_dict() for point in points]
    return model


def _of_one_class(examples: Examples) -> tuple[Examples, tuple[Any, ...]]:
    """Return the examples of the class to learn (the second of two), and both classes.

    Raises
    ------
    SeqmtlError
        If there are more than two classes.
    """
    known = (-1, 1) if examples.y is None else tuple(np.unique(examples.y).tolist())
    if len(known) > 2:
        raise SeqmtlError(f"labels must have one or two classes, got {len(known)}")
    if examples.y is None or len(known) < 2:
        return examples._replace(y=None), (-1, 1)
    rows = np.flatnonzero(examples.y == known[1])
    logger.info(
        "training on the %d examples of %s; leaving out the %d of %s",
        rows.size, known[1], len(examples.names) - rows.size, known[0],
    )  # fmt: skip
    tasks = None if examples.tasks is None else examples.tasks[rows]
    X, names = examples.X[rows], examples.names[rows]
    return examples._replace(X=X, y=None, tasks=tasks, names=names), known


def _estimator(request: TrainTable, relation: KernelRequest | None, examples: Examples) -> Any:
    """Return the estimator that is asked for.

    Raises
    ------
    SeqmtlError
        If the kernels or similarities do not fit the examples.
    """
    kind = getattr(seqmtl, METHODS[request.method])
    is_matrix = isinstance(examples.X, np.ndarray)
    settings: dict[str, Any] = {
        "C": request.C or kind.C,
        "tol": request.tol,
        "p": request.p[0] if request.p and len(request.p) == 1 else None,
        "task_kernel": _task_kernel(request, relation, examples),
        "max_epochs": request.max_epochs,
        "max_iter": request.max_epochs,
        **{name: getattr(request, name) for name in ("q", "norm", "share", "contamination")},
    }
    settings["task_kernels"] = settings["task_kernel"]
    if takes(request.method, "kernel"):
        settings["kernels"] = _kernels(request, examples)
        settings["kernel"] = settings["kernels"][0]
    elif not is_matrix and not hasattr(kind, "features"):
        raise SeqmtlError(f"{request.method} learns from numbers, but DATA holds DNA windows")
    elif not is_matrix:
        settings["features"] = request.features and PositionalKmers(request.features)
    elif request.share is not None:
        settings["regularizer"] = "mean"
    given = {name: value for name, value in settings.items() if value is not None}
    return kind(**{name: value for name, value in given.items() if hasattr(kind, name)})


def _kernels(request: TrainTable, examples: Examples) -> list[BaseKernel]:
    """Return the base kernels, with standardization where it applies."""
    is_numbers = isinstance(examples.X, np.ndarray) and examples.X.ndim == 2
    default = ("linear", "poly", "rbf") if has_parameter(request.method, "kernels") else ("rbf",)
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


def _check_classes(estimator: Any, examples: Examples, method: str) -> None:
    y, n_classes = examples.y, np.unique(examples.y).size
    if y.dtype.kind == "f":
        first = y[(y % 1 != 0) | (np.abs(y) >= 2.0**53)][0]
        raise SeqmtlError(
            f"labels must be names or integers below 2**53, got {first}; name the column of "
            "classes with --label-column"
        )
    if n_classes > 2 and examples.tasks is not None:
        raise SeqmtlError(
            f"labels must have two classes if there are tasks, got {n_classes}; for more classes, "
            "use a table without a task column"
        )
    if n_classes > 2 and not get_tags(estimator).classifier_tags.multi_class:
        raise SeqmtlError(
            f"labels must have two classes with {method}, got {n_classes}; use pareto or "
            "another method with one SVM per task, which train one-vs-one"
        )


def _chosen(
    request: TrainTable, estimator: Any, examples: Examples, weight: Any
) -> list[GridPoint]:
    """Set open hyperparameters to the best in cross-validation; return all grid points."""
    grid: dict[str, Any] = {"C": request.tune} if request.tune else {}
    if len(request.p or ()) > 1:
        grid["p"] = request.p
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
            point, what, point.score, _FOLDS, n_done, n_points, seconds,
        )  # fmt: skip

    points = grid_scores(
        estimator, grid, examples.X, examples.y, examples.tasks, sample_weight=weight,
        n_folds=_FOLDS, seed=request.seed, on_point=show,
    )  # fmt: skip
    best = max(points, key=lambda point: point.score)
    logger.info("chosen: %s", best)
    estimator.set_params(**best.settings)
    return points


def _fitted(
    request: TrainTable, estimator: Any, examples: Examples, weight: Any
) -> tuple[Any, bool]:
    """Train, or trace the path and keep the chosen point; also return whether it converged."""
    data = (examples.X, examples.y, examples.tasks)
    is_by_task = examples.y is None or examples.tasks is not None
    column = examples.tasks if is_by_task else examples.y
    logger.info(
        "training %s on %d examples, %d %s", request.method, len(examples.names),
        1 if column is None else len(set(column.tolist())), "tasks" if is_by_task else "classes",
    )  # fmt: skip
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
    y = examples.y
    summary: dict[str, Any] = {
        "method": request.method,
        "n": len(examples.names),
        "n_support": int((estimator.dual_coef_ != 0).sum()),
        **({} if y is None else {"classes": {str(c): int((y == c).sum()) for c in model.classes}}),
        "tol": request.tol,
        "balanced": request.balanced,
        "sources": request.sources,
    }
    if examples.tasks is not None:
        summary["tasks"] = {}
        for name in model.tasks:
            is_own = examples.tasks == name
            summary["tasks"][name] = {"n": int(is_own.sum())}
            if y is not None:
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
        for name in ("p", "q", "norm", "share", "regularizer")
        if name in settings and name not in model.training
    }
    return summary | chosen | estimator.results()
