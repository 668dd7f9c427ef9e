"""Lines of ``seqmtl info`` about choices made in training, for people to read."""

from __future__ import annotations

from typing import Any

from seqmtl.similarity.tree_text import draw_tree_text


def chosen_text(training: dict[str, Any]) -> list[str]:
    """Describe what was chosen on held-out labels, and with which evidence."""
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


def learnt_text(training: dict[str, Any]) -> list[str]:
    """Draw the learnt kernel weights view by view, nested as their groups are."""
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


def adapted_text(training: dict[str, Any]) -> list[str]:
    """Describe who the relatives of adapted organisms are, and how much each counts."""
    adapted = training.get("adapted", {})
    lines = ["learnt from relatives and few labels"] if adapted else []
    for name, entry in adapted.items():
        weights = sorted(entry["relatives"].items(), key=lambda item: -item[1])
        shown = ", ".join(f"{weight:.2f} {other}" for other, weight in weights)
        trust = ", ".join(f"{x}: {weight:.2f}" for x, weight in entry["trust"].items())
        lines += [
            f"  {name}: placed by {entry['source']}",
            f"    weights of the relatives {shown}; evidence of trust {trust}",
        ]
    return lines
