"""Training of ``seqmtl train-table``: examples to a kernel model."""

from __future__ import annotations

import argparse
import logging
import math
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.cli import _similarity
from seqmtl.cli._methods import METHODS
from seqmtl.exceptions import SeqmtlError
from seqmtl.verbs._examples import LABEL, TASK, Examples, read_for_training

if TYPE_CHECKING:
    from seqmtl.estimators.cross_validation import GridPoint
    from seqmtl.kernels import BaseKernel, Standardized
    from seqmtl.models.base import Model
    from seqmtl.similarity import TaskKernel
    from seqmtl.similarity.build import KernelRequest
    from seqmtl.tables.kernel_model import KernelModel

logger = logging.getLogger("seqmtl")

_FOLDS = 3


def train_kernels(args: argparse.Namespace, request: KernelRequest | None) -> int:
    """Train, save and report; the usage has been checked."""
    from seqmtl.cli._output import NOT_CONVERGED, write_summary
    from seqmtl.kernels import Linear, Standardized

    started = time.perf_counter()
    is_novelty = not METHODS[args.method].needs_labels
    examples = read_for_training(args, require_labels=not is_novelty)
    classes: tuple[Any, ...] = (-1, 1)
    if is_novelty:
        examples, classes = _of_one_class(examples)
    estimator = make_estimator(args, request, examples)
    if not is_novelty:
        _check_classes(estimator, examples, args)
    weight = None
    if args.balanced:
        from sklearn.utils import compute_sample_weight

        weight = compute_sample_weight("balanced", examples.y)
    scale = None
    if args.method == "minimax" and args.standardize is not False:
        scale = Standardized(Linear()).resolve(examples.X, weight)
        examples = examples._replace(X=scale.transform(examples.X))
    points = _choose(estimator, examples, weight, args)
    estimator, converged = _fit(estimator, examples, weight, args)
    model: Model = estimator.model_
    if model.inputs == "numbers" and METHODS[args.method].kernels is None:
        model = _of_linear(estimator, scale, classes)
    model.feature_names, model.shift = examples.feature_names, args.shift
    model.training |= _summary(model, estimator, examples, args) | {
        "converged": converged,
        **({} if is_novelty else {"selection": [_entry(point) for point in points]}),
        "seconds": round(time.perf_counter() - started, 3),
    }
    model.save(args.output)
    if args.json:
        write_summary(args.json, model.training)
    logger.info(
        "%s: %s, %d tasks, %d examples, %d support vectors, %.1f s",
        args.output, args.method, len(model.tasks), len(examples.names),
        model.training["n_support"], model.training["seconds"],
    )  # fmt: skip
    if not converged:
        limits = (
            "--max-epochs or --tol" if "max_epochs" in METHODS[args.method].options else "--tol"
        )
        logger.warning("not converged to the tolerance %g; raise %s", args.tol, limits)
        return NOT_CONVERGED
    return 0


def make_estimator(
    args: argparse.Namespace, request: KernelRequest | None, examples: Examples
) -> Any:
    """Return the estimator that the arguments describe.

    Raises
    ------
    SeqmtlError
        If the kernels or similarities do not fit the examples.
    """
    import seqmtl

    method = METHODS[args.method]
    takes = method.options
    settings: dict[str, Any] = {
        name: getattr(args, name)
        for name in ("norm", "share", "q", "contamination")
        if name in takes and getattr(args, name) is not None
    }
    if args.p and len(args.p) == 1:
        settings["p"] = args.p[0]
    if "max_epochs" in takes:
        settings["max_iter" if method.kernels else "max_epochs"] = args.max_epochs
    if "tree" in takes:
        name = "task_kernels" if "mkl" in takes else "task_kernel"
        settings[name] = _task_kernel(args, request, examples)
    if method.kernels:
        kernels = _kernels(args, examples)
        settings[method.kernels] = kernels if method.kernels == "kernels" else kernels[0]
    elif "features" in takes and not isinstance(examples.X, np.ndarray):
        settings["features"] = args.features
    elif not isinstance(examples.X, np.ndarray):
        raise SeqmtlError(f"{args.method} learns from numbers, but DATA holds DNA windows")
    elif "share" in settings:
        settings["regularizer"] = "mean"
    return getattr(seqmtl, method.estimator)(C=args.C, tol=args.tol, **settings)


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
    return examples._replace(
        X=examples.X[rows], y=None, tasks=tasks, names=examples.names[rows]
    ), known


def _of_linear(estimator: Any, scale: Standardized | None, classes: tuple[Any, ...]) -> KernelModel:
    """Return a linear model as a kernel model whose one support vector per task is its weights.

    Scores below 0 mark novelties.
    """
    from seqmtl.kernels import Linear
    from seqmtl.tables.kernel_model import KernelModel

    W, bias = np.array(estimator.coef_, dtype=np.float64), estimator.intercept_.copy()
    if scale is not None:
        W = W / np.array(scale.scale)
        bias -= W @ np.array(scale.center)
    T, kind, calibration = len(W), estimator.model_.kind, estimator.model_.calibration
    if kind == "novelty":
        bias, calibration = bias - calibration[:, 0], np.zeros_like(calibration)
    else:
        classes = tuple(estimator.classes_.tolist())
    return KernelModel(
        (Linear(),), W, np.arange(T), np.ones(T), np.arange(T), np.eye(T)[None], bias, calibration,
        estimator.tasks_, classes, {"C": float(estimator.C)}, kind=kind,
    )  # fmt: skip


def _check_classes(estimator: Any, examples: Examples, args: argparse.Namespace) -> None:
    from sklearn.utils import get_tags

    n_classes = np.unique(examples.y).size
    if examples.y.dtype.kind == "f":
        first = examples.y[(examples.y % 1 != 0) | (np.abs(examples.y) >= 2.0**53)][0]
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
            f"labels must have two classes with {args.method}, got {n_classes}; use pareto or "
            "another method with one SVM per task, which train one-vs-one"
        )


def _kernels(args: argparse.Namespace, examples: Examples) -> list[BaseKernel]:
    """Return the base kernels, with standardization where it applies."""
    from seqmtl.kernels import Standardized, make_kernel, short_name

    is_numbers = isinstance(examples.X, np.ndarray) and examples.X.ndim == 2
    default = ("rbf",) if METHODS[args.method].kernels == "kernel" else ("linear", "poly", "rbf")
    kernels = args.kernel or [make_kernel(name) for name in default]
    for kernel in kernels:
        if is_numbers != (kernel.inputs == "numbers"):
            rule, remedy = (
                ("numbers", "name the column of sequences with --sequence")
                if is_numbers
                else ("sequences", "use a string kernel such as wd:8 or spectrum:4")
            )
            raise SeqmtlError(
                f"--kernel must compare {rule} here, got {short_name(kernel)}; {remedy}"
            )
    if not is_numbers and args.standardize:
        raise SeqmtlError("--standardize applies to numbers, but the examples are sequences")
    if is_numbers and args.standardize is not False:
        return [Standardized(kernel) for kernel in kernels]
    return list(kernels)


def _task_kernel(
    args: argparse.Namespace, request: KernelRequest | None, examples: Examples
) -> TaskKernel | None:
    if examples.tasks is None:
        if request is not None:
            raise SeqmtlError(
                "a task similarity was given, but DATA has no task column; name it with "
                "--task-column"
            )
        return None
    return _similarity.task_kernel(args, request, tuple(np.unique(examples.tasks).tolist()))


def _choose(
    estimator: Any, examples: Examples, weight: NDArray[np.float64] | None, args: Any
) -> list[GridPoint]:
    """Set open hyperparameters to the best in cross-validation; return all grid points."""
    from seqmtl.estimators.cross_validation import grid_scores

    grid: dict[str, Any] = {"C": args.tune} if args.tune else {}
    if len(args.p or ()) > 1:
        grid["p"] = args.p
    if not grid:
        return []
    n_points = math.prod(map(len, grid.values()))
    what = "AUROC" if np.unique(examples.y).size == 2 else "accuracy"
    started, n_done = time.perf_counter(), 0

    def show(point: GridPoint) -> None:
        nonlocal n_done
        n_done += 1
        taken = time.perf_counter() - started
        logger.info(
            "%s: %s %.4f in %d folds; %d of %d, about %.0f s left", _text(point.settings), what,
            point.score, _FOLDS, n_done, n_points, taken / n_done * (n_points - n_done),
        )  # fmt: skip

    points = grid_scores(
        estimator, grid, examples.X, examples.y, examples.tasks, sample_weight=weight,
        n_folds=_FOLDS, seed=args.seed, on_point=show,
    )  # fmt: skip
    best = max(points, key=lambda point: point.score)
    logger.info("chosen: %s", _text(best.settings))
    estimator.set_params(**best.settings)
    return points


def _entry(point: GridPoint) -> dict[str, Any]:
    """Return a grid point as JSON values."""
    settings = {k: "inf" if math.isinf(v) else float(v) for k, v in point.settings.items()}
    return settings | {"score": point.score if math.isfinite(point.score) else None}


def _text(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in settings.items())


def _fit(
    estimator: Any, examples: Examples, weight: NDArray[np.float64] | None, args: Any
) -> tuple[Any, bool]:
    """Train, or trace the path and keep the chosen point; also return whether it converged."""
    from sklearn.exceptions import ConvergenceWarning

    data = (examples.X, examples.y, examples.tasks)
    what = "tasks" if examples.y is None or examples.tasks is not None else "classes"
    column = examples.y if what == "classes" else examples.tasks
    logger.info(
        "training %s on %d examples, %d %s",
        args.method, len(examples.names), 1 if column is None else np.unique(column).size, what,
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if args.plot:
            from seqmtl.tables import pareto_path

            settings = estimator.get_params()
            best = settings.pop("p")
            path = pareto_path(*data, p=args.p, sample_weight=weight, **settings)
            path.plot(args.plot)
            estimator = path.estimators[path.p.tolist().index(best)]
        else:
            estimator.fit(*data, **({} if weight is None else {"sample_weight": weight}))
    others = [w for w in caught if not issubclass(w.category, ConvergenceWarning)]
    for warning in others:
        warnings.warn(warning.message, stacklevel=2)
    return estimator, len(others) == len(caught)


def _summary(
    model: Model, estimator: Any, examples: Examples, args: argparse.Namespace
) -> dict[str, Any]:
    """Summarize the training as JSON values."""
    y = examples.y
    summary: dict[str, Any] = {
        "method": args.method,
        "n": len(examples.names),
        "n_support": int(np.count_nonzero(estimator.dual_coef_)),
        **({} if y is None else {"classes": {str(c): int((y == c).sum()) for c in model.classes}}),
        "tol": args.tol,
        "balanced": args.balanced,
        "sources": [args.data] if args.data else [path for _, path in args.genome],
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
        summary["columns"] = {LABEL: args.label_column or LABEL, TASK: args.task_column or TASK}
    else:
        summary["shift"] = args.shift
    return summary | _found(model, estimator)


def _found(model: Model, estimator: Any) -> dict[str, Any]:
    """Return settings and results that the model does not record itself."""
    results, settings = estimator.results(), estimator.get_params(deep=False)
    lists = {name: value for name, value in results.items() if name in ("weights", "losses")}
    chosen = {
        name: str(settings[name])
        for name in ("p", "q", "norm", "share", "regularizer")
        if name in settings and name not in model.training
    }
    return {k: v for k, v in results.items() if k not in lists} | chosen | lists
