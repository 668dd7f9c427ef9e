"""``seqmtl compare``: methods on the same splits, each tuned on its own training labels."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from seqmtl.cli import _console, _options, _similarity
from seqmtl.cli._output import NOT_CONVERGED, check_outputs
from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from seqmtl.compare import Comparison, Result
    from seqmtl.sequences import Windows

logger = logging.getLogger("seqmtl")

_WEIGHTS_AT_ONCE = 2  # weight sets held by training and selection in one run
_MATRICES_AT_ONCE = 3  # kernel matrices held by selection

_EXAMPLES = """\
  seqmtl compare windows.tsv.gz --tree tree.nwk --splits 10 --per-organism 1000 \\
                 --json comparison.json --table comparison.md --plot comparison.png
  seqmtl compare windows.tsv.gz --methods individual,union --json comparison.json

Repeat the same command to resume an interrupted run. If you then ask for more splits or methods,
the finished ones are reused from comparison.json."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "compare", run,
        "compare individual, union, multi-task and MKL models and the default of train",
        _EXAMPLES,
    )  # fmt: skip
    _options.add_window_input(parser, "labelled windows")
    parser.set_defaults(decoys=10.0)
    parser.add_argument("--json", required=True, metavar="FILE", help="write results as JSON")
    parser.add_argument("--table", metavar="FILE", help="write means and spreads: .tsv or .md")
    parser.add_argument("--plot", metavar="FILE", help="bar chart by organism: .png, .svg or .pdf")
    _add_method_options(parser)
    _add_split_options(parser)
    _options.add_threads(parser)
    _options.add_dask(parser, "run every method on every split")


def _add_method_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("methods")
    group.add_argument(
        "--methods", type=_methods, default="individual,union,mtl,mkl,default", metavar="LIST",
        help="methods to run: individual, union, mtl (similarity from the tree), mkl (learned "
        "similarity), default (what seqmtl train does by default), unseen (each organism predicted "
        "by the default model of the others) (default: all but unseen)",
    )  # fmt: skip
    _similarity.add_source_options(parser)
    group.add_argument(
        "--similarity", metavar="KIND|TSV",
        help="similarity for mtl: a kind (see seqmtl similarity --help) or a table (default: the "
        "default kind of the source)",
    )  # fmt: skip
    group.add_argument(
        "--mkl", choices=("hierarchical", "smooth", "multigraph"), default="hierarchical",
        help="kernels for mkl: one per clade, per distance scale, or per graph "
        "(default: hierarchical)",
    )  # fmt: skip
    group.add_argument(
        "--norm", type=float, default=2.0, metavar="P",
        help="p of the p-norm on the kernel weights of mkl (default: 2)",
    )  # fmt: skip
    group.add_argument(
        "-C", type=_options.positive_floats, default="0.1,1,10", metavar="LIST",
        help="costs to choose from, for all methods but default; mkl uses one cost for all "
        "organisms (default: 0.1,1,10)",
    )  # fmt: skip
    _options.add_features(group)
    group.add_argument(
        "--tol", type=_options.positive_float, default=1e-3,
        help="stop at this relative duality gap (default: 1e-3)",
    )  # fmt: skip


def _add_split_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("splits")
    group.add_argument(
        "--splits", type=_options.positive_int, default=10, metavar="N",
        help="number of random splits; one, with bootstrap intervals, if the data give the "
        "training and test windows (default: 10)",
    )  # fmt: skip
    group.add_argument(
        "--organisms", type=_similarity.names_list, metavar="A,B,...",
        help="organisms to use (default: all in DATA)",
    )  # fmt: skip
    group.add_argument(
        "--per-organism", type=int, metavar="N",
        help="labelled windows per organism for training and tuning together (default: all but "
        "the test windows)",
    )  # fmt: skip
    group.add_argument(
        "--window", type=_options.positive_int, metavar="BP",
        help="use the central BP bases (default: all; 141 around sites)",
    )  # fmt: skip
    group.add_argument(
        "--shift", type=int, default=0, metavar="BP",
        help="shift the window from the centre in the 3' direction (default: 0)",
    )  # fmt: skip
    group.add_argument(
        "--seed", type=_options.seed, default=0, help="seed of the splits (default: 0)"
    )


def _methods(text: str) -> list[str]:
    """Parse a list of methods."""
    from seqmtl.compare.runs import METHODS

    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in METHODS:
            raise argparse.ArgumentTypeError(f"must be some of {', '.join(METHODS)}, got {name!r}")
    return names


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    _check_outputs(args)
    comparison = _comparison(args)
    drawn = _drawn(comparison, args)
    from seqmtl._threads import use_threads
    from seqmtl.cluster import connect
    from seqmtl.compare import FinishedRuns, run_comparison
    from seqmtl.compare.protocol import count_split
    from seqmtl.compare.results import make_document, read_results, to_markdown
    from seqmtl.files.atomic import write_json

    digest = comparison.fingerprint()
    sizes = count_split(comparison.windows, comparison.draw(0))
    partial = FinishedRuns(f"{args.json}.partial", digest)
    jobs = [(split, method) for split in range(args.splits) for method in args.methods]
    known = [*read_results(args.json, digest), *partial.load()]
    others = {(run.split, run.method) for run in known}.difference(jobs)
    if others:
        raise SeqmtlError(
            f"{args.json} has {len(others)} finished runs that are not asked for, such as "
            f"{max(others)[1]} on split {max(others)[0]}, and would be lost; ask for these, too, "
            "or name another --json"
        )
    with use_threads(min(args.threads, _most_at_once(comparison))), connect(args.dask) as workers:
        show = _progress(args, jobs, known, workers.n_threads())
        results = run_comparison(
            comparison, jobs, partial, workers=workers, known=known, on_result=show
        )
    document = make_document(results, _settings(args), sizes, digest, drawn)
    write_json(args.json, document)
    partial.remove()
    _write_tables(args, document)
    _console.show(to_markdown(document))
    unfinished = [f"{r.method} on split {r.split}" for r in results if not r.converged]
    if unfinished:
        logger.warning("not converged to the tolerance %g: %s", args.tol, ", ".join(unfinished))
        return NOT_CONVERGED
    return 0


def _drawn(comparison: Comparison, args: argparse.Namespace) -> tuple[str, ...]:
    """Return what differs from split to split; if nothing does, ask for one split."""
    from seqmtl.compare.protocol import drawn_parts

    drawn = drawn_parts(comparison.windows, comparison.protocol)
    if not drawn and args.splits > 1:
        logger.info(
            "the data say which windows are for training and which for the test, so that all "
            "splits would be the same run: running one, with bootstrap intervals (--per-organism "
            "draws training windows)"
        )
        args.splits = 1
    return drawn


def _most_at_once(comparison: Comparison) -> int:
    """Return the number of runs that fit into memory side by side, at least 1."""
    from seqmtl._memory import available_memory
    from seqmtl.models.held_out import MOST

    windows = comparison.windows
    n_weights = comparison.features.n_features(windows.length) * len(windows.task_names)
    n_entries = min(MOST, len(windows)) ** 2
    n_bytes = 4 * (_WEIGHTS_AT_ONCE * n_weights + _MATRICES_AT_ONCE * n_entries)
    return max(1, available_memory() // n_bytes)


def _check_outputs(args: argparse.Namespace) -> None:
    """Check, before any long computation, that the outputs can be written."""
    check_outputs(args.json, f"{args.json}.partial", args.table, args.plot)
    if args.table and not args.table.endswith((".tsv", ".md")):
        raise ValueError(f"table must end in .tsv or .md, got {args.table!r}")
    if args.plot:
        _options.check_figure(args.plot)


def _comparison(args: argparse.Namespace) -> Comparison:
    """Read the windows and run all checks before training."""
    from seqmtl.compare import Comparison, Protocol
    from seqmtl.compare.protocol import check_windows
    from seqmtl.features.positional_kmers import PositionalKmers
    from seqmtl.models.site import site_in_dataset
    from seqmtl.models.training import Settings
    from seqmtl.verbs._windows import read_for_training

    asked = _similarity.kernel_request(args, args.similarity)
    if "mtl" in args.methods and asked is None:
        _similarity.refuse(
            args, "mtl needs to know how the organisms are related; give --tree or another source"
        )
    has_tree = asked is not None and asked.sources.has_tree
    learned = None
    if has_tree or "mkl" in args.methods:
        learned = _similarity.kernel_request(args, args.mkl)
    protocol = Protocol(args.per_organism, args.seed)
    Settings(tol=args.tol, norm=args.norm).check()
    windows = read_for_training(args, split=None)
    windows = _keep(windows, args.organisms)
    names = windows.task_names
    _similarity.check_tree(asked or learned, names)
    kernel = None if asked is None else asked.build(names)
    kernels = None if learned is None else learned.build(names)
    windows = _without_one_split(windows)
    check_windows(windows, protocol)
    features = args.features or PositionalKmers()
    features.n_features(windows.length)
    settings = Settings(tol=args.tol, seed=args.seed)
    return Comparison(
        windows, protocol, features, settings, args.C, kernel, kernels, float(args.norm),
        site_in_dataset(args.data, windows.length, args.shift),
    )  # fmt: skip


def _without_one_split(windows: Windows) -> Windows:
    """Drop a split column that has the same value in every row."""
    if windows.splits is not None and len(windows.split_names) == 1:
        logger.warning(
            "the split column is %r in every row; ignoring it and drawing a test set",
            windows.split_names[0],
        )  # fmt: skip
        windows.splits, windows.split_names = None, ()
    return windows


def _keep(windows: Windows, organisms: Sequence[str] | None) -> Windows:
    """Return the windows of the given organisms (default: all)."""
    if organisms is None:
        return windows
    import numpy as np

    from seqmtl._names import match_names

    chosen = match_names(organisms, windows.task_names, "the data")
    windows = windows[np.isin(windows.task_ids, chosen)]
    return windows.with_tasks(windows.tasks)


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the command and the options that affect the results."""
    left_out = {"run", "usage_error", "command_line", "quiet", "log_json", "debug"}
    left_out |= {"threads", "dask", "json", "table", "plot"}
    kept = {name: value for name, value in vars(args).items() if name not in left_out}
    kept["features"] = None if args.features is None else args.features.views
    return {**kept, "norm": "inf" if args.norm == float("inf") else args.norm}  # no JSON number


def _progress(
    args: argparse.Namespace, jobs: list[tuple[int, str]], known: list[Result], n_workers: int
) -> Callable[..., None]:
    """Log the work to do; return a callback for each result."""
    from seqmtl._progress import JobProgress

    done = {(result.split, result.method) for result in known}
    todo = [job for job in jobs if job not in done]
    n_workers = max(1, min(n_workers, len(todo)))
    if len(todo) < len(jobs):
        logger.info("%d of %d runs are already finished", len(jobs) - len(todo), len(jobs))
    logger.info(
        "starting %d runs (%d splits, %s), %d at a time",
        len(todo), args.splits, ", ".join(args.methods), n_workers,
    )  # fmt: skip
    progress = JobProgress([method for _, method in todo], n_workers)
    return lambda result, *more: progress(f"split {result.split}", result.method, *more)


def _write_tables(args: argparse.Namespace, document: dict[str, Any]) -> None:
    """Write the table and the figure, each atomically."""
    from seqmtl.compare.figure import draw_comparison
    from seqmtl.compare.results import to_markdown, to_tsv
    from seqmtl.evaluation.figures import save_figure
    from seqmtl.files.atomic import write_lines

    if args.table:
        text = (to_tsv if args.table.endswith(".tsv") else to_markdown)(document)
        write_lines(args.table, [text])
    if args.plot:
        save_figure(draw_comparison(document), args.plot)
