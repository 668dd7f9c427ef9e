"""Choose cost and sharing on validation windows, for every task by itself.

Four methods, each a family of candidates that are trained on the same windows:

============  ==========================================================================
individual    K = I, every C
union         K = 11', every C
mtl           one given K, every C
mkl           MT-MKL over given K_m: every C and every *trust*; over 11' alone; and the
              candidates of individual and union
============  ==========================================================================

For mkl every K_m is brought to a unit diagonal, with 1 for tasks that it leaves out, and a trust
of lambda shrinks what it shares: lambda R_m + (1 - lambda) I. For the hierarchical K_m = I / rho +
11' / rho0 that is a choice of rho / rho0. The learnt theta alone cannot make it: theta follows the
regulariser, which is cheapest where all is shared, and so leans to the root whatever the tasks
lose by it (Widmer et al. 2015, eq. 22). With a unit diagonal it decides only what it is good at:
which clades and which views of the features deserve more than others.

Where the features have several views, all methods weigh them, at norm p.

The first three keep, for every task, the candidate that ranks its validation windows best. For mkl
the weights of a task are a mean over the candidates, each by how well it does on the task's
validation windows, in units of how well that is known (the standard error of the average
precision, Boyd, Eng, Page 2013): with few windows it is close to a plain mean, with many it is a
choice. Either way the result is one linear model.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.blocks import views_of
from seqmtl.evaluation.metrics import weighted_auroc_auprc
from seqmtl.features.joint import flat_views
from seqmtl.features.positional_kmers import PositionalKmers
from seqmtl.models.calibration import calibrate_tasks
from seqmtl.models.fit import build_model
from seqmtl.models.kernels import kernel_set, view_names
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.training import Settings, check_classes, solve
from seqmtl.sequences import Windows
from seqmtl.similarity import TaskKernel
from seqmtl.solvers.dcd import State
from seqmtl.solvers.kernel_set import KernelSet

logger = logging.getLogger(__name__)

METHODS = ("individual", "union", "mtl", "mkl")
#: Of what the kernels say two tasks share, how much MT-MKL may believe.
TRUSTS = (0.5, 1.0)
#: What all tasks share where the relation takes them all alike; 0 is individual, 1 is union.
ALIKE = (0.25, 0.5, 0.75)
_HELD_OUT = 0.2  # of the windows of each class of every task
_TEMPERATURE = 0.5  # of a standard error: the candidates' precisions go up and down together


@dataclass(frozen=True)
class Candidate:
    """One way to train.

    Attributes
    ----------
    kernel : TaskKernel
        K, or the K_m to be weighed.
    settings : Settings
        Cost, norm and the rest.
    label : dict
        What sets it apart, as JSON values.
    """

    kernel: TaskKernel
    settings: Settings
    label: dict[str, Any]


@dataclass(frozen=True)
class Fit:
    """What is kept of a trained candidate: the weights W would take too much memory.

    `scores` are those of the validation windows, `K` has one matrix per view.
    """

    candidate: Candidate
    alpha: NDArray[np.float64]
    bias: NDArray[np.float64]
    K: NDArray[np.float64]
    theta: NDArray[np.float64]
    scores: NDArray[np.float64]
    gap: float
    is_converged: bool


def fit_method(  # noqa: PLR0913
    method: str,
    train: Windows,
    valid: Windows,
    *,
    kernel: TaskKernel | None = None,
    kernels: TaskKernel | None = None,
    C: Iterable[float] = (0.1, 1.0, 10.0),
    norm: float = 2.0,
    features: Any = None,
    settings: Settings | None = None,
) -> tuple[MultiTaskModel, dict[str, Any]]:
    """Train one of :data:`METHODS`, with what it leaves open chosen on validation windows.

    Parameters
    ----------
    method : str
        One of :data:`METHODS`.
    train, valid : Windows
        Labelled windows of the same tasks.
    kernel : TaskKernel, optional
        K of "mtl".
    kernels : TaskKernel, optional
        K_m of "mkl".
    C : iterable of float
        Costs to choose from.
    norm : float
        p of "mkl".
    features, settings
        See :func:`seqmtl.models.fit.train_model`; C and norm are replaced.

    Returns
    -------
    model : MultiTaskModel
        The chosen weights of every task; its sigmoids are fitted on the validation windows.
    report : dict
        For every task the candidates with their validation average precision and their part in
        the model, as JSON values.

    Raises
    ------
    ValueError
        If the method is unknown, its kernel is missing, there is no cost, a setting is out of
        range, or a task lacks training or validation windows of either class.
    """
    settings = settings or Settings()
    if np.unique(train.task_ids).size < len(train.task_names):
        train = train.with_tasks(train.tasks)
    names = train.task_names
    costs = [replace(settings, C=float(cost)) for cost in sorted(C)]
    if not costs:
        raise ValueError("C must hold at least one cost to choose from, got none")
    for cost in costs:
        replace(cost, norm=norm).check()
    candidates = list_candidates(method, names, kernel, kernels, costs, norm)
    features = PositionalKmers() if features is None else features
    if len(flat_views(features)) > 1:
        candidates = [replace(c, settings=replace(c.settings, norm=norm)) for c in candidates]
    check_classes(train.labels, train.task_ids, names)
    valid = _in_order(valid, names)
    trained = _train_all(train, valid, candidates, features)
    precision = np.array([_precisions(valid, fit.scores, len(names)) for fit in trained])
    parts = (_mean_parts if method == "mkl" else _best_parts)(precision, _errors(precision, valid))
    model = _combine(train, valid, trained, parts, features)
    report = {
        name: [
            {**fit.candidate.label, "auprc": float(precision[r, t]), "part": float(parts[r, t])}
            for r, fit in enumerate(trained)
            if parts[r, t] >= 0.005
        ]
        for t, name in enumerate(names)
    }
    model.training["selection"] = {"method": method, "tasks": report}
    return model, report


def hold_out(windows: Windows, seed: int) -> tuple[Windows, Windows]:
    """Split labelled windows into training and validation, a fifth of every class and task.

    Raises
    ------
    ValueError
        If a task has fewer than two windows of a class.
    """
    rng, held = np.random.default_rng(seed), np.zeros(len(windows), dtype=np.bool_)
    for t, name in enumerate(windows.task_names):
        for sign in (1, -1):
            own = np.flatnonzero((windows.task_ids == t) & (windows.labels == sign))
            if own.size < 2:
                raise ValueError(
                    f"every task must have at least two windows of either class to hold some out, "
                    f"but task {name!r} has {own.size} of label {sign}; train without tuning"
                )
            held[rng.permutation(own)[: max(1, round(_HELD_OUT * own.size))]] = True
    return windows[~held], windows[held]


def list_candidates(
    method: str,
    names: tuple[str, ...],
    kernel: TaskKernel | None,
    kernels: TaskKernel | None,
    costs: list[Settings],
    norm: float,
) -> list[Candidate]:
    """Return the candidates of a method, those that differ only in C next to each other."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    plain: dict[str, TaskKernel | None] = {
        "individual": TaskKernel.independent(names),
        "union": TaskKernel.union(names),
        "mtl": kernel,
    }
    needed = kernels if method == "mkl" else plain[method]
    if needed is None:
        raise ValueError(f"{method!r} needs a task kernel, got none; give a tree or a similarity")
    families: list[tuple[TaskKernel, float | None, dict[str, Any]]] = []
    if method != "mkl":
        families = [(needed.restrict(names), None, {"kernel": method})]
    else:
        families = [
            (TaskKernel.independent(names), None, {"kernel": "individual"}),
            (TaskKernel.union(names), None, {"kernel": "union"}),
        ]
        given = needed.restrict(names)
        relations = [("given", given, trust) for trust in TRUSTS]
        alike = TaskKernel.union(names)
        relations += [("all alike", alike, trust) for trust in ALIKE]
        families += [
            (
                _trusted(relation, trust, norm),
                norm,
                {"kernel": "mkl", "relation": label, "trust": trust},
            )
            for label, relation, trust in relations
        ]
    return [
        Candidate(family, replace(cost, norm=p), {**label, "C": cost.C})
        for family, p, label in families
        for cost in costs
    ]


def _trusted(kernels: TaskKernel, trust: float, norm: float) -> TaskKernel:
    """Return lambda R_m + (1 - lambda) I with R_m the unit-diagonal form of K_m.

    A task that K_m leaves out keeps to itself in R_m. The scale gives the first sum of all, at
    theta_m = M^(-1/p), a unit diagonal too, so that C means what it means for a fixed kernel.
    """
    own = np.sqrt(np.einsum("mtt->mt", kernels.matrices))
    own[own == 0.0] = 1.0
    R = kernels.matrices / own[:, :, None] / own[:, None, :]
    each = np.arange(R.shape[1])
    R[:, each, each] = 1.0
    scale = len(R) ** (1.0 / norm - 1.0)
    K = scale * (trust * R + (1.0 - trust) * np.eye(R.shape[1]))
    return TaskKernel(kernels.names, K, kernels.source, labels=kernels.labels)


def _train_all(
    train: Windows, valid: Windows, candidates: list[Candidate], features: Any
) -> list[Fit]:
    """Train every candidate; those that differ in C only start from one another."""
    rows, valid_rows = features.bind(train), features.bind(valid)
    y, ids, T = train.labels.astype(np.float64), train.task_ids, len(train.task_names)
    fits: list[Fit] = []
    for candidate in candidates:
        settings, kernel, state = candidate.settings, candidate.kernel, None
        K: Any = np.tile(kernel.matrix, (len(views_of(rows)), 1, 1))
        if settings.norm is not None:
            K = kernel_set(kernel, T, len(K), settings.norm)
        if fits and fits[-1].candidate.kernel is kernel:
            last = fits[-1]
            alpha = last.alpha * (settings.C / last.candidate.settings.C)
            rng = np.random.default_rng(settings.seed)
            state = State(alpha, np.arange(y.size), rng, theta=last.theta)
        solution = solve(rows, y, ids, K, settings, state=state)
        scores = valid_rows.scores(solution.W, valid.task_ids) + solution.bias[valid.task_ids]
        K = K.couple(solution.theta) if isinstance(K, KernelSet) else K
        logger.info(
            "trained %d of %d: %s, gap %.1e", len(fits) + 1, len(candidates),
            ", ".join(f"{key} {value}" for key, value in candidate.label.items()), solution.gap,
        )  # fmt: skip
        fits.append(
            Fit(
                candidate, solution.alpha, solution.bias, K, solution.theta, scores, solution.gap,
                solution.converged,
            )
        )  # fmt: skip
    return fits


def _precisions(valid: Windows, scores: NDArray[np.float64], T: int) -> NDArray[np.float64]:
    """Return the average precision of every task, shape (T,)."""
    found = np.zeros(T)
    for t in range(T):
        own = valid.task_ids == t
        found[t] = weighted_auroc_auprc(valid.labels[own], scores[own], np.ones(own.sum()))[1]
    return found


def _errors(precision: NDArray[np.float64], valid: Windows) -> NDArray[np.float64]:
    """Return the standard error of the best average precision of every task, shape (T,).

    The binomial one of Boyd, Eng, Page (2013), section 3.2, with half a count added.
    """
    T = precision.shape[1]
    n = np.bincount(valid.task_ids[valid.labels > 0], minlength=T)
    p = (precision.max(axis=0) * n + 0.5) / (n + 1.0)
    return np.sqrt(p * (1.0 - p) / n)


def _best_parts(precision: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give every task its best candidate, shape (R, T)."""
    parts = np.zeros_like(precision)
    parts[np.argmax(precision, axis=0), np.arange(precision.shape[1])] = 1.0
    return parts


def _mean_parts(precision: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give every task a mean of its candidates, shape (R, T)."""
    parts = np.exp((precision - precision.max(axis=0)) / (_TEMPERATURE * errors))
    return np.asarray(parts / parts.sum(axis=0))


def _combine(
    train: Windows, valid: Windows, fits: list[Fit], parts: NDArray[np.float64], features: Any
) -> MultiTaskModel:
    """Sum the weights of the candidates anew from their dual variables, each by its part.

    Candidates of large C have large scores; they are brought to one spread first.
    """
    rows, names = features.bind(train), train.task_names
    T, ids, settings = len(names), train.task_ids, fits[0].candidate.settings
    spread = np.array([[fit.scores[valid.task_ids == t].std() for t in range(T)] for fit in fits])
    spread = np.maximum(spread, 1e-12)
    factors = parts / spread * (parts * spread).sum(axis=0)
    W = np.zeros((rows.n_features, T), dtype=settings.dtype)
    bias, scores = np.zeros(T), np.zeros(len(valid))
    for fit, factor in zip(fits, factors, strict=True):
        used, amount = np.flatnonzero(fit.alpha), fit.alpha * train.labels
        for view, K in zip(views_of(rows), fit.K, strict=True):
            view.rows.accumulate(used, amount, ids, K * factor, W[view.columns])
        bias += fit.bias * factor
        scores += fit.scores * factor[valid.task_ids]
    kernel = np.tensordot(parts.mean(axis=1), np.array([fit.K for fit in fits]), 1)
    calibration = calibrate_tasks(scores, valid.labels, valid.task_ids, T)
    mean_kernel = TaskKernel(names, kernel, "chosen on validation", labels=view_names(features))
    return build_model(
        train, features, names, mean_kernel, (W, bias), calibration,
        _summary(train, fits, settings), "classification",
    )  # fmt: skip


def _summary(train: Windows, fits: list[Fit], settings: Settings) -> dict[str, Any]:
    counts = {
        name: {"n": int(own.sum()), "n_positive": int((train.labels[own] > 0).sum())}
        for name, own in ((n, train.task_ids == t) for t, n in enumerate(train.task_names))
    }
    return {
        "settings": settings.to_dict(),
        "tasks": counts,
        "duality_gap": max(fit.gap for fit in fits),
        "converged": all(fit.is_converged for fit in fits),
        "n_epochs": len(fits),
        "n_support": int(np.any([fit.alpha for fit in fits], axis=0).sum()),
        "history": [],
    }


def _in_order(valid: Windows, names: tuple[str, ...]) -> Windows:
    """Return the validation windows with their tasks numbered as in training."""
    if set(valid.task_names) != set(names):
        differ = ", ".join(sorted(set(valid.task_names) ^ set(names)))
        raise ValueError(
            f"training and validation windows must be of the same tasks, but differ in {differ}"
        )
    ids = np.array([names.index(name) for name in valid.task_names])[valid.task_ids]
    try:
        check_classes(valid.labels, ids, names)
    except ValueError as error:
        raise ValueError(f"in the validation windows {error}") from error
    valid = valid[np.argsort(ids, kind="stable")]
    return valid.with_tasks(valid.tasks)
