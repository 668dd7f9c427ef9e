"""``seqmtl calibrate``: from scores to probabilities, on held-out candidates or windows."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING, Any

from seqmtl.cli import _options
from seqmtl.cli._output import check_outputs, write_metrics
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

Of a folder of `seqmtl dataset` every candidate of the validation regions is scored (every GT, on
both strands), and the share of true sites is that of the whole genome, so that probabilities hold
over the genome. Windows of a table must have had no part in the training; give --prevalence with
them, the share of true sites among the candidates that will be scored. No probability rests on
less than ten true sites: with few of them, high probabilities are not given."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "calibrate", run,
        "turn scores into probabilities, per organism, on what was held out", _EXAMPLES,
    )  # fmt: skip
    parser.add_argument("model", metavar="MODEL", help="model file")
    _options.add_window_input(
        parser, "labelled windows that the model has not seen", tables="a table for models of such"
    )
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="model file")
    parser.add_argument(
        "--organism", "--task", help="organism or task of all rows (default: what the data say)"
    )
    parser.add_argument(
        "--split", default="valid",
        help="split of a dataset, or rows of a table with a split column; all for all "
        "(default: valid)",
    )  # fmt: skip
    parser.add_argument(
        "--method", choices=("auto", "isotonic", "sigmoid"), default="auto",
        help="isotonic: any rising curve; sigmoid: Platt's; auto: isotonic from 200 true sites of "
        "an organism on (default)",
    )  # fmt: skip
    parser.add_argument(
        "--prevalence", type=_prevalence, metavar="SHARE",
        help="share of true sites among what will be scored (default: the genome's where DATA is a "
        "dataset, else the rows' own)",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="summary as JSON; - for standard output")
    parser.add_argument(
        "--plot", metavar="FILE", help="reliability diagram, cross-fitted: .png, .svg or .pdf"
    )
    parser.set_defaults(decoys=10.0, seed=0)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.models.saved import load_model

    check_outputs(args.output, args.json, args.plot)
    if args.plot:
        _options.check_figure(args.plot)
    model = load_model(args.model)
    if model.kind != "classification" or len(model.classes) > 2:
        raise SeqmtlError(f"{args.model}: only models of two classes have probabilities")
    held, is_split = score_labelled(model, args)
    if args.split == "train" and is_split:
        logger.warning(
            "what was trained on is used: probabilities will be too sure; give what was held out"
        )
    summary = calibrate(model, held, _shares(args, held.names), args)
    model.save(args.output)
    write_metrics(summary, _table(summary), args.json)
    logger.info(
        "%s: calibrated on %d candidates", args.output,
        sum(task["n"] for task in summary["tasks"].values()),
    )  # fmt: skip
    return 0


def calibrate(
    model: Model,
    held: HeldOut,
    shares: dict[str, float | None],
    args: argparse.Namespace,
) -> dict[str, Any]:
    """Give the model a curve for every organism; return what was found."""
    import numpy as np

    from seqmtl.evaluation import calibration_error, plot_reliability
    from seqmtl.models.probability_curve import cross_fitted, weights_for_prevalence

    checked: list[tuple[Any, ...]] = []
    by_task: dict[str, Any] = {}
    problems: list[str] = []
    for task in held.names:
        name, share = model.match(task), shares[task]
        scores, y, counts = held.of(task)
        try:
            p, rows, held_out = cross_fitted(scores, y, counts, args.method, share)
        except ValueError as error:
            problems.append(f"{task}: {error}")
            continue
        by_task[name] = model.calibrate(name, scores, y, counts, args.method, share)
        weight = held_out.astype(float)
        if share is not None:
            weight = weights_for_prevalence(y[rows], share, weight)
        error_ = calibration_error(y[rows], p, weights=weight)
        by_task[name]["calibration_error"] = error_
        checked.append((y[rows], p, np.full(p.size, task), weight))
    if not by_task:
        raise SeqmtlError("; ".join(problems))
    for problem in problems:
        logger.warning("%s; not calibrated", problem)
    left = [name for name in model.tasks if name not in model.curves]
    if left:
        logger.warning("probabilities of %s stay those of the training", ", ".join(left))
    if args.plot:
        labels, p, tasks, weights = map(np.concatenate, zip(*checked, strict=True))
        plot_reliability(labels, p, tasks, args.plot, weights=weights)
    return {"schema_version": 1, "source": args.data or "sites", "tasks": by_task}


def _shares(args: argparse.Namespace, names: Sequence[str]) -> dict[str, float | None]:
    """Return the share of true sites at which the probabilities of each organism are to hold."""
    from seqmtl.io.dataset import is_dataset, read_summary

    if args.prevalence is not None:
        return dict.fromkeys(names, args.prevalence)
    if not args.data or not is_dataset(args.data):
        logger.warning(
            "the windows do not say how many places they stand for: probabilities hold at "
            "their own share of true sites, not over a genome; see --prevalence"
        )
        return dict.fromkeys(names)
    facts = read_summary(args.data)["organisms"]
    return {n: facts[n]["sites"] / (facts[n]["sites"] + facts[n]["candidates"]) for n in names}


def _table(summary: dict[str, Any]) -> str:
    """Lay out, for every organism, what scores to ask for."""
    lines = [
        "organism\tmethod\tn\tpositive\tprevalence\terror\trecall\tprecision\tscore\tprobability"
    ]
    for name, task in summary["tasks"].items():
        head = f"{name}\t{task['method']}\t{task['n']}\t{task['n_positive']}"
        head += f"\t{task['prevalence']:.2g}\t{task['calibration_error']:.2g}"
        lines += [
            f"{head}\t{row['recall']:.2f}\t{row['precision']:.3f}\t{row['score']:.4f}"
            f"\t{row['probability']:.4g}"
            for row in task["thresholds"]
        ]
    return "\n".join(lines) + "\n"


def _prevalence(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, got {text}")
    return value
