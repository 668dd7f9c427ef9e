"""``seqmtl evaluate``: how good a model is, organism by organism."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from seqmtl.cli import _options
from seqmtl.cli.predict import add_scoring_options, load_model, read_for, score

_EXAMPLES = """\
  seqmtl evaluate splice.seqmtl windows.tsv.gz
  seqmtl evaluate splice.seqmtl windows.tsv.gz --json metrics.json --plot curves.png
  seqmtl evaluate splice.seqmtl windows.tsv.gz --split valid"""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers,
        "evaluate",
        run,
        "AUROC and AUPRC per organism or task, with intervals",
        _EXAMPLES,
    )
    parser.add_argument("model", metavar="MODEL", help="model file")
    _options.add_window_input(parser, "labelled windows", tables="a table for models of such")
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
    from seqmtl.io.atomic import check_writable
    from seqmtl.models.kernel_model import KernelModel

    for path in (args.json, args.plot):
        if path and path != "-":
            check_writable(path)
    if args.plot:
        _options.check_figure(args.plot)
    model = load_model(args.model)
    if isinstance(model, KernelModel):
        from seqmtl.cli._kernel_use import evaluate_kernels

        return evaluate_kernels(model, args)
    windows = read_for(model, args, require_labels=True)
    scores, _ = score(model, windows, args)
    metrics = evaluate(
        windows.labels, scores, windows.tasks, n_bootstrap=args.bootstrap, seed=args.seed
    )
    if args.plot:
        plot_curves(windows.labels, scores, windows.tasks, args.plot)
    write_metrics(metrics, table(metrics), args.json)
    return 0


def write_metrics(metrics: dict[str, Any], text: str, path: str | None) -> None:
    """Write metrics as JSON to a file and as a table to standard output, or as JSON there."""
    from seqmtl.io.atomic import atomic_write

    if path == "-":
        json.dump(metrics, sys.stdout, indent=1)
        sys.stdout.write("\n")
        return
    if path:
        with atomic_write(path) as stream:
            json.dump(metrics, stream, indent=1)
            stream.write("\n")
    sys.stdout.write(text)


def table(metrics: dict[str, Any], task_column: str = "organism") -> str:
    """Lay the metrics out for people, tab-separated; the accuracy too where it is known."""
    lines = [f"{task_column}\tn\tpositive\tauroc\tauroc_95\tauprc\tauprc_95"]
    for name, task in metrics["tasks"].items():
        fields = [name, str(task["n"]), str(task["n_positive"])]
        for key in ("auroc", "auprc"):
            fields += [_number(task[key]), _interval(task[f"{key}_interval"])]
        lines.append("\t".join(fields))
    mean = metrics["mean"]
    lines.append(f"mean\t\t\t{_number(mean['auroc'])}\t\t{_number(mean['auprc'])}\t")
    if "accuracy" in mean:
        shown = [_number(task["accuracy"]) for task in (*metrics["tasks"].values(), mean)]
        lines = [f"{line}\t{end}" for line, end in zip(lines, ["accuracy", *shown], strict=True)]
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    return "NA" if value is None else f"{value:.4f}"


def _interval(bounds: list[float] | None) -> str:
    return "NA" if bounds is None else f"{bounds[0]:.4f}-{bounds[1]:.4f}"
