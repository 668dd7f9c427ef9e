"""What a model of weights is, as JSON values and as lines to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqmtl.models.calibration import CALIBRATION
from seqmtl.similarity.text import draw_tree_text

if TYPE_CHECKING:
    from seqmtl.models.model import MultiTaskModel


def describe(model: MultiTaskModel) -> dict[str, Any]:
    """Return JSON values."""
    return {
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


def lines(model: MultiTaskModel, file: str) -> list[str]:
    """Return lines to read."""
    training = model.training
    shown = [
        f"model          {file}",
        f"features       {model.features} of {model.length} bases, {model.W.shape[0]:,}",
        f"site           offset {model.site.offset}, {model.site.letters or 'no consensus'}",
        f"duality gap    {training['duality_gap']:.2e} after {training['n_epochs']} epochs"
        + ("" if training["converged"] else " (stopped before the tolerance)"),
        f"support        {training['n_support']:,} windows",
        "settings       " + ", ".join(f"{k}={v}" for k, v in training["settings"].items()),
        "tasks",
    ]
    width = max(len(name) for name in model.tasks)
    for name in model.tasks:
        counts = training["tasks"][name]
        positive = f", {counts['n_positive']:,} positive" if "n_positive" in counts else ""
        shown.append(f"  {name:<{width}}  {counts['n']:>9,} windows{positive}")
    shown += [*calibrated(training), str(model.kernel)]
    return [*shown, *_weights(training), *_chosen(training)]


def calibrated(training: dict[str, Any]) -> list[str]:
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
    """Say what was chosen on held-out labels, and how sure that is."""
    chosen = training.get("selection")
    if chosen is None:
        return []
    lines = ["chosen on held-out labels"]
    parts = [f"{part:.0%} {name}" for name, part in chosen.get("relations", {}).items()]
    if len(parts) > 1:
        lines.append(f"  who is close to whom: {', '.join(parts)}")
    width = max(len(name) for name in chosen["tasks"])
    first = next(iter(chosen["tasks"].values()))
    trusts = first.get("weights", {})
    if len(trusts) > 1:
        heads = " ".join(f"{trust:>5}" for trust in trusts)
        lines.append(f"  {'':<{width}}  trust      C   evidence of trust {heads}")
    for name, task in chosen["tasks"].items():
        line = f"  {name:<{width}}"
        if len(trusts) > 1:
            weights = " ".join(f"{weight:5.2f}" for weight in task["weights"].values())
            line += f"  {task['trust']:5.2f}  {task['C']:5.2g}                     {weights}"
            line += "  (too few labels of its own)" if task["by_prior"] else ""
        else:
            line += f"  C {task['C']:.2g}"
        lines.append(line)
    lines += [
        f"  {'*' if variant['chosen'] else ' '} {variant['features']}: log-likelihood "
        f"{variant['log_likelihood']:.1f}"
        for variant in chosen.get("variants", [])
    ]
    return lines


def _weights(training: dict[str, Any]) -> list[str]:
    """Draw the learnt weights of the kernels, view by view, as their groups are nested."""
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
