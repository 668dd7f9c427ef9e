"""``seqmtl train``: from labelled windows to one multi-task model."""

from __future__ import annotations

import argparse
import logging
import time
from typing import TYPE_CHECKING, Any

from seqmtl.cli import _methods, _options, _similarity
from seqmtl.cli._output import NOT_CONVERGED, write_summary
from seqmtl.exceptions import TrainingInterrupted

if TYPE_CHECKING:
    from seqmtl.models.checkpoint import Checkpoint
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.models.site import Site
    from seqmtl.sequences import Windows

logger = logging.getLogger("seqmtl")

_MKL_KINDS = ("hierarchical", "smooth", "multigraph")

_EXAMPLES = """\
  seqmtl train windows.tsv.gz --tree tree.nwk --window 141 -o splice.seqmtl
  seqmtl train windows.tsv.gz --tree metazoa --mkl hierarchical --spectrum 4 -o mkl.seqmtl
  seqmtl train windows.tsv.gz --similarity independent -C 2 -o own.seqmtl
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
        _EXAMPLES + _methods.RULE,
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
        "--help), or a table of similarities (default: tree where there is one, else a quarter in "
        "common, K = (11' + 3I)/4)",
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
        "--degree", type=int, default=8, metavar="D", help="longest substring, 1..20 (default: 8)"
    )
    model.add_argument(
        "--hash-bits", type=int, metavar="B",
        help="hash the features into 2^B (default: exact while one task fits in 1 GiB, else 22)",
    )  # fmt: skip
    model.add_argument(
        "--spectrum", type=_options.positive_int, metavar="K",
        help="also count the K-mers up- and downstream of the site, as two more views",
    )  # fmt: skip
    model.add_argument(
        "-C", type=_options.positive_float, help="cost (default: 1; with minimax 100)"
    )
    model.add_argument(
        "--tune", type=_options.positive_floats, metavar="C,...",
        help="hold out a fifth of every organism and choose the cost on it, per organism; with "
        "--mkl also how far to trust the similarities (replaces -C; cannot be resumed). With "
        "--method the cost is one for all, chosen in three folds by the mean AUROC of the tasks, "
        "or the accuracy of several classes",
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
    from seqmtl.io.atomic import check_writable
    from seqmtl.models.site import site_in_dataset

    _methods.check_usage(args)
    _methods.fill_in(args)
    for path in (args.output, args.json, args.plot):
        if path:
            check_writable(path)
    if args.plot:
        _options.check_figure(args.plot)
    if args.tune and args.resume:
        _similarity.refuse(args, "--tune cannot be resumed; leave --resume out")
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
    from seqmtl.features.weighted_degree import WeightedDegree
    from seqmtl.models.checkpoint import Checkpoint
    from seqmtl.models.fit import train_windows
    from seqmtl.models.site import views_around_site
    from seqmtl.models.training import Settings

    settings = Settings(
        C=args.C, loss=args.loss, class_weight="balanced" if args.balanced else None, tol=args.tol,
        max_epochs=args.max_epochs, dtype=args.dtype, seed=args.seed,
        norm=(args.norm or 2.0) if args.mkl else None,
    )  # fmt: skip
    features: Any = WeightedDegree(degree=args.degree, hash_bits=args.hash_bits)
    if args.spectrum:
        features = views_around_site(features, windows, args.spectrum, site)
    kernel = _similarity.task_kernel(args, tuple(dict.fromkeys(windows.tasks)))
    checkpoint = Checkpoint(f"{args.output}.checkpoint", windows, features, kernel, settings)
    if args.tune:
        return _tune(windows, features, kernel, settings, args), checkpoint
    state = checkpoint.load() if args.resume else None
    show = _progress(args)

    def on_epoch(state: Any, progress: Any) -> None:
        checkpoint.save(state)
        show(progress)

    try:
        model, _ = train_windows(
            windows, features=features, task_kernel=kernel, settings=settings,
            state=state, on_epoch=on_epoch,
        )  # fmt: skip
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


def _tune(
    windows: Windows, features: Any, kernel: Any, settings: Any, args: argparse.Namespace
) -> MultiTaskModel:
    """Train with what is left open chosen on held-out windows."""
    from seqmtl.models.kernels import resolve_kernels
    from seqmtl.models.selection import fit_method, hold_out

    method, role = ("mkl", "kernels") if args.mkl else ("mtl", "kernel")
    resolved = resolve_kernels([kernel], tuple(dict.fromkeys(windows.tasks)))
    train, valid = hold_out(windows, args.seed)
    model, _ = fit_method(
        method, train, valid, C=args.tune, norm=args.norm or 2.0, features=features,
        settings=settings, **{role: resolved},
    )  # fmt: skip
    return model


def _norm(text: str) -> float:
    value = float(text)
    if not value >= 1:
        raise argparse.ArgumentTypeError(f"must be from 1 to inf, got {text}")
    return value


def _progress(args: argparse.Namespace) -> Any:
    from seqmtl.cli._console import TrainingProgress

    return TrainingProgress(args.tol, args)
