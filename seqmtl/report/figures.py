"""Figures of the report: tree and heat map, bars, convergence."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.evaluation.figures import (
    GREY,
    PALETTE,
    figure_style,
    line_look,
    new_figure,
    plain_text,
)
from seqmtl.report.contents import Convergence, TaskSimilarity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_similarity(similarity: TaskSimilarity) -> Figure:
    """Draw the tree, if there is one, beside the task kernel, leaves and rows on one line.

    Raises
    ------
    ValueError
        If the tree lacks one of the organisms.
    """
    names = list(similarity.names)
    matrix = np.asarray(similarity.matrix, dtype=np.float64)
    edges: list[tuple[float, float, float, float]] = []
    tips: dict[str, float] = {}
    if similarity.newick is not None:
        edges, tips = tree_layout(similarity.newick, names)
        order = [names.index(name) for name in tips]
        names, matrix = [names[i] for i in order], matrix[np.ix_(order, order)]
    n_tasks = len(names)
    map_side = min(max(0.5 * n_tasks, 2.0), 6.6)
    with figure_style():
        width = map_side + 2.4 + (3.2 if tips else 0.0)
        figure = new_figure(width, map_side + 1.2)
        if tips:
            tree_axes, axes = figure.subplots(1, 2, width_ratios=(2.8, map_side + 0.6))
            _draw_tree(tree_axes, edges, list(tips.values()))
        else:
            axes = figure.subplots()
        _draw_heat_map(figure, axes, matrix, names)
    return figure


def tree_layout(
    newick: str, names: Sequence[str]
) -> tuple[list[tuple[float, float, float, float]], dict[str, float]]:
    """Place the part of a tree that leads to `names`; leaf i, from the top, lies at height i.

    Parameters
    ----------
    newick : str
        Tree; where no branch has a length, all count 1.
    names : sequence of str
        Leaves to keep.

    Returns
    -------
    edges : list of (x0, y0, x1, y1)
        Segments, either horizontal (branches) or vertical (joints); x is the path length from
        the earliest joint drawn.
    tips : dict of str to float
        x of each leaf, from the top to the bottom.

    Raises
    ------
    ValueError
        If a name is not a leaf.
    """
    from Bio import Phylo

    tree: Any = Phylo.read(io.StringIO(newick), "newick")
    wanted = set(names)
    missing = wanted - {leaf.name for leaf in tree.get_terminals()}
    if missing:
        raise ValueError(
            f"newick must have every organism as a leaf, got none named {min(missing)!r}; add it"
        )
    has_lengths = any(clade.branch_length for clade in tree.find_clades())
    depths = tree.depths(unit_branch_lengths=not has_lengths)
    heights: dict[int, float] = {}
    edges: list[tuple[float, float, float, float]] = []
    tips: dict[str, float] = {}
    for clade in tree.find_clades(order="postorder"):
        if clade.is_terminal():
            if clade.name in wanted:
                heights[id(clade)] = float(len(tips))
                tips[clade.name] = float(depths[clade])
            continue
        children = [child for child in clade.clades if id(child) in heights]
        if not children:
            continue
        ys, x = [heights[id(child)] for child in children], float(depths[clade])
        heights[id(clade)] = (ys[0] + ys[-1]) / 2
        edges.append((x, ys[0], x, ys[-1]))
        edges += [(x, y, float(depths[child]), y) for child, y in zip(children, ys, strict=True)]
    top = min((edge[0] for edge in edges), default=min(tips.values()))
    shifted = [(x0 - top, y0, x1 - top, y1) for x0, y0, x1, y1 in edges]
    return shifted, {name: x - top for name, x in tips.items()}


def _draw_tree(
    axes: Axes, edges: list[tuple[float, float, float, float]], tips: list[float]
) -> None:
    """Draw the segments of a tree with dotted lines from the leaves to the rows on the right."""
    deepest = max(tips) or 1.0
    for x0, y0, x1, y1 in edges:
        axes.plot([x0, x1], [y0, y1], color="#333333", linewidth=1.4, solid_capstyle="round")
    for y, x in enumerate(tips):
        axes.plot([x, 1.04 * deepest], [y, y], color="#aaaaaa", linewidth=0.8, linestyle=":")
    axes.set(ylim=(len(tips) - 0.5, -0.5), xlim=(-0.02 * deepest, 1.04 * deepest), yticks=[])
    axes.set(xlabel="Path length from the common ancestor", title="Tree")
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=5)


def _draw_heat_map(
    figure: Figure, axes: Axes, matrix: NDArray[np.float64], names: list[str]
) -> None:
    """Draw the task kernel with names, and with numbers while they fit."""
    n_tasks, labels = len(names), [plain_text(name, 26) for name in names]
    low = min(0.0, float(matrix.min()))
    image = axes.imshow(matrix, cmap="Blues", vmin=low, aspect="auto")
    axes.set_yticks(range(n_tasks), labels)
    axes.set_xticks(range(n_tasks), labels, rotation=40, ha="right", rotation_mode="anchor")
    axes.tick_params(length=0, labelsize=9 if n_tasks <= 16 else 7)
    axes.set_title("Task similarity K")
    axes.spines[:].set_visible(False)
    if n_tasks <= 12:
        dark = low + 0.6 * (float(matrix.max()) - low)
        for row, column in np.ndindex(n_tasks, n_tasks):
            value = matrix[row, column]
            color = "white" if value > dark else "#222222"
            axes.text(
                column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=color
            )
    bar = figure.colorbar(image, ax=axes, fraction=0.05, pad=0.02)
    bar.outline.set_visible(False)


def draw_bars(methods: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> Figure:
    """Draw the AUPRC of every method and organism as bars with the bootstrap intervals."""
    n_methods = len(methods)
    width = 0.8 / n_methods
    with figure_style():
        figure = new_figure(min(max(1.5 + 0.38 * n_methods * len(names), 7.0), 11.0), 3.6)
        axes = figure.subplots()
        for m, (method, result) in enumerate(methods.items()):
            entries = [result["tasks"].get(name) or {} for name in names]
            values = np.array([entry.get("auprc") or np.nan for entry in entries], dtype=float)
            x = np.arange(len(names)) + (m - (n_methods - 1) / 2) * width
            axes.bar(x, values, 0.92 * width, label=plain_text(method), color=PALETTE[m % 7])
            bounds = [entry.get("auprc_interval") or (np.nan, np.nan) for entry in entries]
            low, high = np.array(bounds, dtype=float).T
            axes.vlines(x, low, high, color="#222222", linewidth=1.2)
        axes.set_xticks(range(len(names)), [plain_text(name, 26) for name in names])
        if len(names) > 8 or max(map(len, names)) > 16:
            axes.tick_params(axis="x", labelrotation=35)
            for label in axes.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")
        axes.set(ylim=(0, 1), ylabel="AUPRC", xlim=(-0.6, len(names) - 0.4))
        axes.grid(axis="y", color="#e5e5e5")
        axes.tick_params(axis="x", length=0)
        figure.legend(loc="outside upper left", ncols=n_methods, frameon=False)
    return figure


def draw_convergence(runs: Sequence[Convergence], tolerance: float | None) -> Figure:
    """Draw the relative duality gap of training runs against their work, on a log scale."""
    with figure_style():
        figure = new_figure(8.0, 3.6)
        axes = figure.subplots()
        for index, run in enumerate(runs):
            work = np.asarray(run.work, dtype=np.float64)
            gap = np.asarray(run.relative_gap, dtype=np.float64)
            shown = gap > 0
            axes.plot(
                work[shown],
                gap[shown],
                marker="o",
                markersize=3.5,
                linewidth=1.5,
                label=plain_text(run.label),
                **line_look(index),
            )
        if tolerance is not None:
            axes.axhline(tolerance, color=GREY, linewidth=1, linestyle="--", label="stops here")
        axes.set(yscale="log", xlabel="Work (passes over the training windows)")
        axes.set(ylabel="Relative duality gap", xlim=(0, None))
        axes.grid(color="#e5e5e5")
        figure.legend(loc="outside right upper", frameon=False)
    return figure
