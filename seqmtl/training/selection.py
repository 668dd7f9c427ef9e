"""Select how much each task shares, and its cost, on held-out training labels.

    K_st = sqrt(d_s d_t) min(x_s, x_t) R_st,   K_tt = d_t

=========  ==============================================================================
R          relation of the tasks with unit diagonal: the given one, all alike (11'), or a mixture
           R_st = sum_r sqrt(p_rs p_rt) R^r_st, sum_r p_rt = 1
x_t        trust of task t in R, from 0 to 1; the less trusting task of a pair limits what it shares
d_t        C_t / C, the cost of task t relative to the overall cost
=========  ==============================================================================

x = 0 is one SVM per task; x = 1 with R = 11' is the union. min(x_s, x_t) is a kernel, and so is its
product with R. The final model is then trained with this K on all labels. With many tasks and
relations that are trees, x is rounded to a few levels u_1 < u_2 < ... (u_0 = 0). As

    min(x_s, x_t) = sum_l (u_l - u_(l-1)) [x_s >= u_l] [x_t >= u_l],

K is then a sum over the nodes of the trees, once for each level among the tasks that reach it, and
can be trained in time that does not grow with the number of tasks.

Candidates are x R + (1 - x) I with the same x for all tasks, each scored on held-out labels (see
:mod:`seqmtl.training.cross_validation`). The evidence of a candidate in a task combines a prior,
the task's log-likelihood and, for tasks with few labels, a part of the other tasks'. The
hyperparameters are not the best candidate but the average of all, weighted by evidence. With few
labels the result stays close to the prior, about half shared; with many it approaches the best
candidate. p is half the average of the task and half the mean over tasks. At this K costs are
selected next, then the variants of the features, if there are any. All tasks use the same variant,
and the given one is replaced only by one that is better by a standard error.

If there are too many labels to cross-validate all, a sample first tells whether exact positions far
from the site are worth their time; then a tenth of up to :data:`_AT_SIZE` is held out
to compare the variants and to test whether a smaller cost suits more labels. Trust stays as it is:
lowered by the same evidence, which the many decoys dominate, it ranked sites worse.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl._surroundings import usual_floats
from seqmtl._threads import in_order
from seqmtl.calibration.leave_one_out import find_alike
from seqmtl.core.dcd import WarmStart
from seqmtl.core.grouped_kernel import MAX_SINGLE_GROUP, TreeFactors
from seqmtl.features._base import FeatureDefinition
from seqmtl.relations import TaskKernel
from seqmtl.sequences.examples import Examples
from seqmtl.training.cross_validation import (
    FOLD_TOL,
    MAX_GRAM_EXAMPLES,
    Candidate,
    CrossValidation,
    LikelihoodCache,
    Run,
    hold_out,
    posterior_weights,
    solve_roughly,
)
from seqmtl.training.settings import COSTS, Settings
from seqmtl.training.solver import ONE_THREAD, check_classes, solve_examples
from seqmtl.training.task_kernels import kernel_for_solver, resolve_kernels

#: Trust values to choose from, with their prior weights.
TRUSTS = {0.0: 0.1, 0.1: 0.5, 0.25: 1.5, 0.5: 2.0, 1.0: 1.0}

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)

_SHARPNESS = 2.0  # factor on the log-likelihood of a task, as averaging flattens the weights
_OTHERS = 0.3  # factor on the mean over the other tasks
_CHEAPER = (0.3,)  # factors on the cost to try with more labels
#: Examples by which costs are compared where there are more: so many, and so many values at most.
_AT_SIZE, _AT_SIZE_VALUES = 60_000, 10**8
_HELD_OUT = 0.1
#: Windows by which the kind of features is chosen: so many bases, at most and at least.
_KIND_BASES, _MAX_KIND, _MIN_KIND = 300_000, 2_000, 400
_NEGLIGIBLE = 0.05  # share of a relation in the mixture
#: Ratio of neighbouring levels of trust where there are many tasks; 0.6 takes a quarter longer.
_STEP = 0.5
_MIN_LABELS = 2  # labels per class needed to hold one out


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
        In rising order.
    """

    relations: dict[str, TaskKernel]
    trusts: dict[float, float] = field(default_factory=lambda: TRUSTS)
    costs: tuple[float, ...] = COSTS

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
        """Return the search space as JSON values."""
        relations = {name: kernel.to_tsv() for name, kernel in self.relations.items()}
        return {"relations": relations, "trusts": [*self.trusts.items()], "costs": self.costs}


def alternatives(kernel: TaskKernel) -> dict[str, TaskKernel]:
    """Return relations to choose from: each K_m if all of them have all tasks, else their mean."""
    every = np.arange(len(kernel))
    if kernel.n_kernels == 1 or (np.einsum("mtt->mt", kernel.matrices) == 0.0).any():
        return {kernel.source: kernel}
    kernels = {}
    for m, label in enumerate(kernel.labels):
        nodes = kernel.nodes and kernel.nodes.take(every, [m])
        source = f"{kernel.source}, {label}"
        kernels[source] = TaskKernel(kernel.names, kernel.matrices[m], source, nodes=nodes)
    return kernels


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
    start : WarmStart, optional
        Where training in memory begins: dual variables of the selection.
    """

    features: FeatureDefinition
    task_kernel: Any
    settings: Settings
    report: dict[str, Any] | None = None
    start: WarmStart | None = None


@usual_floats
@ONE_THREAD
def select(
    examples: Examples,
    space: SearchSpace,
    kinds: Sequence[FeatureDefinition],
    settings: Settings,
    likelihoods: LikelihoodCache | None = None,
    run: Run = in_order,
) -> Selection:
    """Select the kind of features, relation, trust, cost and variant of the features.

    Parameters
    ----------
    examples : Examples
        All labelled examples.
    space : SearchSpace
        Search space. If kernel weights are to be learnt, only its costs are selected from, one for
        all tasks.
    kinds : sequence of FeatureDefinition
        Feature maps of several kinds, or one; the ``reweighted()`` of the chosen one, if any, are
        tried as well.
    settings : Settings
        Training settings; the cost is replaced.
    likelihoods : LikelihoodCache, optional
        Held-out log-likelihoods computed before; new ones are added.
    run : callable
        Scores the candidates that are compared on many examples: applies a function to jobs, which
        can be pickled, and yields the results in order.

    Raises
    ------
    ValueError
        If a task lacks a class, or a cost or a setting is out of range.
    """
    for cost in space.costs:
        replace(settings, C=cost).check()
    check_classes(examples)
    examples = replace(examples, y=np.asarray(examples.y, dtype=np.float64))
    likelihoods = likelihoods or LikelihoodCache()
    features = _choose_kind(examples, kinds, settings, likelihoods)
    if settings.norm is not None:
        return _select_cost(examples, space, features, settings, likelihoods)
    return _Selector(examples, space, features, settings, likelihoods, run).run()


def _choose_kind(
    examples: Examples,
    kinds: Sequence[FeatureDefinition],
    settings: Settings,
    likelihoods: LikelihoodCache,
) -> FeatureDefinition:
    """Return the kind of features by which a sample is classified best, with all tasks alike.

    It is the first that is not worse than the best by a standard error.
    """
    if len(kinds) < 2:
        return kinds[0]
    rng = np.random.default_rng(settings.seed)
    n = max(min(_KIND_BASES // examples.data.shape[1], _MAX_KIND), _MIN_KIND)
    rows = np.arange(examples.y.size)
    sample = examples.take(examples.sample(n, rng) if rows.size > n else rows)
    K = (np.ones((len(sample.names),) * 2) + np.eye(len(sample.names))) / 2.0
    grams: dict[str, Any] = {}

    def judge(kind: FeatureDefinition) -> Array:
        folds = CrossValidation(sample, kind, settings, grams)
        return folds.of_examples(folds.fit(K, 1.0).log_likelihoods)

    likelihoods.n_all = len(kinds)
    names = {f"kind of features: {kind}": partial(judge, kind) for kind in kinds}
    values = likelihoods.score(names)
    best = _first_good(values)
    for kind, value in zip(kinds, values, strict=True):
        logger.info("%s: held-out log-likelihood %.4f", kind, value.mean())
    logger.info("features of the model: %s", kinds[best])
    return kinds[best]


def _first_good(values: Sequence[Array]) -> int:
    """Return the first candidate that is not worse than the best by a standard error."""
    best = max(values, key=np.sum)
    losses = [best - value for value in values]
    return next(i for i, x in enumerate(losses) if x.sum() <= x.std() * x.size**0.5)


def _best(values: Sequence[Array]) -> int:
    """Return the best candidate, or the first if the best is not better by a standard error."""
    best = int(np.argmax([value.sum() for value in values]))
    gain = values[best] - values[0]
    return 0 if gain.sum() <= gain.std() * gain.size**0.5 else best


def _select_cost(
    examples: Examples,
    space: SearchSpace,
    features: FeatureDefinition,
    settings: Settings,
    likelihoods: LikelihoodCache,
) -> Selection:
    """Select one cost for all tasks where kernel weights are learnt, by cross-validation.

    The weights are learnt on all examples of the sample, and fixed in the folds: they are few, and
    an example that is held out hardly changes them.
    """
    costs, likelihoods.n_all = space.costs, likelihoods.n_scored + len(space.costs)
    kernel = resolve_kernels(list(space.relations.values()), examples.names)
    C = costs[0]
    if len(costs) > 1:
        sample = examples
        if examples.y.size > MAX_GRAM_EXAMPLES:
            rng = np.random.default_rng(settings.seed)
            sample = examples.take(examples.sample(MAX_GRAM_EXAMPLES, rng))
        folds = CrossValidation(sample, features, settings, is_apart=True)
        n_views = len(features.flat_views())
        kernels = kernel_for_solver(kernel, len(examples.names), n_views, settings.norm)
        rows = features.bind(sample.data)
        starts: list[WarmStart | None] = [None]

        def judge(cost: float) -> Array:
            at_cost = replace(settings, C=cost, tol=max(FOLD_TOL, settings.tol))
            solution = solve_examples(rows, sample, kernels, at_cost, start=starts[-1])
            starts.append(WarmStart(solution.alpha, solution.theta))
            fit = folds.fit(kernels.combine(solution.theta).K, cost)
            return np.array([fit.log_likelihoods.sum()])

        values = likelihoods.score({f"C {c:g}": partial(judge, c) for c in costs})
        C = float(
            np.exp(posterior_weights(np.array(values), 1.0, _SHARPNESS)[:, 0] @ np.log(costs))
        )
    report = {"tasks": {name: {"C": C} for name in examples.names}}
    return Selection(features, kernel, replace(settings, C=C), {"selection": report})


def _split(examples: Examples, is_held: NDArray[np.bool_]) -> tuple[Examples, Examples]:
    return examples.take(np.flatnonzero(~is_held)), examples.take(np.flatnonzero(is_held))


class _Sharing(NamedTuple):
    """What tasks share: p of every relation and task, x and d of every task."""

    parts: dict[str, Array]
    trust: Array
    costs: Array


class _Selector:
    """One selection, step by step: trust and relation, costs, variants, size."""

    def __init__(
        self,
        examples: Examples,
        space: SearchSpace,
        features: FeatureDefinition,
        settings: Settings,
        likelihoods: LikelihoodCache,
        run: Run,
    ) -> None:
        self._examples, self._space, self._settings = examples, space, settings
        self._features, self._likelihoods, self._run = features, likelihoods, run
        self._T = len(examples.names)
        relations = space.relations.values()
        self._has_nodes = self._T > MAX_SINGLE_GROUP and all(R.nodes is not None for R in relations)
        self._rng = np.random.default_rng(settings.seed)
        self._variants = list(features.reweighted())
        self._alternatives: Sequence[FeatureDefinition] = []
        self._is_large = examples.y.size > MAX_GRAM_EXAMPLES
        if self._is_large:
            rows = examples.sample(MAX_GRAM_EXAMPLES, self._rng)
            self._alternatives = features.alternatives()
        else:
            rows = np.arange(examples.y.size)
            self._variants[1:1] = features.alternatives()[1:]
        self._sample = examples.take(rows)
        self._few_labels = _find_few(self._sample)
        self._n_scored = likelihoods.n_scored
        self._count()
        self._grams: dict[str, Any] = {}  # of parts that variants of the features share
        self._folds = CrossValidation(self._sample, features, settings, self._grams)
        self._alpha: Array | None = None  # at C = 1, of training on many examples

    def run(self) -> Selection:
        """Choose."""
        sharing, by_trust = self._choose_sharing()
        if len(self._space.costs) > 1:
            costs = {
                f"C {c:g}": self._candidate(sharing, self._features, c) for c in self._space.costs
            }
            weights = self._weights_of(costs, self._sample.ids)
            sharing = sharing._replace(costs=np.exp(weights.T @ np.log(self._space.costs)))
        else:
            sharing = sharing._replace(costs=np.full(self._T, self._space.costs[0]))
        if self._is_large:
            features, variants, sharing = self._at_size(sharing)
        else:
            candidates = [self._candidate(sharing, variant) for variant in self._variants]
            features, variants = self._choose("features", self._variants, candidates)
        C = float(np.exp(np.log(sharing.costs).mean()))
        every = next(iter(self._space.relations.values())).names
        kernel = self._kernel(sharing._replace(costs=sharing.costs / C), len(every))
        tasks = {
            name: {
                "trust": float(sharing.trust[t]),
                "C": float(sharing.costs[t]),
                "weights": {f"{x:g}": round(float(w[t]), 4) for x, w in by_trust.items()},
                "relations": {n: float(p[t]) for n, p in sharing.parts.items()},
                "by_prior": bool(self._few_labels[t]),
            }
            for t, name in enumerate(self._examples.names)
        }
        relations = {name: float(p.mean()) for name, p in sharing.parts.items()}
        for name, part in relations.items():
            if part < _NEGLIGIBLE:
                logger.info("%s: held-out labels give it next to no part in the model", name)
        report = {"relations": relations, "variants": variants, "tasks": tasks}
        # with K / C in place of K, bounds and dual variables are C times as large
        start = None if self._alpha is None else WarmStart(C * self._alpha)
        settings = replace(self._settings, C=C)
        return Selection(features, kernel, settings, {"selection": report}, start)

    def _choose_sharing(self) -> tuple[_Sharing, dict[float, Array]]:
        """Return what the tasks share, at equal costs, and the weights of the trusts."""
        sharings, weights = self._space.sharings(), np.ones((1, self._T))
        ones = np.ones(self._T)
        if len(sharings) > 1:
            cost = self._space.costs[len(self._space.costs) // 2]
            candidates = {
                f"{name}, trust {x:g}": self._candidate(
                    _Sharing({name: ones}, x * ones, ones), self._features, cost
                )
                for name, x, _ in sharings
            }
            weights = self._weights_of(
                candidates, self._sample.ids, [prior for *_, prior in sharings]
            )
        names, trust = (np.array(column) for column in list(zip(*sharings, strict=True))[:2])
        shared = weights * trust[:, None]
        p = np.array([shared[names == name].sum(axis=0) for name in self._space.relations])
        p = (p + 1e-300) / (p + 1e-300).sum(axis=0)  # defined even if nothing is shared
        p = 0.5 * p + 0.5 * p.mean(axis=1, keepdims=True)
        by_trust = {x: weights[trust == x].sum(axis=0) for x in self._space.trusts}
        x = weights.T @ trust
        parts = dict(zip(self._space.relations, p, strict=True))
        return _Sharing(parts, _round(x) if self._has_nodes else x, ones), by_trust

    def _candidate(
        self, sharing: _Sharing, features: FeatureDefinition, cost: float = 1.0
    ) -> Candidate:
        """Return what gives the held-out log-likelihood of every example of the sample."""

        def cross_validate() -> Array:
            folds = self._folds
            if features is not folds.features:
                folds = CrossValidation(self._sample, features, self._settings, self._grams)
            fit = folds.fit(self._kernel(sharing).matrix, cost)
            return folds.of_examples(fit.log_likelihoods)

        return cross_validate

    def _choose(
        self,
        what: str,
        maps: Sequence[FeatureDefinition],
        candidates: list[Candidate],
        run: Run = in_order,
    ) -> tuple[FeatureDefinition, list[dict[str, Any]]]:
        """Return the map for all tasks, the first unless one is clearly better, and all results."""
        if len(maps) < 2:
            return maps[0], []
        named = {f"{what} {one}": variant for one, variant in zip(maps, candidates, strict=True)}
        values = self._likelihoods.score(named, run)
        best = _best(values)
        return maps[best], [
            {"features": str(one), "log_likelihood": float(value.sum()), "chosen": i == best}
            for i, (one, value) in enumerate(zip(maps, values, strict=True))
        ]

    def _at_size(
        self, sharing: _Sharing
    ) -> tuple[FeatureDefinition, list[dict[str, Any]], _Sharing]:
        """Return the variant of the features and the costs that suit more examples.

        All candidates begin at the solution of the first, as the model does. This takes half the
        time of training each from alpha = 0.
        """
        examples, rows = self._examples, np.arange(self._examples.y.size)
        row_size = self._features.bind(self._sample.data).row_size
        n = min(_AT_SIZE, max(_AT_SIZE_VALUES // row_size, MAX_GRAM_EXAMPLES))
        if rows.size > n:
            rows = examples.sample(n, self._rng)
        examples = examples.take(rows)
        alike = find_alike(self._features.bind(examples.data))
        drawn = examples.sample(round(_HELD_OUT * rows.size), self._rng)
        is_held = np.isin(alike, alike[drawn])
        train, held = _split(examples, is_held)

        if len(self._alternatives) > 1:
            candidates = [self._candidate(sharing, views) for views in self._alternatives]
            self._features, _ = self._choose("kind", self._alternatives, candidates)
            self._variants = [self._features, *self._features.reweighted()[1:]]
            self._count()
        first = solve_roughly(train, self._variants[0], self._settings, self._kernel(sharing))
        self._alpha = np.zeros(self._examples.y.size)
        self._alpha[rows[~is_held]] = first.alpha

        def candidate(features: FeatureDefinition, share: float = 1.0) -> Candidate:
            kernel = self._kernel(sharing._replace(costs=share * sharing.costs))
            parts, start = (train, held, features, self._settings, kernel), WarmStart(first.alpha)
            return partial(hold_out, *parts, start=start)

        candidates = [candidate(variant) for variant in self._variants]
        features, variants = self._choose("features", self._variants, candidates, self._run)
        if len(self._space.costs) > 1:
            named = {f"features {features}": candidate(features)}
            for share in _CHEAPER:
                name = f"C times {share:g}, {train.y.size:,} examples"
                named[name] = candidate(features, share)
            weights = self._weights_of(named, held.ids, run=self._run)
            factors = np.exp(weights.T @ np.log([1.0, *_CHEAPER]))
            sharing = sharing._replace(costs=sharing.costs * factors)
        return features, variants, sharing

    def _kernel(self, sharing: _Sharing, n: int | None = None) -> TaskKernel:
        """Return K of the first n names of the relations, those with data unless n is given.

        Tasks without data have full trust in the mean mixture of the relations.
        """
        n = n or self._T
        x, scale = np.ones(n), np.ones(n)
        x[: self._T], scale[: self._T] = sharing.trust, np.sqrt(sharing.costs)
        levels = np.unique(x[x > 0.0])
        K, nodes = np.zeros((n, n)), []
        for name, share in sharing.parts.items():
            relation, p = self._space.relations[name], np.full(n, share.mean())
            p[: self._T] = share
            for level, step in zip(levels, np.diff(levels, prepend=0.0), strict=True):
                factors = np.sqrt(p * step) * (x >= level)
                K += np.outer(factors, factors) * relation.matrix[:n, :n]
                if relation.nodes is not None and self._has_nodes:
                    below = relation.nodes.take(np.arange(n)).scaled(factors)
                    nodes.append((below.values, below.lengths))
        if self._space.is_shared:
            nodes.append((np.eye(n), np.maximum(1.0 - np.diagonal(K), 0.0)))
            np.fill_diagonal(K, 1.0)
        of_tree = TreeFactors.of(*nodes).scaled(scale) if self._has_nodes else None
        source = "trust tuned on held-out labels" if self._space.is_shared else relation.source
        return TaskKernel(relation.names[:n], K * np.outer(scale, scale), source, nodes=of_tree)

    def _weights_of(
        self,
        candidates: Mapping[str, Candidate],
        ids: NDArray[Any],
        prior: Any = 1.0,
        run: Run = in_order,
    ) -> Array:
        """Return the weight of every candidate in every task, by the labels of these tasks."""
        scores = self._likelihoods.score(candidates, run)
        values = np.array([np.bincount(ids, value, minlength=self._T) for value in scores])
        values[:, self._few_labels] = values[:, self._few_labels].mean(axis=0)
        return posterior_weights(values, prior, _SHARPNESS, _OTHERS)

    def _count(self) -> None:
        """Count the candidates that will be scored."""
        costs = self._space.costs
        counts = [
            len(self._space.sharings()),
            len(costs),
            len(self._alternatives),
            len(self._variants),
        ]
        total = sum(n for n in counts if n > 1)
        if self._is_large:
            total += (len(_CHEAPER) + (len(self._variants) < 2)) * (len(costs) > 1)
        self._likelihoods.n_all = self._n_scored + total


def _round(trust: Array) -> Array:
    """Round trust to 0 and the powers of :data:`_STEP`, so that K has few nodes."""
    least = min(x for x in TRUSTS if x > 0.0)
    rounded = _STEP ** np.round(np.log(np.maximum(trust, least)) / np.log(_STEP))
    return np.where(trust < least / 2.0, 0.0, rounded)


def _find_few(examples: Examples) -> NDArray[np.bool_]:
    """Return which tasks have too few labels of a class to hold one out; log them."""
    sizes, positive = examples.counts()
    fewest = np.minimum(positive, sizes - positive)
    for name, n in zip(examples.names, fewest, strict=True):
        if n < _MIN_LABELS:
            logger.info(
                "%s has too few labels of a class (%d) to hold one out: it shares as the "
                "others do, or by default",
                name,
                n,
            )
    return np.asarray(fewest < _MIN_LABELS)
