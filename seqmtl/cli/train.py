"""``seqmtl train``: from labelled windows to one multi-task model."""

from __future__ import annotations

import argparse
import logging
import time
from typing import TYPE_CHECKING, Any

from seqmtl.cli import _methods, _options, _similarity
from seqmtl.cli._output import NOT_CONVERGED, write_summary
from seqmtl.exceptions import TrainingInterrupted
from seqmtl.features.grammar import GRAMMAR

if TYPE_CHECKING:
    from seqmtl.models.checkpoint import Checkpoint
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.models.selection_space import Space
    from seqmtl.models.site import Site
    from seqmtl.sequences import Windows

logger = logging.getLogger("seqmtl")

_MKL_KINDS = ("hierarchical", "smooth", "multigraph")

_EXAMPLES = """\
  seqmtl train windows.tsv.gz --tree tree.nwk --window 141 -o splice.seqmtl
  seqmtl train windows.tsv.gz --tree metazoa --mkl hierarchical -o mkl.seqmtl
  seqmtl train windows.tsv.gz --selection none --similarity independent -C 2 -o own.seqmtl
  seqmtl train windows.tsv.gz --features wd:8 -o wd.seqmtl
  seqmtl train --genome worm=worm.fa --sites worm=worm.bed \\
               --genome fly=fly.fa --sites fly=fly.bed -o splice.seqmtl
  seqmtl train windows.tsv.gz -o splice.seqmtl --resume      # after an interruption
  seqmtl train expression.csv --method pareto --kernel linear --kernel rbf:0.1 -C 10 -o m.seqmtl
  seqmtl train expression.csv --method pareto --p 0.1,0.5,1,2,10 --plot front.png -o m.seqmtl
  seqmtl train land.npz --method kernel-svc --graph neighbours.tsv --tune 0.1,1,10 -o m.seqmtl
  seqmtl train peptides.csv --method kernel-mkl --sequence peptide --task-column allele \\
               --kernel spectrum:2:protein --kernel gapped:5:3:protein -o m.seqmtl
  seqmtl train windows.tsv.gz --method kernel-svc --kernel wd:8 --tree tree.nwk -o wd.seqmtl

"""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "train", run, "train one model for all organisms of the data",
        f"{_EXAMPLES}{GRAMMAR}\n\n{_methods.RULE}",
    )  # fmt: skip
    _options.add_window_input(parser, "training windows", tables="with --method a table (below)")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="model file")
    data = parser.add_argument_group("examples")
    data.add_argument(
        "--organism",
        "--task",
        help="take all of DATA for this organism or task, whatever its column says",
    )
    data.add_argument("--split", default="train", help="rows to use, where DATA has a split column")
    data.add_argument(
        "--window", type=_options.positive_int, metavar="BP",
        help="central bases of each sequence (default: the whole; 141 around sites)",
    )  # fmt: skip
    data.add_argument(
        "--shift", type=int, default=0, metavar="BP",
        help="move the window this far to the 3' side of the centre (default: 0)",
    )  # fmt: skip
    data.add_argument(
        "--decoys", type=_options.positive_float, default=10.0, metavar="RATIO",
        help="decoys drawn per site where the sites have none (default: 10)",
    )  # fmt: skip
    _similarity.add_source_options(parser)
    tasks = parser.add_argument_group("similarity of the organisms")
    tasks.add_argument(
        "--similarity", metavar="KIND|TSV",
        help="independent, union, easy, or with a source another kind (see seqmtl similarity "
        "--help), or a table of similarities (default: tree where there is one). How far to trust "
        "it is chosen, but for the first three, which are taken as they are",
    )  # fmt: skip
    tasks.add_argument(
        "--mkl", choices=_MKL_KINDS, metavar="KIND",
        help="learn how much to trust each of several similarities: hierarchical (one per inner "
        "node of the tree), smooth (one per scale) or multigraph (one per graph)",
    )  # fmt: skip
    tasks.add_argument(
        "--norm", type=_norm, metavar="P",
        help="of the weights that --mkl or --method learns: 1 (few) to inf (all alike) (default: "
        "2; with pareto and independent-mkl 1.1); with minimax of the losses (default: inf)",
    )  # fmt: skip
    _add_model_options(parser)
    _methods.add_options(parser)
    run_ = parser.add_argument_group("run")
    run_.add_argument("--seed", type=int, default=0, help="visiting order and decoys (default: 0)")
    run_.add_argument("--resume", action="store_true", help="continue from MODEL.checkpoint")
    run_.add_argument("--json", metavar="FILE", help="write the training summary as JSON")


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    model = parser.add_argument_group("model")
    model.add_argument(
        "--selection", choices=("auto", "none"),
        help="auto: choose per organism how far to trust its relatives, and the cost, and for all "
        "how much k-mers in bins weigh, by cross-validation; all labels then train one model "
        "(default). none: train once, with -C and --similarity as they are (with --mkl always)",
    )  # fmt: skip
    _options.add_features(model)
    model.add_argument(
        "-C", type=_options.positive_float,
        help="cost (default: chosen per organism; 1 with --selection none, --mkl or --method, 100 "
        "with minimax)",
    )  # fmt: skip
    model.add_argument(
        "--tune", type=_options.positive_floats, metavar="C,...",
        help="of --method: costs to choose from, one for all, in three folds by the mean AUROC of "
        "the tasks, or the accuracy of several classes (replaces -C)",
    )  # fmt: skip
    model.add_argument(
        "--loss", choices=("hinge", "squared_hinge", "logistic"), default="hinge",
        help="loss (default: hinge)",
    )  # fmt: skip
    model.add_argument("--balanced", action="store_true", help="weigh both classes equally")
    model.add_argument(
        "--tol", type=_options.positive_float, default=1e-3,
        help="relative duality gap to stop at (default: 1e-3)",
    )  # fmt: skip
    model.add_argument(
        "--max-epochs", type=_options.positive_int, metavar="N",
        help="epochs, or iterations of a method, at most (default: 1000; with minimax 10000)",
    )  # fmt: skip
    model.add_argument(
        "--dtype", choices=("float32", "float64"), default="float32",
        help="of the weights (default: float32; float64 for gaps below 1e-6)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.cli._input import read_input
    from seqmtl.files.atomic import check_writable
    from seqmtl.models.site import site_in_dataset

    _methods.check_usage(args)
    _methods.fill_in(args)
    _check_selection(args)
    for path in (args.output, args.json, args.plot):
        if path:
            check_writable(path)
    if args.plot:
        _options.check_figure(args.plot)
    _similarity.check_usage(_similarity.asked(args))
    if args.method:
        from seqmtl.cli._kernel_train import train_kernels

        return train_kernels(args)
    _methods.refuse_tables(args)
    started = time.perf_counter()
    windows = read_input(
        args, split=args.split, window=args.window, require_labels=True, shift=args.shift
    )
    site = site_in_dataset(args.data, windows.length, args.shift)
    model, checkpoint = train_with_checkpoint(windows, args, site)
    model.shift = args.shift
    if site is not None:
        model.site = site
        model.training["dataset"] = {"path": args.data, "signal": site.signal}
    model.training["command"] = args.command_line
    model.training["sources"] = [args.data] if args.data else [path for _, path in args.genome]
    model.training["seconds"] = round(time.perf_counter() - started, 3)
    model.save(args.output)
    checkpoint.remove()
    if args.json:
        write_summary(args.json, model.training)
    summary = model.training
    logger.info(
        "%s: %d organisms, %d windows, relative duality gap %.1e after %d epochs, %.1f s",
        args.output, len(model.tasks), len(windows), summary["duality_gap"], summary["n_epochs"],
        summary["seconds"],
    )  # fmt: skip
    if not summary["converged"]:
        logger.warning("stopped before the tolerance %g; raise --max-epochs or --tol", args.tol)
        return NOT_CONVERGED
    return 0


def train_with_checkpoint(
    windows: Windows, args: argparse.Namespace, site: Site | None
) -> tuple[MultiTaskModel, Checkpoint]:
    """Train and write a checkpoint after every epoch, to be removed once the model is on disk.

    Raises
    ------
    TrainingInterrupted
        On Ctrl-C; says how to resume.
    """
    from seqmtl.features.positional_kmers import PositionalKmers
    from seqmtl.models.checkpoint import Checkpoint
    from seqmtl.models.fit import train_windows
    from seqmtl.models.selected import labelled, train_selected
    from seqmtl.models.training import Settings

    windows = windows.with_tasks(windows.tasks)
    names = windows.task_names
    settings = Settings(
        C=args.C or 1.0, loss=args.loss, class_weight="balanced" if args.balanced else None,
        tol=args.tol, max_epochs=args.max_epochs, dtype=args.dtype, seed=args.seed,
        norm=(args.norm or 2.0) if args.mkl else None,
    )  # fmt: skip
    features = args.features or PositionalKmers()
    kernel = _similarity.task_kernel(args, names)
    space = None if args.selection == "none" else _space(args, kernel, names)
    choices = None if space is None else space.to_dict()
    path = f"{args.output}.checkpoint"
    checkpoint = Checkpoint(path, windows, features, kernel, settings, choices)
    state = checkpoint.load() if args.resume else None
    show, show_choice = _progress(args)

    def on_epoch(state: Any, progress: Any) -> None:
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
            f"interrupted; what was trained is in {checkpoint.path}: run the same command with "
            "--resume to continue",
            checkpoint.path,
        ) from error
    show.close()
    return model, checkpoint


def _check_selection(args: argparse.Namespace) -> None:
    """Refuse a selection of what leaves nothing to choose, and set what is meant without one."""
    if args.method:
        return
    if args.mkl and args.selection == "auto":
        _similarity.refuse(
            args, "--mkl learns the weights of similarities at a fixed -C, as published, and "
            "--selection auto chooses how far to trust one; give one of them",
        )  # fmt: skip
    args.selection = args.selection or ("none" if args.mkl else "auto")


def _space(args: argparse.Namespace, kernel: Any, names: tuple[str, ...]) -> Space:
    """Return what there is to choose from: what the user has fixed stays as it is."""
    from seqmtl.models.kernels import resolve_kernel
    from seqmtl.models.selection_space import COSTS, Space

    costs = COSTS if args.C is None else (args.C,)
    relation = None if kernel is None else resolve_kernel(kernel, names)
    if args.similarity in _similarity.PLAIN and relation is not None:
        return Space.of_cost(relation, costs)
    return Space.of_sharing(names, relation, costs)


def _norm(text: str) -> float:
    value = float(text)
    if not value >= 1:
        raise argparse.ArgumentTypeError(f"must be from 1 to inf, got {text}")
    return value


def _progress(args: argparse.Namespace) -> tuple[Any, Any]:
    from seqmtl.cli._console import SelectionProgress, TrainingProgress

    return TrainingProgress(args.tol, args), SelectionProgress(args)
