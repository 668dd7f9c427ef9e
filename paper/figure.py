"""Draw the figure of the paper from benchmarks/results: python paper/figure.py [OUT.png]."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
COLOURS = {"individual": "#0072B2", "union": "#E69F00", "tree": "#009E73", "default": "#000000"}


def read(name: str) -> list[dict[str, Any]]:
    """Return the rows of a recorded result."""
    rows: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["rows"]
    return rows


def main() -> None:
    """Draw both panels."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3), layout="constrained")
    few, above = read("few_labels"), 2.0
    sizes = sorted({row["labels"] for row in few})
    final = {row["method"]: row["mean"] for row in few if row["labels"] == sizes[-1]}
    for method in sorted(COLOURS, key=lambda name: -final[name]):
        rows = [row for row in few if row["method"] == method]
        means, spread = ([row[key] for row in rows] for key in ("mean", "deviation"))
        left.errorbar(sizes, means, spread, color=COLOURS[method], marker="o", ms=3)
        above = min(final[method], above - 0.014)  # names do not overlap
        left.annotate(
            method,
            (sizes[-1], above),
            (5, 0),
            textcoords="offset points",
            va="center",
            color=COLOURS[method],
        )
    left.set(
        xscale="log", xlabel="labelled windows of each organism", ylabel="mean AUPRC (windows)"
    )
    left.set_xticks(sizes, [f"{n:,}" for n in sizes])
    left.minorticks_off()
    left.set_xlim(right=sizes[-1] * 4)
    rows = [row for row in read("genomes") if row["organism"] != "mean"]
    for place, row in enumerate(reversed(rows)):
        right.plot([row["alone"], row["paired"]], [place, place], color="#bbbbbb", zorder=1)
        right.scatter(row["alone"], place, color=COLOURS["individual"], s=16, zorder=2)
        right.scatter(row["paired"], place, color=COLOURS["default"], s=16, zorder=2)
    names = [f"{row['organism'].replace('_', '. ').capitalize()}, {row['signal']}s" for row in rows]
    right.set(
        yticks=range(len(rows)), yticklabels=names[::-1], xlim=(0, 1), xlabel="AUPRC (genome)"
    )
    first = rows[0]
    for way in ("alone", "paired"):
        right.annotate(
            way, (first[way], len(rows) - 1), (0, 6), textcoords="offset points", ha="center"
        )
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "figure.png", dpi=200)


if __name__ == "__main__":
    main()
