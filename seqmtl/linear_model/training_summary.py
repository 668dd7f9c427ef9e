"""The training summary of a model as text, line by line.

Of more than 30 tasks or kernels, the first and the last ten are listed, sorted by their
value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_MAX_LINES, _EACH_END = 30, 10


def tasks_text(tasks: Sequence[str], training: dict[str, Any]) -> list[str]:
    """Count the windows of every task."""
    counts = training["tasks"]
    width = max(len(name) for name in tasks)

    def line(name: str) -> str:
        n, positive = counts[name]["n"], ""
        if "n_positive" in counts[name]:
            what = "predicted, without labels" if _is_called(training, name) else "positive"
            positive = f", {counts[name]['n_positive']:,} {what}"
        return f"  {name:<{width}}  {n:>9,} windows{positive}"

    many = f": {len(tasks)}, by number of windows" if len(tasks) > _MAX_LINES else ""
    return [f"tasks{many}", *_few(tasks, lambda name: counts[name]["n"], line)]


def _is_called(training: Mapping[str, Any], name: str) -> bool:
    """Return whether a task was learnt from calls of a model, not from labels."""
    return bool(training.get("adapted", {}).get(name, {}).get("calls"))


def calibration_text(
    training: dict[str, Any], offsets: Mapping[str, Mapping[str, float]]
) -> list[str]:
    """Describe the calibration of a model, with the thresholds that reach given recalls.

    `offsets` holds what is added to the scores of each consensus, by task.
    """
    calibrated = training.get("calibration", {})

    def text(name: str) -> str:
        task = calibrated[name]
        is_called = _is_called(training, name)
        sites = "predictions, no labels" if is_called else "true sites"
        head = (
            f"  {name}: {task['method']}, {task['n_positive']:,} {sites}, a share of "
            f"{task['prevalence']:.2g} of all candidates"
        )
        recall, precision = ("of calls", "called") if is_called else ("recall", "precision")
        rows = [
            f"    score {row['score']:8.4f}  probability {row['probability']:<8.4g}  {recall} "
            f"{row['recall']:.2f}  {precision} {row['precision']:.3f}"
            for row in task["thresholds"]
        ]
        if name in offsets:
            added = ", ".join(f"{word} {value:+.4f}" for word, value in offsets[name].items())
            head += f"\n    added to scores: {added}"
        return "\n".join([head, *rows])

    lines = _few([*calibrated], lambda name: calibrated[name]["prevalence"], text)
    return ["calibrated on held-out windows", *lines] if calibrated else []


def _few(
    names: Sequence[Any], value: Callable[[Any], float], line: Callable[[Any], str]
) -> list[str]:
    """Return the lines of all, or of many the first and the last when sorted by value."""
    if len(names) <= _MAX_LINES:
        return [line(name) for name in names]
    names = sorted(names, key=value)
    between = f"  ... {len(names) - 2 * _EACH_END} between these; --json lists all"
    first, last = names[:_EACH_END], names[-_EACH_END:]
    return [*map(line, first), between, *map(line, last)]


def chosen_text(training: dict[str, Any]) -> list[str]:
    """Describe what was chosen on held-out labels, and with which evidence."""
    chosen = training.get("selection")
    if chosen is None:
        return []
    lines = ["hyperparameters, selected on held-out labels"]
    parts = [f"{part:.0%} {name}" for name, part in chosen.get("relations", {}).items()]
    if len(parts) > 1:
        lines.append(f"  relation: {', '.join(parts)}")
    width = max(len(name) for name in chosen["tasks"])
    first = next(iter(chosen["tasks"].values()))
    trusts = first.get("weights", {})
    if len(trusts) > 1:
        heads = " ".join(f"{trust:>5}" for trust in trusts)
        lines.append(f"  {'':<{width}}  trust      C   evidence of trust {heads}")

    def line(name: str) -> str:
        task = chosen["tasks"][name]
        if len(trusts) <= 1:
            return f"  {name:<{width}}  C {task['C']:.2g}"
        weights = " ".join(f"{weight:5.2f}" for weight in task["weights"].values())
        head = f"  {name:<{width}}  {task['trust']:5.2f}  {task['C']:5.2g}                     "
        return head + weights + ("  (too few labels of its own)" if task["by_prior"] else "")

    lines += _few([*chosen["tasks"]], lambda name: chosen["tasks"][name].get("trust", 0.0), line)
    lines += [
        f"  {'*' if one['chosen'] else ' '} {one['features']}: log-likelihood "
        f"{one['log_likelihood']:.1f}"
        for one in chosen.get("features", [])
    ]
    return lines


def learnt_text(training: dict[str, Any]) -> list[str]:
    """List the learnt kernel weights view by view."""
    learnt = training.get("mkl", [])
    lines = []
    for view in dict.fromkeys(kernel["view"] for kernel in learnt):
        kernels = [kernel for kernel in learnt if kernel["view"] == view]
        lines.append(f"kernel weights of {view}")
        lines += _few(kernels, lambda kernel: kernel["weight"], _weight)
    return lines


def _weight(kernel: dict[str, Any]) -> str:
    return f"  {kernel['weight']:.4f}  {kernel['label']}, {len(kernel['tasks'])} tasks"


def adapted_text(training: dict[str, Any]) -> list[str]:
    """Describe who the relatives of adapted organisms are, and how much each counts."""
    adapted = training.get("adapted", {})
    lines = ["adapted from relatives, with few labels or predictions"] if adapted else []
    for name, entry in adapted.items():
        weights = sorted(entry["relatives"].items(), key=lambda item: -item[1])
        relatives = ", ".join(f"{weight:.2f} {other}" for other, weight in weights)
        trust = ", ".join(f"{x}: {weight:.2f}" for x, weight in entry["trust"].items())
        calls = ", adapted to predictions of the model" if _is_called(training, name) else ""
        lines += [
            f"  {name}: placed by {entry['source']}{calls}",
            f"    weights of the relatives {relatives}; evidence of trust {trust}",
        ]
    return lines
