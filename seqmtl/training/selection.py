"""Select how much each task shares, and the cost, on held-out training labels.

    K_st = min(x_s, x_t) R_st,   K_tt = 1

=========  ==============================================================================
R          relation of the tasks with unit diagonal: the given one, all alike (11'), or a mixture
           R_st = sum_r sqrt(p_rs p_rt) R^r_st, sum_r p_rt = 1
x_t        trust of task t in R, from 0 to 1; the less trusting task of a pair limits what it shares
=========  ==============================================================================

x = 0 is one SVM per task; x = 1 with R = 11' is the union. min(x_s, x_t) is a kernel, and so is its
product with R. The final model is then trained with this K on all labels. With many tasks and
relations that are trees, x is rounded to a few levels u_1 < u_2 < ... (u_0 = 0). As

    min(x_s, x_t) = sum_l (u_l - u_(l-1)) [x_s >= u_l] [x_t >= u_l],

K is then a sum over the nodes of the trees, once for each level among the tasks that reach it, and
can be trained in time that does not grow with the number of tasks.

First the features are chosen, of several maps or the only one, with all tasks alike: the first map
that is not worse than the best by a standard error. Candidates for K are x R + (1 - x) I with the
same x for all tasks. All are scored on held-out labels of a sample (see
:mod:`seqmtl.training.cross_validation`). The evidence of a candidate in a task combines a prior,
the task's log-likelihood and, for tasks with few labels, a part of the other tasks'. The
hyperparameters are not the best candidate but the average of all, weighted by evidence. With few
labels the result stays close to the prior, about half shared; with many it approaches the best
candidate. p is half the average of the task and half the mean over tasks. At this K the cost,
one for all tasks, is selected last.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl import core
from seqmtl._checks import check_number
from seqmtl._surroundings import usual_floats
from seqmtl.core.dcd import WarmStart
from seqmtl.core.kernel_stack import MAX_TASKS_AS_MATRIX, KernelStack
from seqmtl.features._base import FeatureDefinition
from seqmtl.relations import TaskKernel
from seqmtl.sequences.examples import Examples
from seqmtl.training.cross_validation import (
    FOLD_TOL,
    MAX_GRAM_EXAMPLES,
    MIN_LABELS,
    Candidate,
    CrossValidation,
    LikelihoodCache,
    posterior_weights,
    view_grams,
)
from seqmtl.training.settings import COSTS, Settings
from seqmtl.training.solver import ONE_THREAD, check_classes, problem_of
from seqmtl.training.task_kernels import kernel_for_solver, resolve_kernels

#: Trust values to choose from, with their prior weights.
TRUSTS = {0.0: 0.1, 0.1: 0.5, 0.25: 1.5, 0.5: 2.0, 1.0: 1.0}

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)

_SHARPNESS = 2.0  # factor on the log-likelihood of a task, as averaging flattens the weights
_OTHERS = 0.3  # factor on the mean over the other tasks
#: Examples by which choices are made: so many bases or numbers, at most and at least; features by
#: a third of them.
_MAX_BASES, _MIN_EXAMPLES, _FEATURES_SHARE = 400_000, 400, 3
_MAX_TARGETS = 2000  # in regression, where squares of residuals take more epochs
#: A cost chosen on a sample is too large for all examples: by this power of their ratio, if that is
#: not below the least cost. Nine binding tasks of 154,410 sequences jointly, C 7.5 on 4,000: mean
#: AUROC 0.896, at 1 0.920. 17,500 windows at starts of transcription: 0.9589 with 0.5, else 0.9601.
_COST_POWER = 0.75
_NEGLIGIBLE = 0.05  # share of a relation in the mixture
#: Ratio of neighbouring levels of trust where there are many tasks; 0.6 takes a quarter longer.
_STEP = 0.5


@dataclass(frozen=True)
class SearchSpace:
    """The search space of a selection.

    Attributes
    ----------
    relations : dict of str to TaskKernel
        R by name; the tasks of the data come first in each.
    trusts : dict of float to float
        Prior weight of each trust value. If 1 is the only one, relations are used as they
        are; else they are scaled to a unit diagonal.
    costs : tuple of float
        Costs; they are sorted.
    """

    relations: dict[str, TaskKernel]
    trusts: dict[float, float] = field(default_factory=lambda: TRUSTS)
    costs: tuple[float, ...] = COSTS

    def __post_init__(self) -> None:
        """Sort the costs; raise ValueError for one out of range."""
        for cost in self.costs:
            check_number("costs", cost)
        object.__setattr__(self, "costs", tuple(sorted(map(float, self.costs))))

    @classmethod
    def of_sharing(
        cls,
        names: tuple[str, ...],
        relation: TaskKernel | None = None,
        costs: tuple[float, ...] = COSTS,
    ) -> SearchSpace:
        """Return the default space: a relation, if given, and all tasks alike."""
        every = names if relation is None else relation.names
        given = {} if relation is None else alternatives(relation)
        relations = {name: kernel.scaled() for name, kernel in given.items()}
        relations["all alike"] = TaskKernel.union(every)
        if len(names) > 1:
            return cls(relations, costs=costs)
        return cls(dict([*relations.items()][:1]), {1.0: 1.0}, costs)

    @classmethod
    def of_cost(cls, kernel: TaskKernel, costs: tuple[float, ...] = COSTS) -> SearchSpace:
        """Return the space of one task kernel, or of alternatives, at several costs."""
        return cls(alternatives(kernel), {1.0: 1.0}, costs)

    @property
    def is_shared(self) -> bool:
        """Whether the trust is selected, so that the sharing of the tasks is estimated."""
        return len(self.trusts) > 1

    def sharings(self) -> list[tuple[str, float, float]]:
        """Return relation, trust and prior of every candidate; no trust is one for all."""
        names = [*self.relations]
        sharings = [(name, x, self.trusts[x]) for name in names for x in self.trusts if x > 0.0]
        if 0.0 in self.trusts:
            sharings.insert(0, (names[0], 0.0, self.trusts[0.0] * len(names)))
        return sharings

    def led_by(self, names: tuple[str, ...]) -> SearchSpace:
        """Return the space with these tasks as those of the data, and the others without data."""
        every = next(iter(self.relations.values())).names
        order = [*names, *(name for name in every if name not in names)]
        return replace(self, relations={k: R.restrict(order) for k, R in self.relations.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return the search space as JSON values, the relations by name."""
        return {
            "relations": [*self.relations],
            "trusts": [*self.trusts.items()],
            "costs": self.costs,
        }


def alternatives(kernel: TaskKernel) -> dict[str, TaskKernel]:
    """Return relations to choose from: each K_m if all of them have all tasks, else their mean."""
    if kernel.n_kernels == 1 or not kernel.stack.diagonals().all():
        return {kernel.source: kernel}
    sources = [f"{kernel.source}, {label}" for label in kernel.labels]
    return {
        source: TaskKernel(kernel.names, kernel.stack.pick([m]), source)
        for m, source in enumerate(sources)
    }


class Selection(NamedTuple):
    """What is given or was selected, for :func:`seqmtl.training.fit.fit`.

    Attributes
    ----------
    features : FeatureDefinition
        Feature map.
    task_kernel : TaskKernel
        Task kernel of the tasks with data, which come first, and of others.
    settings : Settings
        Training settings, with the cost.
    report : dict, optional
        {"selection": ...}, what was selected, as JSON values.
    """

    features: FeatureDefinition
    task_kernel: Any
    settings: Settings
    report: dict[str, Any] | None = None


@usual_floats
@ONE_THREAD
def select(
    examples: Examples,
    space: SearchSpace,
    candidates: Sequence[FeatureDefinition],
    settings: Settings,
    likelihoods: LikelihoodCache | None = None,
) -> Selection:
    """Select features, relation, trust and cost.

    Parameters
    ----------
    examples : Examples
        All labelled examples.
    space : SearchSpace
        Search space. If kernel weights are to be learnt, only its costs are selected from, one for
        all tasks.
    candidates : sequence of FeatureDefinition
        Feature maps to choose from, the preferable ones first; or one.
    settings : Settings
        Training settings; the cost is replaced.
    likelihoods : LikelihoodCache, optional
        Held-out log-likelihoods computed before; new ones are added.

    Raises
    ------
    ValueError
        If a task lacks a class, or a cost or a setting is out of range.
    """
    if settings.kind == "classification":
        check_classes(examples)
    likelihoods = likelihoods or LikelihoodCache()
    rng, length = np.random.default_rng(settings.seed), examples.data.shape[1]
    max_examples = MAX_GRAM_EXAMPLES if settings.kind == "classification" else _MAX_TARGETS
    n = int(np.clip(_MAX_BASES // length, _MIN_EXAMPLES, max_examples))
    sample = examples.take(examples.sample(n, rng))
    features, compared = candidates[0], list[dict[str, Any]]()
    if len(candidates) > 1:
        part = sample.take(sample.sample(max(n // _FEATURES_SHARE, _MIN_EXAMPLES), rng))
        features, compared = _choose_features(part, candidates, settings, likelihoods)
    arguments = examples, sample, space, features, settings, likelihoods
    is_learnt = settings.norm is not None
    kernel, C, report = _select_cost(*arguments) if is_learnt else _Selector(*arguments).run()
    if settings.kind == "classification" and len(space.costs) > 1:
        C = max(C * (sample.y.size / examples.y.size) ** _COST_POWER, space.costs[0])
        for of_task in report["tasks"].values():
            of_task["C"] = C
    report = {"n": int(sample.y.size), "features": compared} | report
    return Selection(features, kernel, replace(settings, C=C), {"selection": report})


def _choose_features(
    sample: Examples,
    candidates: Sequence[FeatureDefinition],
    settings: Settings,
    likelihoods: LikelihoodCache,
) -> tuple[FeatureDefinition, list[dict[str, Any]]]:
    """Return the features by which a sample is learnt best, with all tasks alike, and all results.

    They are the first that are not worse than the best by a standard error.
    """
    K = (np.ones((len(sample.names),) * 2) + np.eye(len(sample.names))) / 2.0
    grams = view_grams(candidates, sample.data)

    def judge(features: FeatureDefinition) -> Array:
        folds = CrossValidation(sample, features, settings, grams=grams)
        return folds.of_examples(folds.fit(K, 1.0).log_likelihoods)

    likelihoods.expect(len(candidates))
    values = likelihoods.score({f"features {one}": partial(judge, one) for one in candidates})
    best = max(values, key=np.sum)
    losses = [best - value for value in values]
    chosen = next(i for i, x in enumerate(losses) if x.sum() <= x.std() * x.size**0.5)
    for features, value in zip(candidates, values, strict=True):
        logger.debug("%s: held-out log-likelihood %.4f", features, value.mean())
    logger.info("features, chosen from %d by cross-validation: %s", len(values), candidates[chosen])
    return candidates[chosen], [
        {"features": str(one), "log_likelihood": float(value.sum()), "chosen": i == chosen}
        for i, (one, value) in enumerate(zip(candidates, values, strict=True))
    ]


def _select_cost(
    examples: Examples,
    sample: Examples,
    space: SearchSpace,
    features: FeatureDefinition,
    settings: Settings,
    likelihoods: LikelihoodCache,
) -> tuple[TaskKernel, float, dict[str, Any]]:
    """Select one cost for all tasks where kernel weights are learnt, by cross-validation.

    The weights are learnt on all examples of the sample, and fixed in the folds: they are few, and
    an example that is held out hardly changes them.
    """
    costs = space.costs
    kernel = resolve_kernels(list(space.relations.values()), examples.names, settings.norm)
    C = costs[0]
    if len(costs) > 1:
        folds = CrossValidation(sample, features, settings, is_apart=True)
        n_views = len(features.flat_views())
        K, kernels = kernel_for_solver(kernel, len(examples.names), n_views, settings.norm)
        assert kernels is not None
        rows = features.bind(sample.data)
        starts: list[WarmStart | None] = [None]

        def judge(cost: float) -> Array:
            at_cost = replace(settings, C=cost, tol=max(FOLD_TOL, settings.tol))
            problem = problem_of(rows, sample, K, at_cost)
            solution = core.solve(problem, kernels, start=starts[-1], **at_cost.limits)
            starts.append(WarmStart(solution.alpha, solution.theta))
            fit = folds.fit(kernels.combine(solution.theta).K, cost)
            return np.array([fit.log_likelihoods.sum()])

        likelihoods.expect(len(costs))
        values = likelihoods.score({f"C {c:g}": partial(judge, c) for c in costs})
        C = float(
            np.exp(posterior_weights(np.array(values), 1.0, _SHARPNESS)[:, 0] @ np.log(costs))
        )
    return kernel, C, {"tasks": {name: {"C": C} for name in examples.names}}


class _Selector:
    """Select relation and trust of every task, and one cost, step by step."""

    def __init__(
        self,
        examples: Examples,
        sample: Examples,
        space: SearchSpace,
        features: FeatureDefinition,
        settings: Settings,
        likelihoods: LikelihoodCache,
    ) -> None:
        self._sample, self._space, self._likelihoods = sample, space, likelihoods
        self._T = len(examples.names)
        stacks = [relation.stack for relation in space.relations.values()]
        self._has_nodes = self._T > MAX_TASKS_AS_MATRIX and all(K.nodes is not None for K in stacks)
        self._few_labels = _find_few(examples, settings)
        self._is_regression = settings.kind == "regression"
        counts = [len(space.sharings()), len(space.costs)]
        self._is_judged = max(counts) > 1
        if self._is_judged:
            likelihoods.expect(sum(n for n in counts if n > 1))
            self._folds = CrossValidation(sample, features, settings)

    def run(self) -> tuple[TaskKernel, float, dict[str, Any]]:
        """Return the task kernel of all tasks of the relations, the mean cost, and a report."""
        parts, trust, by_trust = self._choose_sharing()
        kernel, costs = self._kernel(parts, trust), self._space.costs
        K, C = kernel.matrix[: self._T, : self._T], costs[0]
        if len(costs) > 1:  # one for all tasks: by its own labels alone, that of a task is noise
            candidates = {f"C {c:g}": partial(self._judge, K, c) for c in costs}
            weights = self._weights_of(candidates, is_pooled=True)
            C = float(np.exp(weights[:, 0] @ np.log(costs)))
        tasks = {
            name: {
                "trust": float(trust[t]),
                "C": C,
                "weights": {f"{x:g}": round(float(w[t]), 4) for x, w in by_trust.items()},
                "relations": {n: float(p[t]) for n, p in parts.items()},
                "by_prior": bool(self._few_labels[t]),
            }
            for t, name in enumerate(self._sample.names)
        }
        if self._is_judged and not self._is_regression:
            accuracies = self._folds.accuracies(self._folds.fit(K, C).scores)
            for of_task, metrics in zip(tasks.values(), accuracies, strict=True):
                if metrics is not None:
                    of_task["auroc"], of_task["auprc"] = metrics
        relations = {name: float(p.mean()) for name, p in parts.items()}
        for name, part in relations.items():
            if part < _NEGLIGIBLE:
                logger.info("%s: held-out labels give it next to no part in the model", name)
        return kernel, C, {"relations": relations, "tasks": tasks}

    def _choose_sharing(self) -> tuple[dict[str, Array], Array, dict[float, Array]]:
        """Return p of every relation and x, (T,) each, and the weights of the trusts."""
        sharings, weights = self._space.sharings(), np.ones((1, self._T))
        if len(sharings) > 1:
            candidates = {
                f"{name}, trust {x:g}": partial(self._judge_sharing, name, x)
                for name, x, _ in sharings
            }
            weights = self._weights_of(candidates, [prior for *_, prior in sharings])
        names, trust = (np.array(column) for column in list(zip(*sharings, strict=True))[:2])
        shared = weights * trust[:, None]
        p = np.array([shared[names == name].sum(axis=0) for name in self._space.relations])
        p = (p + 1e-300) / (p + 1e-300).sum(axis=0)  # defined even if nothing is shared
        p = 0.5 * p + 0.5 * p.mean(axis=1, keepdims=True)
        by_trust = {x: weights[trust == x].sum(axis=0) for x in self._space.trusts}
        x = weights.T @ trust
        parts = dict(zip(self._space.relations, p, strict=True))
        return parts, _round(x) if self._has_nodes else x, by_trust

    def _judge_sharing(self, name: str, trust: float) -> Array:
        """Judge a relation with the same trust for all tasks, at the middle cost."""
        K = trust * self._space.relations[name].matrix[: self._T, : self._T]
        if self._space.is_shared:
            np.fill_diagonal(K, 1.0)
        return self._judge(K, self._space.costs[len(self._space.costs) // 2])

    def _judge(self, K: Array, cost: float) -> Array:
        """Return the held-out log-likelihood of every example of the sample."""
        return self._folds.of_examples(self._folds.fit(K, cost).log_likelihoods)

    def _kernel(self, parts: dict[str, Array], trust: Array) -> TaskKernel:
        """Return K of all tasks of the relations, which may be more than those with data.

        Tasks without data have full trust in the mean mixture of the relations.
        """
        names = next(iter(self._space.relations.values())).names
        x = np.ones(len(names))
        x[: self._T] = trust
        levels, terms = np.unique(x), []
        for name, share in parts.items():
            relation, p = self._space.relations[name], np.full(len(names), share.mean())
            p[: self._T] = share
            for level, step in zip(levels, np.diff(levels, prepend=0.0), strict=True):
                terms.append(relation.stack.rescaled(np.sqrt(p * step) * (x >= level)))
        K, source = KernelStack.join(terms).mix(np.ones((1, len(terms)))), relation.source
        if self._space.is_shared:
            K, source = K.with_unit_diagonals(), "trust tuned on held-out labels"
        return TaskKernel(names, K, source)

    def _weights_of(
        self, candidates: Mapping[str, Candidate], prior: Any = 1.0, *, is_pooled: bool = False
    ) -> Array:
        """Return the weight of every candidate in every task, or the same in all of them."""
        scores, ids = self._likelihoods.score(candidates), self._sample.ids
        values = np.array([np.bincount(ids, value, minlength=self._T) for value in scores])
        values[:, self._few_labels] = values[:, self._few_labels].mean(axis=0)
        if is_pooled or self._is_regression:  # targets of a task vary more than labels
            values[:] = values.sum(axis=1, keepdims=True)
        return posterior_weights(values, prior, _SHARPNESS, _OTHERS)


def _round(trust: Array) -> Array:
    """Round trust to 0 and the powers of :data:`_STEP`, so that K has few nodes."""
    least = min(x for x in TRUSTS if x > 0.0)
    rounded = _STEP ** np.round(np.log(np.maximum(trust, least)) / np.log(_STEP))
    return np.where(trust < least / 2.0, 0.0, rounded)


def _find_few(examples: Examples, settings: Settings) -> NDArray[np.bool_]:
    """Return which tasks have too few labels of a class to hold one out; log them."""
    fewest, positive = examples.counts()
    if settings.kind == "classification":
        fewest = np.minimum(positive, fewest - positive)
    for name, n in zip(examples.names, fewest, strict=True):
        if n < MIN_LABELS:
            logger.info(
                "%s has too few labels of a class (%d) to hold one out: it shares as the "
                "others do, or by default",
                name,
                n,
            )
    return np.asarray(fewest < MIN_LABELS)
