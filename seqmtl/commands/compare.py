r"""Compare individual, union, multi-task and MKL models and the default of train.

examples:
  seqmtl compare windows.tsv.gz --tree tree.nwk --splits 10 --train-size 1000 \
                 --json comparison.json --plot comparison.png > comparison.md
  seqmtl compare windows.tsv.gz --methods individual,union --json comparison.json

methods:
  individual, union  one model per organism; one model of all windows
  mtl                similarity of the organisms, from --tree or --similarity
  mkl                learned weights of the clades of the tree; one cost for all organisms
  default            what seqmtl train does by default
  unseen             each organism predicted by the default model of the others
"""

from __future__ import annotations

import itertools
import logging
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from seqmtl.commands import _kinds, _options
from seqmtl.commands._request import Document, option, python_function, required
from seqmtl.exceptions import UsageError, errors_about
from seqmtl.files.write import check_outputs, write_json

if TYPE_CHECKING:
    from seqmtl.comparison import Comparison, Result

logger = logging.getLogger("seqmtl")


def methods(value: object) -> tuple[str, ...]:
    """Take comma-separated methods."""
    from seqmtl.comparison.runs import METHODS

    names = tuple(dict.fromkeys(_kinds.names_list(value)))
    for name in names:
        if name not in METHODS:
            raise ValueError(f"must be some of {', '.join(METHODS)}, got {name!r}")
    return names


_of_methods = partial(option, group="methods")
_of_splits = partial(option, group="splits")


@dataclass(frozen=True, kw_only=True)
class Compare(_options.WindowInput, _options.Relations):
    """Compare individual, union, multi-task and MKL models and the default of train."""

    data: tuple[str, ...] = _options.window_data("labelled windows")
    json: str = required("write results as JSON", metavar="FILE", affects_output=False)
    plot: str | None = _options.figure("means with intervals by organism")
    methods: tuple[str, ...] = _of_methods(
        "methods to run (default: individual,union,mtl,mkl,default)",
        metavar="LIST",
        kind=methods,
        default="individual,union,mtl,mkl,default",
    )
    C: tuple[float, ...] = _of_methods(
        "-C",
        "costs to choose from, for all methods but default",
        metavar="LIST",
        kind=_kinds.positive_floats,
        default="0.1,1,10",
    )
    features: str | None = _options.features_option("methods")
    splits: int = _of_splits(
        "random splits; only one if DATA has training and test windows",
        default=10,
    )
    train_size: int | None = _of_splits(
        "windows per organism for training and tuning (default: all but the test)",
        metavar="N",
    )

    def check(self) -> None:
        """Refuse methods without the relation that they need."""
        if "mtl" in self.methods and self.relation() is None:
            raise UsageError(
                "mtl needs to know how the organisms are related; give --tree or --similarity"
            )
        if "mkl" in self.methods and self.tree is None:
            raise UsageError("mkl learns the weights of clades; give --tree, or other --methods")

    def run(self) -> Document:
        """Train and test every method on every split.

        Returns
        -------
        dict
            The results, as ``json`` has them, see :func:`seqmtl.comparison.results.make_document`.
        """
        inputs = [*self.files, self.tree, self.similarity]
        check_outputs(inputs, [self.json, self.plot])
        with errors_about(self.source.name):
            comparison = _comparison(self)
        from seqmtl._style import save_figure
        from seqmtl.comparison.protocol import count_split, drawn_parts
        from seqmtl.comparison.results import draw_comparison, make_document

        drawn = drawn_parts(comparison.windows, self.train_size)
        n_splits = self.splits if drawn else 1
        if n_splits < self.splits:
            logger.info(
                "the data say which windows are for training and which for the test, so that all "
                "splits would be the same run: running one, with bootstrap intervals "
                "(--train-size draws training windows)"
            )
        results = self._results(comparison, n_splits)
        settings = {"command": "compare", **self.fingerprint(), "splits": n_splits}
        sizes = count_split(comparison.windows, comparison.draw(0))
        document = make_document(results, settings, sizes, drawn)
        write_json(self.json, document)
        if self.plot:
            save_figure(draw_comparison(document), self.plot)
        unfinished = [f"{r.method} on split {r.split}" for r in results if not r.converged]
        if unfinished:
            tol = comparison.settings.tol
            logger.warning("not converged to the tolerance %g: %s", tol, ", ".join(unfinished))
        return document

    def _results(self, comparison: Comparison, n_splits: int) -> list[Result]:
        """Return the results of all runs."""
        from seqmtl._threads import n_threads, use_threads
        from seqmtl.comparison import run_comparison

        jobs = [(split, method) for split in range(n_splits) for method in self.methods]
        n_at_once = min(n_threads(), comparison.max_parallel())
        n_workers = min(n_at_once, len(jobs))
        logger.info(
            "starting %d runs (%d splits, %s), %d at a time",
            len(jobs),
            n_splits,
            ", ".join(self.methods),
            n_workers,
        )
        started, numbers = time.perf_counter(), itertools.count(1)

        def show(result: Result, seconds: float) -> None:
            n = next(numbers)
            logger.info(
                "split %d, %s: %.1f s; %d of %d done, about %.0f s left",
                result.split,
                result.method,
                seconds,
                n,
                len(jobs),
                (time.perf_counter() - started) * (len(jobs) - n) / n,
            )

        with use_threads(n_at_once):
            return run_comparison(comparison, jobs, show)

    def show(self, document: Document) -> str:
        """Show the means and spreads."""
        from seqmtl.comparison.results import to_markdown

        return to_markdown(document)

    def has_converged(self, document: Document) -> bool:
        """Return whether all runs reached the tolerance."""
        return all(all(entry["converged"]) for entry in document["methods"].values())


def _comparison(request: Compare) -> Comparison:
    """Read the windows and run all checks before training."""
    from seqmtl.comparison import Comparison
    from seqmtl.comparison.protocol import check_windows
    from seqmtl.linear_model.dataset_site import site_in_dataset
    from seqmtl.relations import TaskKernel
    from seqmtl.relations.build import check_tree
    from seqmtl.training.example_source import log_one_split
    from seqmtl.training.settings import Settings

    source = request.source
    features = None if request.features is None else _options.feature_map(request.features)
    windows = source.read_labelled(features=features)
    if len(windows.split_names) == 1:
        log_one_split(windows, source.name)
        windows.splits, windows.split_names = None, ()
    names = windows.task_names
    relation = request.relation()
    check_tree(relation, names)
    check_windows(windows, request.train_size)
    (features or _options.feature_map(None)).n_features(windows.length)
    return Comparison(
        windows,
        features,
        Settings(),
        request.C,
        kernel=None if relation is None else relation.build(names),
        kernels=None if request.tree is None else TaskKernel.hierarchical(request.tree, names),
        site=site_in_dataset(source.dataset, windows.length, 0),
        train_size=request.train_size,
    )


compare = python_function(Compare)
