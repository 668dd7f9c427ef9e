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
:mod:`seqmtl.models.held_out`). The evidence of a candidate in a task combines a prior, the task's
own log-likelihood and, for tasks with few labels, a part of the other tasks'. The
hyperparameters are not the best candidate but the average of all, weighted by evidence. With few
labels the result stays close to the prior, about half shared; with many it approaches the best
candidate. p is half the task's own average and half the mean over tasks. At this K costs are
selected next, then the variants of the features, if there are any. All tasks use the same variant,
and the given one is replaced only by one that is better by a standard error.

If there are too many labels to cross-validate all, a sample first tells whether exact positions far
from the site are worth their time; then a tenth of up to :data:`_AT_SIZE` is held out
to compare the variants and to test whether a smaller cost suits more labels. Trust stays as it is:
lowered by the same evidence, which the many decoys dominate, it ranked sites worse.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._threads import in_order
from seqmtl.coupling import FEWEST, Nodes
from seqmtl.models.held_out import MOST, CrossValidation, HoldOut, Labelled
from seqmtl.models.training import Settings
from seqmtl.similarity import TaskKernel

COSTS = (1.0, 3.0, 10.0)
#: Trust values to choose from, with their prior weights.
TRUSTS = {0.0: 0.1, 0.1: 0.5, 0.25: 1.5, 0.5: 2.0, 1.0: 1.0}

Array = NDArray[np.float64]
Run = Callable[[Callable[[Any], Any], list[Any]], Iterator[Any]]
logger = logging.getLogger(__name__)

_SHARPNESS = 2.0  # factor on a task's own log-likelihood, as averaging flattens the weights
_OTHERS = 0.3  # factor on the mean over the other tasks
_CHEAPER = (0.3,)  # factors on the cost to try with more labels
_AT_SIZE = 60_000
_HELD_OUT = 0.1
_NEGLIGIBLE = 0.05  # share of a relation in the mixture
#: Ratio of neighbouring levels of trust where there are many tasks; 0.6 takes a quarter longer.
_STEP = 0.5
_FEWEST = 2  # labels per class needed to hold one out


@dataclass(frozen=True)
class Space:
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
    ) -> Space:
        """Return the default space: a relation, if given, and all tasks alike."""
        every = names if relation is None else relation.names
        relations = {"all alike": TaskKernel.union(every)}
        if relation is not None:
            relations = {relation.source: _unit_diagonal(relation), **relations}
        return cls(relations, costs=costs) if len(names) > 1 else cls.of_cost(relations, costs)

    @classmethod
    def of_cost(cls, relations: Any, costs: tuple[float, ...] = COSTS) -> Space:
        """Return the space of one task kernel at several costs."""
        if isinstance(relations, TaskKernel):
            relations = {relations.source: relations}
        name, kernel = next(iter(relations.items()))
        return cls({name: kernel}, {1.0: 1.0}, costs)

    def led_by(self, names: tuple[str, ...]) -> Space:
        """Return the space with these tasks as those of the data, and the others without data."""
        every = next(iter(self.relations.values())).names
        order = [*names, *(name for name in every if name not in names)]
        return replace(self, relations={k: R.restrict(order) for k, R in self.relations.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return the search space as JSON values."""
        relations = {name: kernel.to_tsv() for name, kernel in self.relations.items()}
        return {"relations": relations, "trusts": [*self.trusts.items()], "costs": self.costs}


def _unit_diagonal(kernel: TaskKernel) -> TaskKernel:
    own = np.sqrt(np.diagonal(kernel.matrix))
    nodes = kernel.nodes and kernel.nodes.scaled(1.0 / own)
    K = kernel.matrix / np.outer(own, own)
    return TaskKernel(kernel.names, K, kernel.source, nodes=nodes)


@dataclass(frozen=True)
class Selection:
    """The result of a selection: arguments of the final training run.

    Attributes
    ----------
    kernel : TaskKernel
        Task kernel K.
    settings : Settings
        With the selected overall cost.
    features : FeatureDefinition
        The given features or a variant of them.
    report : dict
        Trust, cost and the weights of the trust values per task, as JSON values.
    """

    kernel: TaskKernel
    settings: Settings
    features: Any
    report: dict[str, Any]


def select(
    examples: Labelled,
    space: Space,
    *,
    features: Any,
    settings: Settings,
    known: dict[str, Array] | None = None,
    on_score: Callable[[str, int, int], None] | None = None,
    run: Run = in_order,
) -> Selection:
    """Select relation, trust, cost and variant of the features.

    Parameters
    ----------
    examples : Labelled
        All labelled examples.
    space : Space
        Search space.
    features : FeatureDefinition
        Feature map; its ``variants()``, if any, are tried as well.
    settings : Settings
        Training settings; the cost is replaced.
    known : dict of str to ndarray, optional
        Held-out log-likelihoods computed before; new ones are added.
    on_score : callable, optional
        Called after each new one with its name, its number and the total.
    run : callable
        Scores the candidates that are compared on many examples: applies a function to jobs, which
        can be pickled, and yields the results in order.

    Raises
    ------
    ValueError
        If a cost or a setting is out of range.
    """
    for cost in space.costs:
        replace(settings, C=cost).check()
    known = {} if known is None else known
    return _Selector(examples, space, features, settings, known, on_score, run).run()


class _Selector:
    """One selection, step by step: trust and relation, costs, variants, size."""

    def __init__(
        self,
        examples: Labelled,
        space: Space,
        features: Any,
        settings: Settings,
        known: dict[str, Array],
        on_score: Callable[[str, int, int], None] | None,
        run: Run,
    ) -> None:
        self._all, self._space, self._settings = examples, space, settings
        self._features, self._known, self._on_score, self._run = features, known, on_score, run
        self._T = len(examples.names)
        relations = space.relations.values()
        self._has_nodes = self._T > FEWEST and all(R.nodes is not None for R in relations)
        self._rng = np.random.default_rng(settings.seed)
        self._is_large = examples.y.size > MOST
        self._sample = (
            examples.take(examples.sample(MOST, self._rng)) if self._is_large else examples
        )
        self._kinds = features.kinds() if self._is_large else []
        self._variants = [features, *features.variants()[1:]]
        if not self._is_large:
            self._variants[1:1] = features.kinds()[1:]
        self._few = _find_few(self._sample)
        self._scored: set[str] = set()
        self._n_all = self._count()
        self._grams: dict[str, Any] = {}  # of parts that variants of the features share

    def run(self) -> Selection:
        """Choose."""
        folds = self._cross_validation(self._features)
        trust, parts, weights = self._choose_trust(folds)
        R = self._mix(parts)
        costs = self._choose_costs(folds, self._kernel(R, trust, np.ones(self._T)))
        K = self._kernel(R, trust, costs)
        if self._is_large:
            features, variants, costs = self._at_size(R, parts, trust, costs)
        else:
            features, variants = self._choose("features", self._variants, self._by_folds(K))
        C = float(np.exp(np.log(costs).mean()))
        known = next(iter(self._space.relations.values()))
        source = known.source if len(self._space.trusts) == 1 else "trust tuned on held-out labels"
        n, nodes = len(known), self._nodes(parts, trust, costs / C, len(known))
        K = self._kernel(R, trust, costs / C, n)
        kernel = TaskKernel(known.names, K, source, nodes=nodes)
        tasks = {
            name: {
                "trust": float(trust[t]),
                "C": float(costs[t]),
                "weights": {f"{x:g}": round(float(w[t]), 4) for x, w in weights.items()},
                "relations": {n: float(p[t]) for n, p in parts.items()},
                "by_prior": bool(self._few[t]),
            }
            for t, name in enumerate(self._all.names)
        }
        relations = {name: float(p.mean()) for name, p in parts.items()}
        for name, part in relations.items():
            if part < _NEGLIGIBLE:
                logger.info("%s: held-out labels give it next to no part in the model", name)
        report = {"relations": relations, "variants": variants, "tasks": tasks}
        return Selection(kernel, replace(self._settings, C=C), features, report)

    def _cross_validation(self, features: Any) -> CrossValidation:
        return CrossValidation(self._sample, features, self._settings, self._grams)

    def _choose_trust(
        self, folds: CrossValidation
    ) -> tuple[Array, dict[str, Array], dict[float, Array]]:
        """Return x of every task, p of every relation and task, and the weights of the trusts."""
        cost = self._space.costs[len(self._space.costs) // 2]
        n_relations = len(self._space.relations)
        candidates = []
        for name in self._space.relations:
            for x, prior in self._space.trusts.items():
                if x > 0.0:
                    candidates.append((name, x, prior))
                elif not candidates:  # the same for all relations
                    candidates.append((name, x, prior * n_relations))
        trust = np.array([x for _, x, _ in candidates])
        weights = np.ones((1, self._T))
        if len(candidates) > 1:
            ones, relations = np.ones(self._T), self._space.relations
            values = self._score({
                f"{name}, trust {x:g}": partial(
                    folds.log_likelihood, self._kernel(relations[name].matrix, x * ones, ones), cost
                )
                for name, x, _ in candidates
            })  # fmt: skip
            found = [self._per_task(value, folds.ids) for value in values]
            weights = self._weigh(found, [prior for *_, prior in candidates])
        names = np.array([name for name, *_ in candidates])
        shared = weights * trust[:, None]
        p = np.array([shared[names == name].sum(axis=0) for name in self._space.relations])
        p = (p + 1e-300) / (p + 1e-300).sum(axis=0)  # defined even if nothing is shared
        p = 0.5 * p + 0.5 * p.mean(axis=1, keepdims=True)
        parts = dict(zip(self._space.relations, p, strict=True))
        by_trust = {x: weights[trust == x].sum(axis=0) for x in self._space.trusts}
        x = weights.T @ trust
        return _round(x) if self._has_nodes else x, parts, by_trust

    def _choose_costs(self, folds: CrossValidation, K: Array) -> Array:
        """Return the cost of every task, a geometric mean over candidates."""
        costs = np.array(self._space.costs)
        if costs.size == 1:
            return np.full(self._T, costs[0])
        values = self._score({f"C {c:g}": partial(folds.log_likelihood, K, c) for c in costs})
        found = [self._per_task(value, folds.ids) for value in values]
        return np.asarray(np.exp(self._weigh(found).T @ np.log(costs)))

    def _hold_out(self) -> tuple[Labelled, Labelled]:
        """Split many examples into a training and a held-out part."""
        examples = self._all
        if examples.y.size > _AT_SIZE:
            examples = examples.take(examples.sample(_AT_SIZE, self._rng))
        is_held = np.zeros(examples.y.size, dtype=np.bool_)
        is_held[examples.sample(round(_HELD_OUT * is_held.size), self._rng)] = True
        return examples.take(np.flatnonzero(~is_held)), examples.take(np.flatnonzero(is_held))

    def _by_folds(self, K: Array) -> Callable[[Any], Array]:
        """Return what judges features by cross-validation."""
        return partial(_by_folds, self._sample, self._settings, self._grams, K)

    def _choose(
        self, what: str, maps: list[Any], judge: Callable[[Any], Array], run: Run = in_order
    ) -> tuple[Any, list[Any]]:
        """Return the map for all tasks, the first unless one is clearly better, and all results."""
        if len(maps) < 2:
            return maps[0], []
        values = self._score({f"{what} {one}": partial(judge, one) for one in maps}, run)
        best = int(np.argmax([value.sum() for value in values]))
        ahead = values[best] - values[0]
        if ahead.sum() <= ahead.std() * ahead.size**0.5:  # one standard error
            best = 0
        return maps[best], [
            {"features": str(one), "log_likelihood": float(value.sum()), "chosen": i == best}
            for i, (one, value) in enumerate(zip(maps, values, strict=True))
        ]

    def _at_size(
        self, R: Array, parts: dict[str, Array], trust: Array, costs: Array
    ) -> tuple[Any, list[Any], Array]:
        """Return the variant of the features and the costs that suit more examples."""
        train, held = self._hold_out()

        def judge(costs: Array) -> Callable[[Any], Array]:
            K, nodes = self._kernel(R, trust, costs), self._nodes(parts, trust, costs)
            return partial(_by_hold_out, train, held, self._settings, K, nodes)

        if len(self._kinds) > 1:
            by_folds = self._by_folds(self._kernel(R, trust, costs))
            self._features, _ = self._choose("kind", self._kinds, by_folds)
            self._variants = [self._features, *self._features.variants()[1:]]
            self._n_all = self._count()
        features, variants = self._choose("features", self._variants, judge(costs), self._run)
        if len(self._space.costs) == 1:
            return features, variants, costs
        size = f"{train.y.size:,} examples"
        cheaper = {
            f"C times {part:g}, {size}": partial(judge(part * costs), features)
            for part in _CHEAPER
        }  # fmt: skip
        given = {f"features {features}": partial(judge(costs), features)}
        values = self._score(given | cheaper, self._run)
        found = [self._per_task(value, held.ids) for value in values]
        return features, variants, costs * np.exp(self._weigh(found).T @ np.log([1.0, *_CHEAPER]))

    def _kernel(self, R: Array, trust: Array, costs: Array, n: int | None = None) -> Array:
        """Return K of the first n tasks, or all; tasks without data have full trust in R."""
        n = n or self._T
        x, scale = np.ones(n), np.ones(n)
        x[: self._T], scale[: self._T] = trust, np.sqrt(costs)
        K = R[:n, :n] * np.minimum.outer(x, x)
        if len(self._space.trusts) > 1:
            np.fill_diagonal(K, 1.0)
        return np.asarray(K * np.outer(scale, scale))

    def _nodes(
        self, parts: dict[str, Array], trust: Array, costs: Array, n: int | None = None
    ) -> Nodes | None:
        """Return K for the arguments of `_kernel` as a sum over nodes, if it is one."""
        if not self._has_nodes:
            return None
        n = n or self._T
        x, scale = np.ones(n), np.ones(n)
        x[: self._T], scale[: self._T] = trust, np.sqrt(costs)
        levels = np.unique(x[x > 0.0])
        steps = np.diff(levels, prepend=0.0)
        nodes: list[tuple[Array, Any]] = []
        shared = np.zeros(n)
        for name, kernel in self._space.relations.items():
            assert kernel.nodes is not None
            p = self._share(parts[name], n)
            of_relation = kernel.nodes.take(np.arange(n)).scaled(np.sqrt(p))
            for level, step in zip(levels, steps, strict=True):
                nodes.append((of_relation.scaled(x >= level).values, step * of_relation.lengths))
            shared += p * x * np.diagonal(kernel.matrix)[:n]
        if len(self._space.trusts) > 1:
            nodes.append((np.eye(n), np.maximum(1.0 - shared, 0.0)))
        return Nodes.of(*nodes).scaled(scale)

    def _share(self, part: Array, n: int) -> Array:
        """Return p of the first n tasks; those without data have the mean."""
        p = np.full(n, part.mean())
        p[: self._T] = part
        return p

    def _mix(self, parts: dict[str, Array]) -> Array:
        """Return R of the tasks of the data and all others in the relations."""
        total = []
        for name, kernel in self._space.relations.items():
            p = self._share(parts[name], len(kernel.names))
            total.append(np.sqrt(np.outer(p, p)) * kernel.matrix)
        return np.sum(total, axis=0)

    def _weigh(self, found: list[Array], prior: Any = 1.0) -> Array:
        values = np.array(found)
        values[:, self._few] = values[:, self._few].mean(axis=0)
        return weigh(values, prior)

    def _per_task(self, values: Array, ids: NDArray[Any]) -> Array:
        return np.bincount(ids, values, minlength=self._T).astype(np.float64)

    def _score(
        self, candidates: Mapping[str, Callable[[], Array]], run: Run = in_order
    ) -> list[Array]:
        """Return the value of every candidate; compute and report those that are not known."""
        missing = [key for key in candidates if key not in self._known]
        found = run(_call, [candidates[key] for key in missing])
        self._scored.update(candidates.keys() - missing)
        for key, value in zip(missing, found, strict=True):
            self._known[key] = value
            self._scored.add(key)
            if self._on_score is not None:
                self._on_score(key, len(self._scored), self._n_all)
        return [self._known[key] for key in candidates]

    def _count(self) -> int:
        """Count the candidates that will be scored."""
        trusts, costs = self._space.trusts, self._space.costs
        n_trusts = len(self._space.relations) * sum(x > 0 for x in trusts) + (0.0 in trusts)
        counts = [n_trusts, len(costs), len(self._kinds), len(self._variants)]
        total = sum(n for n in counts if n > 1)
        if self._is_large:
            total += (len(_CHEAPER) + (len(self._variants) < 2)) * (len(costs) > 1)
        return total


def _round(trust: Array) -> Array:
    """Round trust to 0 and the powers of :data:`_STEP`, so that K has few nodes."""
    least = min(x for x in TRUSTS if x > 0.0)
    rounded = _STEP ** np.round(np.log(np.maximum(trust, least)) / np.log(_STEP))
    return np.where(trust < least / 2.0, 0.0, rounded)


def _call(candidate: Callable[[], Array]) -> Array:
    return candidate()


def _by_folds(
    examples: Labelled, settings: Settings, grams: dict[str, Any], K: Array, features: Any
) -> Array:
    """Return the held-out log-likelihood of every example."""
    folds = CrossValidation(examples, features, settings, grams)
    return folds.of_examples(folds.log_likelihood(K, 1.0))


def _by_hold_out(
    train: Labelled, held: Labelled, settings: Settings, K: Array, nodes: Any, features: Any
) -> Array:
    """Return the log-likelihood of every held-out example."""
    return HoldOut(train, held, features, settings).log_likelihood(K, 1.0, nodes)


def weigh(found: Array, prior: Any = 1.0) -> Array:
    """Return the weight of every candidate in every task, from log-likelihoods; shape (R, T)."""
    own = found - found.mean(axis=0)
    others = (own.sum(axis=1, keepdims=True) - own) / max(own.shape[1] - 1, 1)
    log = np.reshape(np.log(prior), (-1, 1)) + _SHARPNESS * own + _OTHERS * others
    weights = np.exp(log - log.max(axis=0))
    return np.asarray(weights / weights.sum(axis=0))


def _find_few(examples: Labelled) -> NDArray[np.bool_]:
    """Return which tasks have too few labels of a class to hold one out; log them."""
    few = np.zeros(len(examples.names), dtype=np.bool_)
    for t, name in enumerate(examples.names):
        positive = examples.y[examples.ids == t] > 0
        fewest = min(int(positive.sum()), int((~positive).sum()))
        if fewest < _FEWEST:
            few[t] = True
            logger.info(
                "%s has too few labels of a class (%d) to hold one out: it shares as the "
                "others do, or by default", name, fewest,
            )  # fmt: skip
    return few
