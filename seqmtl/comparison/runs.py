"""Train and test every method on every split."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seqmtl._memory import available_memory
from seqmtl._messages import messages_from
from seqmtl._threads import in_order
from seqmtl.adaptation import adapt
from seqmtl.adaptation.few_labels import train_with_few
from seqmtl.comparison.protocol import draw_split
from seqmtl.comparison.results import VALUES, Result
from seqmtl.evaluation import evaluate
from seqmtl.features._base import FeatureDefinition
from seqmtl.features.positional_kmers import PositionalKmers
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.site import Site
from seqmtl.relations import TaskKernel
from seqmtl.sequences import Windows
from seqmtl.sequences.examples import Examples
from seqmtl.training.cross_validation import MAX_GRAM_EXAMPLES
from seqmtl.training.selection import SearchSpace
from seqmtl.training.settings import Settings
from seqmtl.training.solver import ONE_THREAD

Job = tuple[int, str]
#: The methods; each selects its hyperparameters on its training windows. "unseen" predicts every
#: organism with the default model of all others.
METHODS = ("individual", "union", "mtl", "mkl", "default", "unseen")

_NORM = 2.0  # p of the p-norm on the kernel weights of "mkl"
_WEIGHTS_AT_ONCE = 2  # weight sets held by training and selection in one run
_MATRICES_AT_ONCE = 3  # kernel matrices held by selection


@dataclass(frozen=True)
class Comparison:
    """Everything that determines a result, except the split and the method.

    Attributes
    ----------
    windows : Windows
        Labelled windows of all organisms.
    features : FeatureDefinition, optional
        The feature map. Default: that of ``train``, which held-out labels choose without a site.
    settings : Settings
        Training settings, with the seed of the splits; C is selected.
    C : tuple of float
        Costs to choose from, except for "default", which has others.
    kernel, kernels : TaskKernel or None
        K of "mtl" and relation of "default", and the K_m of "mkl".
    site : Site, optional
        Position of the signal. Default: detected in the windows.
    train_size : int, optional
        See :func:`seqmtl.comparison.protocol.draw_split`.
    """

    windows: Windows
    features: FeatureDefinition | None
    settings: Settings
    C: tuple[float, ...] = (0.1, 1.0, 10.0)
    kernel: TaskKernel | None = None
    kernels: TaskKernel | None = None
    site: Site | None = None
    train_size: int | None = None

    def run(self, split: int, method: str) -> Result:
        """Train a method on a split and test it."""
        names = self.windows.task_names
        train_windows, test = (self.windows[rows] for rows in self.draw(split))
        scores = np.empty(len(test))
        models = {}
        if method == "unseen":
            for t, name in enumerate(names):
                other_windows = train_windows[np.flatnonzero(train_windows.task_ids != t)]
                models[name] = self._train("default", other_windows.with_tasks(other_windows.tasks))
                rows = np.flatnonzero(test.task_ids == t)
                with messages_from(logging.ERROR):  # its distance from the others is expected
                    adapted = adapt(models[name], name)
                scores[rows] = adapted.decision_function(test[rows])
        else:
            models[""] = self._train(method, train_windows)
            scores = models[""].decision_function(test)
        options: Any = {"auprc": "auprc_windows", "seed": self.settings.seed}
        metrics = evaluate(test.labels, scores, test.tasks, **options)["tasks"]
        tasks = {name: {key: metrics[name][key] for key in VALUES} for name in names}
        selections = {name: model.training["selection"]["tasks"] for name, model in models.items()}
        has_converged = all(model.training["converged"] for model in models.values())
        return Result(split, method, tasks, selections.get("", selections), has_converged)

    def _train(self, method: str, windows: Windows) -> MultiTaskModel:
        """Train a method, selecting its hyperparameters by cross-validation."""
        names = windows.task_names
        settings = self.settings
        if method == "mkl":
            settings = replace(settings, norm=_NORM)
            space = SearchSpace.of_cost(_needed(self.kernels, method), self.C)
        elif method == "default":
            without_data = [name for name in self.windows.task_names if name not in names]
            relation = (
                None if self.kernel is None else self.kernel.restrict([*names, *without_data])
            )
            space = SearchSpace.of_sharing(names, relation)
        else:
            kernels_of = {
                "individual": TaskKernel.individual(names),
                "union": TaskKernel.union(names),
                "mtl": self.kernel,
            }
            space = SearchSpace.of_cost(_needed(kernels_of[method], method).restrict(names), self.C)
        model, _ = train_with_few(
            Examples.of(windows), space, features=self.features, settings=settings, site=self.site
        )
        return model

    def max_parallel(self) -> int:
        """Return the number of runs that fit into memory side by side, at least 1."""
        features = self.features or PositionalKmers()
        n_weights = features.n_features(self.windows.length) * len(self.windows.task_names)
        n_entries = min(MAX_GRAM_EXAMPLES, len(self.windows)) ** 2
        n_bytes = 4 * (_WEIGHTS_AT_ONCE * n_weights + _MATRICES_AT_ONCE * n_entries)
        return max(1, available_memory() // n_bytes)

    def draw(self, split: int) -> Any:
        """Return the rows of a split; see :func:`seqmtl.comparison.protocol.draw_split`."""
        return draw_split(self.windows, split, self.train_size, self.settings.seed)


def _needed(kernel: TaskKernel | None, method: str) -> TaskKernel:
    if kernel is None:
        raise ValueError(f"{method!r} needs a task kernel, got none; give a tree or a similarity")
    return kernel


@ONE_THREAD
def run_comparison(
    comparison: Comparison,
    jobs: Iterable[Job],
    on_result: Callable[[Result, float], None] | None = None,
) -> list[Result]:
    """Run splits and methods, side by side on the threads of this context.

    Parameters
    ----------
    comparison : Comparison
        What to run.
    jobs : iterable of (split, method)
        The runs.
    on_result : callable, optional
        Called with every result, and the seconds it took.

    Returns
    -------
    list of Result
        In the order of `jobs`.
    """
    results = []
    for result, seconds in in_order(lambda job: _timed(comparison, *job), list(jobs)):
        results.append(result)
        if on_result is not None:
            on_result(result, seconds)
    return results


def _timed(comparison: Comparison, split: int, method: str) -> tuple[Result, float]:
    started = time.perf_counter()
    return comparison.run(split, method), time.perf_counter() - started
