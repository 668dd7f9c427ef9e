"""Compare methods on the same splits of the same windows."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqmtl import _kinds
from seqmtl.exceptions import SeqmtlError, UsageError
from seqmtl.files.outputs import check_outputs
from seqmtl.request import option, required, verb
from seqmtl.verbs import _options, _relations

if TYPE_CHECKING:
    from seqmtl.compare import Comparison, Result
    from seqmtl.compare.runs import Job
    from seqmtl.sequences import Windows
    from seqmtl.similarity.build import KernelRequest

logger = logging.getLogger("seqmtl")


def methods(value: Any) -> tuple[str, ...]:
    """Take comma-separated methods."""
    from seqmtl.compare.runs import METHODS

    names = tuple(dict.fromkeys(_kinds.names_list(value)))
    for name in names:
        if name not in METHODS:
            raise ValueError(f"must be some of {', '.join(METHODS)}, got {name!r}")
    return names


def table(value: Any) -> str:
    """Take the path of a table."""
    path = _kinds.text(value)
    if not path.endswith((".tsv", ".md")):
        raise ValueError(f"must end in .tsv or .md, got {path!r}")
    return path


def _of_methods(what: str, *flags: str, **more: Any) -> Any:
    return option(*flags, group="methods", help=what, **more)


def _of_splits(what: str, **more: Any) -> Any:
    return option(group="splits", help=what, **more)


@dataclass(frozen=True, kw_only=True)
class Compare(_options.WindowInput, _relations.Relations, _options.Threads):
    """Compare individual, union, multi-task and MKL models and the default of train."""

    data: str | None = _options.window_data("labelled windows")
    json: str = required(metavar="FILE", role="how", help="write results as JSON")
    table: str | None = option(
        kind=table, metavar="FILE", role="how", help="write means and spreads: .tsv or .md"
    )
    plot: str | None = _options.figure("bar chart by organism")
    methods: tuple[str, ...] = _of_methods(
        "methods to run: individual, union, mtl (similarity from the tree), mkl (learned "
        "similarity), default (what seqmtl train does by default), unseen (each organism predicted "
        "by the default model of the others) (default: all but unseen)",
        kind=methods,
        default="individual,union,mtl,mkl,default",
        metavar="LIST",
    )
    similarity: str | None = _of_methods(
        "similarity for mtl: a kind (see seqmtl similarity --help) or a table (default: the "
        "default kind of the source)",
        metavar="KIND|TSV",
    )
    mkl: str = _of_methods(
        "kernels for mkl: one per clade, per distance scale, or per graph (default: hierarchical)",
        choices=_relations.MKL_KINDS,
        default="hierarchical",
    )
    norm: float = _of_methods(
        "p of the p-norm on the kernel weights of mkl (default: 2)",
        kind=_kinds.norm,
        default=2.0,
        metavar="P",
    )
    C: tuple[float, ...] = _of_methods(
        "costs to choose from, for all methods but default; mkl uses one cost for all organisms "
        "(default: 0.1,1,10)",
        "-C",
        kind=_kinds.positive_floats,
        default="0.1,1,10",
        metavar="LIST",
    )
    features: str | None = _options.features_option("methods")
    tol: float = _of_methods(
        "stop at this relative duality gap (default: 1e-3)",
        kind=_kinds.positive_float,
        default=1e-3,
    )
    splits: int = _of_splits(
        "number of random splits; one, with bootstrap intervals, if the data give the training "
        "and test windows (default: 10)",
        kind=_kinds.positive_int,
        default=10,
        metavar="N",
    )
    organisms: tuple[str, ...] | None = _of_splits(
        "organisms to use (default: all in DATA)", kind=_kinds.names_list, metavar="A,B,..."
    )
    per_organism: int | None = _of_splits(
        "labelled windows per organism for training and tuning together (default: all but the "
        "test windows)",
        kind=_kinds.integer,
        metavar="N",
    )
    window: int | None = _of_splits(
        "use the central BP bases (default: all; 141 around sites)",
        kind=_kinds.positive_int,
        metavar="BP",
    )
    shift: int = _of_splits(
        "shift the window from the centre in the 3' direction (default: 0)",
        kind=_kinds.integer,
        default=0,
        metavar="BP",
    )
    seed: int = _of_splits("seed of the splits (default: 0)", kind=_kinds.seed, default=0)
    dask: str | None = _options.dask("run every method on every split")

    def check(self) -> None:
        """Refuse methods without the relation that they need."""
        if "mtl" in self.methods and self.relation(self.similarity) is None:
            raise UsageError(
                "mtl needs to know how the organisms are related; give --tree or another source"
            )
        self.learnt_relation()

    def learnt_relation(self) -> KernelRequest | None:
        """Return the kernels of mkl, and of a tree also without it; None if there are none."""
        relation = self.relation(self.similarity)
        has_tree = relation is not None and relation.has_tree
        return self.relation(self.mkl) if has_tree or "mkl" in self.methods else None

    def run(self) -> dict[str, Any]:
        """Train and test every method on every split.

        Returns
        -------
        dict
            The results, as ``json`` has them, see :func:`seqmtl.compare.results.make_document`.
        """
        check_outputs(self.json, f"{self.json}.partial", self.table, self.plot)
        comparison = _comparison(self)
        from seqmtl.compare.protocol import drawn_parts

        drawn = drawn_parts(comparison.windows, comparison.protocol)
        request = self
        if not drawn and self.splits > 1:
            logger.info(
                "the data say which windows are for training and which for the test, so that all "
                "splits would be the same run: running one, with bootstrap intervals "
                "(--per-organism draws training windows)"
            )
            request = self.changed(splits=1)
        results = _results(comparison, request)
        document = _written(comparison, results, request, drawn)
        unfinished = [f"{r.method} on split {r.split}" for r in results if not r.converged]
        if unfinished:
            logger.warning("not converged to the tolerance %g: %s", self.tol, ", ".join(unfinished))
        return document


def _comparison(request: Compare) -> Comparison:
    """Read the windows and run all checks before training."""
    from seqmtl.compare import Comparison, Protocol
    from seqmtl.compare.protocol import check_windows
    from seqmtl.features.positional_kmers import PositionalKmers
    from seqmtl.models.site import site_in_dataset
    from seqmtl.models.training import Settings
    from seqmtl.verbs._windows import all_of_one_split, read_for_training

    protocol = Protocol(request.per_organism, request.seed)
    windows = _chosen(read_for_training(request, split=None), request.organisms)
    if all_of_one_split(windows, request.data or "the windows"):
        windows.splits, windows.split_names = None, ()
    names = windows.task_names
    relation, learnt = request.relation(request.similarity), request.learnt_relation()
    _relations.check_tree(relation or learnt, names)
    kernel = None if relation is None else relation.build(names)
    kernels = None if learnt is None else learnt.build(names)
    check_windows(windows, protocol)
    features = PositionalKmers(request.features) if request.features else PositionalKmers()
    features.n_features(windows.length)
    settings = Settings(tol=request.tol, seed=request.seed)
    site = site_in_dataset(request.data, windows.length, request.shift)
    return Comparison(
        windows, protocol, features, settings, request.C, kernel, kernels, request.norm, site
    )


def _chosen(windows: Windows, organisms: tuple[str, ...] | None) -> Windows:
    """Return the windows of the given organisms (default: all)."""
    if organisms is None:
        return windows
    import numpy as np

    from seqmtl._names import match_names

    windows = windows[
        np.isin(windows.task_ids, match_names(organisms, windows.task_names, "the data"))
    ]
    return windows.with_tasks(windows.tasks)


def _results(comparison: Comparison, request: Compare) -> list[Result]:
    """Return the results of all runs; those that are known are not repeated."""
    from seqmtl._threads import n_threads, use_threads
    from seqmtl.cluster import connect
    from seqmtl.compare import FinishedRuns, run_comparison
    from seqmtl.compare.results import read_results

    digest = comparison.fingerprint()
    partial = FinishedRuns(f"{request.json}.partial", digest)
    jobs = [(split, method) for split in range(request.splits) for method in request.methods]
    known = [*read_results(request.json, digest), *partial.load()]
    done = {(run.split, run.method) for run in known}
    others = done.difference(jobs)
    if others:
        raise SeqmtlError(
            f"{request.json} has {len(others)} finished runs that are not asked for, such as "
            f"{max(others)[1]} on split {max(others)[0]}, and would be lost; ask for these, too, "
            "or name another --json"
        )
    with use_threads(min(n_threads(), comparison.most_at_once())), connect(request.dask) as workers:
        todo = [job for job in jobs if job not in done]
        show = _progress(request, todo, len(done), workers.n_threads())
        return run_comparison(
            comparison, jobs, partial, workers=workers, known=known, on_result=show
        )


def _progress(
    request: Compare, todo: list[Job], n_known: int, n_workers: int
) -> Callable[..., None]:
    """Log the work to do; return a callback for each result."""
    from seqmtl._progress import JobProgress

    n_workers = max(1, min(n_workers, len(todo)))
    if n_known:
        logger.info("%d of %d runs are already finished", n_known, n_known + len(todo))
    logger.info(
        "starting %d runs (%d splits, %s), %d at a time",
        len(todo),
        request.splits,
        ", ".join(request.methods),
        n_workers,
    )
    progress = JobProgress([method for _, method in todo], n_workers)

    def show(result: Result, *more: Any) -> None:
        progress(f"split {result.split}", result.method, *more)

    return show


def _written(
    comparison: Comparison, results: list[Result], request: Compare, drawn: tuple[str, ...]
) -> dict[str, Any]:
    """Write the document, the table and the figure, each atomically; return the document."""
    from seqmtl.compare.figure import draw_comparison
    from seqmtl.compare.protocol import count_split
    from seqmtl.compare.results import FinishedRuns, make_document, to_markdown, to_tsv
    from seqmtl.evaluation.figures import save_figure
    from seqmtl.files.atomic import write_json, write_lines

    digest = comparison.fingerprint()
    settings = {"command": "compare", **request.fingerprint()}
    sizes = count_split(comparison.windows, comparison.draw(0))
    document = make_document(results, settings, sizes, digest, drawn)
    write_json(request.json, document)
    FinishedRuns(f"{request.json}.partial", digest).remove()
    if request.table:
        text = (to_tsv if request.table.endswith(".tsv") else to_markdown)(document)
        write_lines(request.table, [text])
    if request.plot:
        save_figure(draw_comparison(document), request.plot)
    return document


compare = verb(Compare)
