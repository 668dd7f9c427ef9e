"""``seqmtl calibrate``: from scores to probabilities, on held-out windows."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING, Any

from seqmtl.cli import _options
from seqmtl.cli._output import write_metrics
from seqmtl.cli._scoring import read_for, warn_of_coarse_decoys
from seqmtl.exceptions import SeqmtlError

if TYPE_CHECKING:
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.sequences import Windows

logger = logging.getLogger("seqmtl")

_EXAMPLES = """\
  seqmtl calibrate splice.seqmtl dataset -o calibrated.seqmtl --plot reliability.png
  seqmtl calibrate splice.seqmtl windows.tsv.gz --prevalence 0.002 -o calibrated.seqmtl

The windows must have had no part in the training. Those of `seqmtl dataset` know how many places of
the genome each decoy stands for, and how many candidates the genome has, so that probabilities hold
over the whole genome; for others give --prevalence, the share of true sites among the candidates
that will be scored."""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "calibrate", run,
        "turn scores into probabilities, per organism, on held-out windows", _EXAMPLES,
    )  # fmt: skip
    parser.add_argument("model", metavar="MODEL", help="model file")
    _options.add_window_input(parser, "labelled windows that the model has not seen")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="model file")
    parser.add_argument("--organism", help="organism of all rows (default: what the data say)")
    parser.add_argument(
        "--split", default="valid",
        help="rows to use, where DATA has a split column; all for all (default: valid)",
    )  # fmt: skip
    parser.add_argument(
        "--method", choices=("auto", "isotonic", "sigmoid"), default="auto",
        help="isotonic: any rising curve; sigmoid: Platt's; auto: isotonic from 200 true sites of "
        "an organism on (default)",
    )  # fmt: skip
    parser.add_argument(
        "--prevalence", type=_prevalence, metavar="SHARE",
        help="share of true sites among what will be scored (default: the genome's where DATA is a "
        "dataset, else the windows' own)",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="summary as JSON; - for standard output")
    parser.add_argument(
        "--plot", metavar="FILE", help="reliability diagram, cross-fitted: .png, .svg or .pdf"
    )
    parser.set_defaults(decoys=10.0, seed=0)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.io.atomic import check_writable
    from seqmtl.models.model import MultiTaskModel

    for path in (args.output, args.json, args.plot):
        if path and path != "-":
            check_writable(path)
    if args.plot:
        _options.check_figure(args.plot)
    model = MultiTaskModel.load(args.model)
    if model.kind != "classification":
        raise SeqmtlError(f"{args.model}: only models of two classes have probabilities")
    windows = read_for(model, args, require_labels=True)
    if args.split == "train" and windows.splits is not None:
        logger.warning(
            "the training windows are used: probabilities will be too sure; give held-out ones"
        )
    weights = _weights(windows, args)
    summary = calibrate(model, windows, weights, args)
    model.save(args.output)
    write_metrics(summary, _table(summary), args.json)
    logger.info("%s: calibrated on %d windows", args.output, len(windows))
    return 0


def calibrate(
    model: MultiTaskModel, windows: Windows, weights: Any, args: argparse.Namespace
) -> dict[str, Any]:
    """Give the model a curve for every organism of the windows; return what was found."""
    import numpy as np

    from seqmtl.evaluation import calibration_error, plot_reliability
    from seqmtl.models.probability_curve import cross_fitted

    scores = model.decision_function(windows)
    checked = np.full(len(windows), np.nan)
    by_task: dict[str, Any] = {}
    problems: list[str] = []
    for number in np.unique(windows.task_ids):
        name = model.match(windows.task_names[number])
        mine = np.flatnonzero(windows.task_ids == number)
        y, weight = windows.labels[mine], weights[mine]
        try:
            checked[mine] = cross_fitted(scores[mine], y, weight, args.method)
        except ValueError as error:
            problems.append(f"{windows.task_names[number]}: {error}")
            continue
        by_task[name] = model.calibrate(name, scores[mine], y, weight, args.method)
        error_ = calibration_error(y, checked[mine], weights=weight)
        by_task[name]["calibration_error"] = error_
        if args.prevalence is None:
            warn_of_coarse_decoys(name, y, weight)
    if not by_task:
        raise SeqmtlError("; ".join(problems))
    for problem in problems:
        logger.warning("%s; not calibrated", problem)
    left = [name for name in model.tasks if name not in model.curves]
    if left:
        logger.warning("probabilities of %s stay those of the training", ", ".join(left))
    if args.plot:
        done = ~np.isnan(checked)
        tasks = np.asarray(windows.tasks)[done]
        plot_reliability(
            windows.labels[done], checked[done], tasks, args.plot, weights=weights[done]
        )
    return {"schema_version": 1, "source": args.data or "sites", "tasks": by_task}


def _weights(windows: Windows, args: argparse.Namespace) -> Any:
    """Return how much each window counts, so that the classes have their shares in a genome."""
    import numpy as np

    from seqmtl.models.probability_curve import weights_for_prevalence

    weights = np.ones(len(windows)) if windows.weights is None else windows.weights.astype(float)
    shares = _shares(args.data)
    if args.prevalence is None and not shares:
        logger.warning(
            "the windows do not say how many places they stand for: probabilities hold at "
            "their own share of true sites, not over a genome; see --prevalence"
        )
        return weights
    for number in np.unique(windows.task_ids):
        mine = windows.task_ids == number
        share = args.prevalence or shares[windows.task_names[number]]
        y = windows.labels[mine]
        if (y > 0).any() and (y <= 0).any():
            weights[mine] = weights_for_prevalence(y, share, weights[mine])
    return weights


def _shares(data: str | None) -> dict[str, float]:
    """Return the share of true sites among all candidates of each genome of a dataset."""
    from seqmtl.io.dataset import is_dataset, read_summary

    if not data or not is_dataset(data):
        return {}
    shares = {}
    for name, counts in read_summary(data)["organisms"].items():
        n_sites = sum(split["sites"] for split in counts["splits"].values())
        others = sum(split["weight_of_decoys"] for split in counts["splits"].values())
        shares[name] = n_sites / (n_sites + others)
    return shares


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
