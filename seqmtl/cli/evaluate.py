"""``seqmtl evaluate``: how good a model is, organism by organism."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from seqmtl.cli import _options
from seqmtl.cli.predict import add_scoring_options, read_for, score

_EXAMPLES = """\
  seqmtl evaluate splice.seqmtl windows.tsv.gz
  seqmtl evaluate splice.seqmtl windows.tsv.gz --json metrics.json --plot curves.png
  seqmtl evaluate splice.seqmtl windows.tsv.gz --split valid"""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers, "evaluate", run, "AUROC and AUPRC per organism, with intervals", _EXAMPLES
    )
    parser.add_argument("model", metavar="MODEL", help="model file")
    _options.add_window_input(parser, "labelled windows")
    add_scoring_options(parser)
    parser.add_argument("--json", metavar="FILE", help="metrics as JSON; - for standard output")
    parser.add_argument("--plot", metavar="FILE", help="ROC and PR curves: .png, .svg or .pdf")
    parser.add_argument(
        "--bootstrap", type=int, default=200, metavar="N",
        help="resamples for the 95%% intervals, 0 for none (default: 200)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of the resamples (default: 0)")
    parser.set_defaults(decoys=10.0)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.evaluation import evaluate, plot_curves
    from seqmtl.io.atomic import atomic_write, check_writable
    from seqmtl.models.model import MultiTaskModel

    for path in (args.json, args.plot):
        if path and path != "-":
            check_writable(path)
    model = MultiTaskModel.load(args.model)
    windows = read_for(model, args, require_labels=True)
    scores, _ = score(model, windows, args)
    metrics = evaluate(
        windows.labels, scores, windows.tasks, n_bootstrap=args.bootstrap, seed=args.seed
    )
    if args.plot:
        plot_curves(windows.labels, scores, windows.tasks, args.plot)
    if args.json == "-":
        json.dump(metrics, sys.stdout, indent=1)
        sys.stdout.write("\n")
        return 0
    if args.json:
        with atomic_write(args.json) as stream:
            json.dump(metrics, stream, indent=1)
            stream.write("\n")
    sys.stdout.write(_table(metrics))
    return 0


def _table(metrics: dict[str, Any]) -> str:
    """Lay the metrics out for people, tab-separated."""
    lines = ["organism\tn\tpositive\tauroc\tauroc_95\tauprc\tauprc_95"]
    for name, task in metrics["tasks"].items():
        fields = [name, str(task["n"]), str(task["n_positive"])]
        for key in ("auroc", "auprc"):
            fields += [_number(task[key]), _interval(task[f"{key}_interval"])]
        lines.append("\t".join(fields))
    mean = metrics["mean"]
    lines.append(f"mean\t\t\t{_number(mean['auroc'])}\t\t{_number(mean['auprc'])}\t")
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    return "NA" if value is None else f"{value:.4f}"


def _interval(bounds: list[float] | None) -> str:
    return "NA" if bounds is None else f"{bounds[0]:.4f}-{bounds[1]:.4f}"
