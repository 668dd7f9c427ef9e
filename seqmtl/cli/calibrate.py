"""``seqmtl calibrate``: turn scores into probabilities, using held-out candidates or windows."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING, Any

from seqmtl.cli import _options
from seqmtl.cli._output import check_outputs, replacing, write_metrics
from seqmtl.cli._scoring import score_labelled
from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqmtl.models.base import Model
    from seqmtl.scan.held_out import HeldOut

logger = logging.getLogger("seqmtl")

_EXAMPLES = """\
  seqmtl calibrate splice.seqmtl dataset -o calibrated.seqmtl --plot reliability.png
  seqmtl calibrate splice.seqmtl windows.tsv.gz --prevalence 0.002 -o calibrated.seqmtl

For the `seqmtl dataset` folder that the model was trained on, every candidate of the validation and
training regions is scored (such as every GT, on both strands), so probabilities hold genome-wide.
Those of training regions are scored by models with the same hyperparameters that were trained
without their region (--folds). For another dataset only the validation regions are scored, and the
prevalence is that of its whole genomes. Windows of a table must be held out from training; give
their --prevalence, the share of true sites among the candidates to be scored. Probabilities rest on
at least ten true sites, so with few sites no high ones are assigned; they rise with the score
everywhere. If the consensus has several words, such as GT and GC, a constant is added to the scores
of each, so that each has its own prior.

columns: precision is that of all candidates with at least this score, probability that of
candidates with just this score, which is lower. expected is the sum of all probabilities, beside
the true number, positive; error_0.1 and error are the mean absolute difference between probability
and share of true sites, over bins: of the candidates above .1, and of all, nearly all of which have
probabilities near 0. Probabilities are cross-fitted. The second table is as in seqmtl evaluate."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "calibrate", run,
        "turn scores into probabilities, per organism, using held-out data", _EXAMPLES,
    )  # fmt: skip
    parser.add_argument("model", metavar="MODEL", help="model file")
    _options.add_window_input(
        parser,
        "labelled windows not used in training",
        tables="a table of examples for train-table models",
    )
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="model file")
    parser.add_argument(
        "--organism", "--task", help="organism or task of all rows (default: as in DATA)"
    )
    parser.add_argument(
        "--split", default="valid",
        help="split to use, if DATA is a dataset or has a split column; all for every row "
        "(default: valid)",
    )  # fmt: skip
    parser.add_argument(
        "--folds", type=_options.positive_int, default=4, metavar="N",
        help="models trained without a part of the training regions of a dataset, to calibrate on "
        "these, too; 1 for the validation regions only, as when the model is from other data "
        "(default: 4)",
    )  # fmt: skip
    parser.add_argument(
        "--method", choices=("auto", "isotonic", "sigmoid"), default="auto",
        help="isotonic: isotonic regression; sigmoid: Platt scaling; auto: isotonic for organisms "
        "with at least 200 true sites, else sigmoid (default: auto)",
    )  # fmt: skip
    parser.add_argument(
        "--prevalence", type=_options.share, metavar="SHARE",
        help="share of true sites among the candidates to be scored (default: the genome's if DATA "
        "is a dataset, else that of the rows)",
    )  # fmt: skip
    parser.add_argument(
        "--json", metavar="FILE", help="write a summary as JSON; - for standard output"
    )
    parser.add_argument(
        "--plot", metavar="FILE", help="reliability diagram, cross-fitted: .png, .svg or .pdf"
    )
    _options.add_threads(parser)
    parser.set_defaults(decoys=10.0, seed=0)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.models.saved import load_model

    check_outputs(args.output, args.json, args.plot)
    if args.plot:
        _options.check_figure(args.plot)
    with replacing(args.output, args.model):
        model = load_model(args.model)
    if model.structure == "pairs":
        raise SeqmtlError(
            f"{args.model}: the probabilities of a model of seqmtl pair hold over the genome as it "
            "is: its layer was fitted by seqmtl pair; to fit it anew, calibrate both site models "
            "and run seqmtl pair again"
        )
    if model.kind != "classification" or len(model.classes) > 2:
        raise SeqmtlError(f"{args.model}: only two-class models have probabilities")
    held = score_labelled(model, args, "the probabilities of sites are")
    shares = _shares(args, held.names)
    if args.split == "valid" and args.folds > 1 and held.counts is not None:
        held, shares = with_training_regions(model, held, shares, args)
    summary = calibrate(model, held, shares, args)
    model.save(args.output)
    write_metrics(summary, _table(summary), args.json)
    logger.info(
        "%s: calibrated on %d candidates", args.output,
        sum(task["n"] for task in summary["tasks"].values()),
    )  # fmt: skip
    return 0


def with_training_regions(
    model: Any, held: HeldOut, shares: dict[str, float | None], args: argparse.Namespace
) -> tuple[HeldOut, dict[str, float | None]]:
    """Add the training regions, scored by models that have not seen them, if there can be any.

    The prevalence is then that of the candidates, unless one is asked for.
    """
    from seqmtl.scan.held_out import join_held_out
    from seqmtl.scan.unseen import score_unseen

    unseen = score_unseen(model, args.data, folds=args.folds, organism=args.organism)
    if unseen is None:
        logger.info("calibrating on the validation regions only; see --folds")
        return held, shares
    if args.prevalence is None:
        shares = dict.fromkeys(held.names)
    return join_held_out([held, unseen]), shares


def calibrate(
    model: Model,
    held: HeldOut,
    shares: dict[str, float | None],
    args: argparse.Namespace,
) -> dict[str, Any]:
    """Fit a probability curve for every organism; return a summary."""
    import numpy as np

    from seqmtl._names import match_names
    from seqmtl.evaluation import calibration_error, draw_reliability, expected_sites
    from seqmtl.evaluation.figures import save_figure
    from seqmtl.models.probability_curve import cross_fitted, weights_for_prevalence

    checked: list[tuple[Any, ...]] = []
    by_task: dict[str, Any] = {}
    problems: list[str] = []
    places = match_names(held.names, model.tasks, "this model")
    for task, place in zip(held.names, places, strict=True):
        name, share = model.tasks[place], shares[task]
        candidates = held.of(task)
        options = {"method": args.method, "prevalence": share}
        try:
            p, rows, held_out = cross_fitted(**candidates, **options)
        except ValueError as error:
            problems.append(f"{task}: {error}")
            continue
        by_task[name] = model.calibrate(name, **candidates, **options)
        weight, y = held_out.astype(float), candidates["y"]
        if share is not None:
            weight = weights_for_prevalence(y[rows], share, weight)
        by_task[name]["calibration_error"] = calibration_error(y[rows], p, weights=weight)
        blocks = None if held.blocks is None else held.blocks[held.tasks == task][rows]
        own = expected_sites(
            y[rows], p, np.full(p.size, name),
            weight if blocks is None else held_out, blocks,
        )  # fmt: skip
        by_task[name] |= own[name]
        checked.append((y[rows], p, np.full(p.size, task), weight))
    if not by_task:
        raise SeqmtlError("; ".join(problems))
    for problem in problems:
        logger.warning("%s; not calibrated", problem)
    left = [name for name in model.tasks if name not in model.curves]
    if left:
        logger.warning("the probabilities of %s stay as trained", ", ".join(left))
    if args.plot:
        labels, p, tasks, weights = map(np.concatenate, zip(*checked, strict=True))
        save_figure(draw_reliability(labels, p, tasks, weights=weights), args.plot)
    return {"schema_version": 1, "source": args.data or "sites", "tasks": by_task}


def _shares(args: argparse.Namespace, names: Sequence[str]) -> dict[str, float | None]:
    """Return the prevalence for which each organism is calibrated."""
    from seqmtl.io.dataset import is_dataset, read_summary

    if args.prevalence is not None:
        return dict.fromkeys(names, args.prevalence)
    if not args.data or not is_dataset(args.data):
        logger.warning(
            "the prevalence in the genome is unknown, so probabilities hold at that of the "
            "windows; give --prevalence"
        )
        return dict.fromkeys(names)
    facts = read_summary(args.data)["organisms"]
    return {n: facts[n]["sites"] / (facts[n]["sites"] + facts[n]["candidates"]) for n in names}


def _table(summary: dict[str, Any]) -> str:
    """Format the score thresholds and the reliability of every organism as tables."""
    from seqmtl.evaluation import reliability_table, thresholds_table

    return f"{thresholds_table(summary['tasks'])}\n{reliability_table(summary['tasks'])}"
