"""``seqmtl train``: train one multi-task model on labelled windows."""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from seqmtl.cli import _methods, _options, _similarity
from seqmtl.cli._output import NOT_CONVERGED, check_outputs, write_summary
from seqmtl.exceptions import TrainingInterrupted

if TYPE_CHECKING:
    from seqmtl.models.checkpoint import Checkpoint
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.models.selection import Space
    from seqmtl.models.site import Site
    from seqmtl.models.training import Settings
    from seqmtl.sequences import Windows
    from seqmtl.similarity.build import KernelRequest

logger = logging.getLogger("seqmtl")

_EXAMPLES = """\
  seqmtl train windows.tsv.gz --tree metazoa --window 141 -o splice.seqmtl"""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "train", run,
        "train one model for all organisms on windows (for tables: seqmtl train-table)", _EXAMPLES,
        usage="seqmtl train DATA -o MODEL [options]",
        formatter_class=_options.OneScreen,
    )  # fmt: skip
    _options.add_training_rows(_options.add_window_input(parser, "training windows"))
    relations = _similarity.add_source_options(parser)
    relations.add_argument(
        "--similarity", metavar="KIND|TSV",
        help="individual, union, easy, a kind of seqmtl similarity, or a table (default: the tree)",
    )  # fmt: skip
    _similarity.add_mkl(relations)
    relations.add_argument(
        "--norm", type=_options.norm, metavar="P",
        help="p of the p-norm on --mkl weights: 1 sparse, inf uniform (default: 2)",
    )  # fmt: skip
    _add_model_options(parser)
    _options.add_run_options(parser)
    parser.add_argument(
        "--memory", type=_options.memory, metavar="SIZE",
        help="windows on disk, in MODEL.windows, and at most this memory, such as 4G",
    )  # fmt: skip
    _options.add_dask(parser, "score windows")
    parser.add_argument("--resume", action="store_true", help="resume an interrupted training")
    parser.add_argument(*_methods.OPTIONS, action=_OfTables, nargs="?", help=argparse.SUPPRESS)


class _OfTables(argparse.Action):
    """An option of ``train-table``; its use is an error here."""

    def __call__(self, parser: Any, _: Any, value: Any, option: str | None = None) -> None:
        method = value if option == "--method" else "METHOD"
        parser.error(f"{option} is for tables: use seqmtl train-table DATA --method {method}")


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    model = parser.add_argument_group("model")
    model.add_argument(
        "--selection", choices=("auto", "none"),
        help="auto: tune cost, trust and bin weights (default); none: train as given",
    )  # fmt: skip
    _options.add_features(model)
    model.add_argument(
        "-C", type=_options.positive_float,
        help="cost (default: tuned per organism; 1 without tuning)",
    )  # fmt: skip
    model.add_argument(
        "--loss", choices=("hinge", "squared_hinge", "logistic"), default="hinge", metavar="LOSS",
        help="hinge, squared_hinge or logistic (default: hinge)",
    )  # fmt: skip
    model.add_argument("--balanced", action="store_true", help="give both classes equal weight")
    model.add_argument(
        "--tol", type=_options.positive_float, default=1e-3,
        help="stop at this relative duality gap (default: 1e-3)",
    )  # fmt: skip
    model.add_argument(
        "--max-epochs", type=_options.positive_int, default=1000, metavar="N",
        help="maximum number of epochs (default: 1000)",
    )  # fmt: skip
    model.add_argument(
        "--dtype", choices=("float32", "float64"), default="float32", metavar="TYPE",
        help="weight type (default: float32; use float64 for gaps below 1e-6)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.cli._train_stored import remove_store
    from seqmtl.models.site import site_in_dataset
    from seqmtl.verbs._windows import organisms_named, read_for_training

    _check_selection(args)
    check_outputs(args.output, args.json)
    request = _similarity.training_request(args)
    _methods.refuse_tables(args)
    _similarity.check_tree(request, organisms_named(args))
    started = time.perf_counter()
    if args.memory or args.dask:
        model, site = _train_on_disk(args, request)
        remove: Callable[[], None] = partial(remove_store, args)
    else:
        windows = read_for_training(args, split=args.split)
        site = site_in_dataset(args.data, windows.length, args.shift)
        model, checkpoint = train_with_checkpoint(windows, args, request, site)
        remove = checkpoint.remove
    model.shift = args.shift
    if site is not None:
        model.site = site
        model.training["dataset"] = {"path": args.data, "signal": site.signal}
    model.training["command"] = args.command_line
    model.training["sources"] = [args.data] if args.data else [path for _, path in args.genome]
    if args.split != "train":
        model.training["split"] = args.split
    model.training["seconds"] = round(time.perf_counter() - started, 3)
    model.save(args.output)
    remove()
    if args.json:
        write_summary(args.json, model.training)
    summary = model.training
    logger.info(
        "%s: %d organisms, %d windows, relative duality gap %.1e after %d epochs, %.1f s",
        args.output, len(model.tasks), sum(task["n"] for task in summary["tasks"].values()),
        summary["duality_gap"], summary["n_epochs"], summary["seconds"],
    )  # fmt: skip
    if not summary["converged"]:
        logger.warning("not converged to the tolerance %g; raise --max-epochs or --tol", args.tol)
        return NOT_CONVERGED
    return 0


def _train_on_disk(
    args: argparse.Namespace, request: KernelRequest | None
) -> tuple[MultiTaskModel, Site | None]:
    """Train on windows that stay on disk; return the model and the site of a dataset."""
    from seqmtl.cli._train_stored import train_on_disk
    from seqmtl.models.site import site_in_dataset
    from seqmtl.models.stored_fit import train_stored

    show, show_choice = _progress(args)

    def fit(store: Any, save: Any, **options: Any) -> tuple[MultiTaskModel, Site | None]:
        names = store.task_names
        kernel = _similarity.task_kernel(args, request, names)
        site = site_in_dataset(args.data, store.shape[1], args.shift)
        space = None if args.selection == "none" else _space(args, kernel, names)

        def on_look(active: Any, progress: Any) -> None:
            save(active)
            show(progress)

        model, _ = train_stored(
            store, space=space, task_kernel=kernel, features=args.features,
            settings=_settings(args), site=site, on_score=show_choice, on_look=on_look, **options,
        )  # fmt: skip
        return model, site

    try:
        return train_on_disk(args, fit)
    finally:
        show.close()


def train_with_checkpoint(
    windows: Windows,
    args: argparse.Namespace,
    request: KernelRequest | None,
    site: Site | None,
) -> tuple[MultiTaskModel, Checkpoint]:
    """Train, with a checkpoint from time to time; the caller removes it once the model is saved.

    Raises
    ------
    TrainingInterrupted
        On Ctrl-C; the message says how to resume.
    """
    from seqmtl.features.positional_kmers import PositionalKmers
    from seqmtl.models.checkpoint import Checkpoint
    from seqmtl.models.fit import train_windows
    from seqmtl.models.selected import labelled, train_selected

    windows = windows.with_tasks(windows.tasks)
    names = windows.task_names
    settings = _settings(args)
    features = args.features or PositionalKmers()
    kernel = _similarity.task_kernel(args, request, names)
    space = None if args.selection == "none" else _space(args, kernel, names)
    choices = None if space is None else space.to_dict()
    path = f"{args.output}.checkpoint"
    checkpoint = Checkpoint(path, windows, features, kernel, settings, choices)
    state = checkpoint.load() if args.resume else None
    show, show_choice = _progress(args)

    def on_epoch(state: Any, progress: Any) -> None:
        if state.is_resumable:
            checkpoint.save(state)
        show(progress)

    def on_score(*progress: Any) -> None:
        checkpoint.save_scores()
        show_choice(*progress)

    options: dict[str, Any] = {
        "features": features, "settings": settings, "site": site, "state": state,
        "on_epoch": on_epoch,
    }  # fmt: skip
    try:
        if space is None:
            model, _ = train_windows(windows, task_kernel=kernel, **options)
        else:
            examples = labelled(windows, windows.labels, windows.task_ids, names)
            model, _ = train_selected(
                examples, space, known=checkpoint.scores, on_score=on_score, **options
            )
    except KeyboardInterrupt as error:
        show.close()
        if not checkpoint.is_written:
            raise
        raise TrainingInterrupted(
            f"interrupted; the progress is in {checkpoint.path}: repeat the command with --resume "
            "to continue",
            checkpoint.path,
        ) from error
    show.close()
    return model, checkpoint


def _settings(args: argparse.Namespace) -> Settings:
    from seqmtl.models.training import Settings

    return Settings(
        C=args.C or 1.0, loss=args.loss, class_weight="balanced" if args.balanced else None,
        tol=args.tol, max_epochs=args.max_epochs, dtype=args.dtype, seed=args.seed,
        norm=(args.norm or 2.0) if args.mkl else None,
    )  # fmt: skip


def _check_selection(args: argparse.Namespace) -> None:
    """Refuse options that conflict with selection, and set the default of --selection."""
    if (args.memory or args.dask) and (args.mkl or args.genome or args.loss == "logistic"):
        odd = "--mkl" if args.mkl else "--genome" if args.genome else "--loss logistic"
        _similarity.refuse(
            args, f"{odd} needs all windows in memory; leave out --memory and --dask"
        )  # fmt: skip
    if args.norm is not None and not args.mkl:
        _similarity.refuse(args, "--norm applies to the --mkl weights; give --mkl too")
    if args.mkl and args.selection == "auto":
        _similarity.refuse(
            args, "--mkl learns the weights of several similarities at a fixed -C, but "
            "--selection auto tunes the trust in one; give only one of these options",
        )  # fmt: skip
    args.selection = args.selection or ("none" if args.mkl else "auto")


def _space(args: argparse.Namespace, kernel: Any, names: tuple[str, ...]) -> Space:
    """Return the hyperparameters to tune; those set by the user stay fixed."""
    from seqmtl.models.kernels import resolve_kernel
    from seqmtl.models.selection import COSTS, Space

    costs = COSTS if args.C is None else (args.C,)
    relation = None if kernel is None else resolve_kernel(kernel, names)
    if args.similarity in _similarity.PLAIN and relation is not None:
        return Space.of_cost(relation, costs)
    return Space.of_sharing(names, relation, costs)


def _progress(args: argparse.Namespace) -> tuple[Any, Any]:
    from seqmtl._progress import SelectionProgress, TrainingProgress

    return TrainingProgress(args.tol), SelectionProgress()
