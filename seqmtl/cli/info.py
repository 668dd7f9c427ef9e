"""``seqmtl info``: what is in a model file."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from seqmtl.cli import _options

_EXAMPLES = """\
  seqmtl info splice.seqmtl
  seqmtl info splice.seqmtl --json | jq .duality_gap"""


def add_parser(subparsers: _options.Subparsers) -> None:
    """Add the command."""
    parser = _options.new_command(
        subparsers,
        "info",
        run,
        "what a model is: tasks, task kernel, features, training",
        _EXAMPLES,
    )
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from seqmtl.cli._scoring import load_model
    from seqmtl.models.kernel_model import KernelModel

    model = load_model(args.model)
    if isinstance(model, KernelModel):
        from seqmtl.cli._kernel_info import show_kernels

        return show_kernels(model, args)
    summary = summarise(model, args.model)
    if args.json:
        json.dump(summary, sys.stdout, indent=1)
        sys.stdout.write("\n")
        return 0
    training = summary["training"]
    lines = [
        f"model          {args.model} ({os.path.getsize(args.model) / 2**20:.1f} MiB)",
        f"features       {model.features} of {model.length} bases, {summary['n_features']:,}",
        f"site           offset {model.site.offset}, {model.site.letters or 'no consensus'}",
        f"duality gap    {summary['duality_gap']:.2e} after {summary['epochs']} epochs"
        + ("" if training["converged"] else " (stopped before the tolerance)"),
        f"support        {training['n_support']:,} windows",
        "settings       " + ", ".join(f"{k}={v}" for k, v in training["settings"].items()),
        "tasks",
    ]
    width = max(len(name) for name in model.tasks)
    for name in model.tasks:
        counts = training["tasks"][name]
        positive = f", {counts['n_positive']:,} positive" if "n_positive" in counts else ""
        lines.append(f"  {name:<{width}}  {counts['n']:>9,} windows{positive}")
    lines += [*_calibrated(training), str(model.kernel)]
    sys.stdout.write("\n".join([*lines, *_weights(training), *_chosen(training), ""]))
    return 0


def _calibrated(training: dict[str, Any]) -> list[str]:
    """Say which score finds which share of the true sites, where the model was calibrated."""
    found = training.get("calibration", {})
    lines = ["calibrated on held-out windows"] if found else []
    for name, task in found.items():
        lines.append(
            f"  {name}: {task['method']}, {task['n_positive']:,} true sites, a share of "
            f"{task['prevalence']:.2g} of all candidates"
        )
        lines += [
            f"    score {row['score']:8.4f}  probability {row['probability']:<8.4g}  recall "
            f"{row['recall']:.2f}  precision {row['precision']:.3f}"
            for row in task["thresholds"]
        ]
    return lines


def _chosen(training: dict[str, Any]) -> list[str]:
    """Say what each organism's weights were put together from, the largest part first."""
    chosen = training.get("selection", {}).get("tasks", {})
    lines = ["chosen on held-out windows"] if chosen else []
    for name, parts in chosen.items():
        lines.append(f"  {name}")
        for part in sorted(parts, key=lambda part: -part["part"]):
            what = ", ".join(f"{k} {v}" for k, v in part.items() if k not in ("part", "auprc"))
            lines.append(f"    {part['part']:6.1%}  {what}; held-out AUPRC {part['auprc']:.3f}")
    return lines


def _weights(training: dict[str, Any]) -> list[str]:
    """Draw the learnt weights of the kernels, view by view, as their groups are nested."""
    from seqmtl.similarity.text import draw_tree_text

    learnt = training.get("mkl", [])
    lines = []
    for view in dict.fromkeys(kernel["view"] for kernel in learnt):
        own = [kernel for kernel in learnt if kernel["view"] == view]
        text = draw_tree_text(
            [kernel["label"] for kernel in own],
            [kernel["tasks"] for kernel in own],
            [kernel["weight"] for kernel in own],
        )
        lines += [f"learnt weights of {view}", *(f"  {line}" for line in text.splitlines())]
    return lines


def summarise(model: Any, path: str) -> dict[str, Any]:
    """Return what `info --json` prints."""
    from seqmtl.models.calibration import CALIBRATION

    return {
        "schema_version": 1,
        "path": path,
        "duality_gap": model.training["duality_gap"],
        "epochs": model.training["n_epochs"],
        "tasks": list(model.tasks),
        "task_kernel": {
            "names": list(model.kernel.names),
            "matrix": model.kernel.matrix.tolist(),
            "source": model.kernel.source,
        },
        "features": model.features.to_dict(model.length),
        "window": model.length,
        "n_features": int(model.W.shape[0]),
        "site": vars(model.site),
        "calibration": {
            name: dict(zip(CALIBRATION[model.kind], row.tolist(), strict=True))
            for name, row in zip(model.tasks, model.calibration, strict=True)
        },
        "training": model.training,
    }
