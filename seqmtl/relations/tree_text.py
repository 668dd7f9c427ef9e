"""Weighted groups of tasks as text for the terminal."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Sequence

_BAR = 20
_WIDTH = 79


def draw_tree_text(
    labels: Sequence[str], members: Sequence[Iterable[str]], weights: Sequence[float]
) -> str:
    """Format the weight of every kernel, indented by the nesting of their groups.

    Parameters
    ----------
    labels : sequence of str
        Names of M kernels.
    members : sequence of iterable of str
        Tasks on which each kernel is nonzero.
    weights : sequence of float
        Non-negative weights theta_m of the kernels.

    Returns
    -------
    str
        One line per kernel with its weight as a number and a bar, followed by the tasks that
        are in no smaller group. Kernels with overlapping or equal groups, such as the scales
        of one distance, become a flat list. Lines end with a line break.

    Examples
    --------
    >>> print(draw_tree_text(["all", "apes"], [["man", "gorilla", "fly"], ["man", "gorilla"]],
    ...                      [0.2, 0.8]), end="")
    all     0.200  #####
      fly
      apes  0.800  ####################
        man, gorilla
    """
    groups = [tuple(dict.fromkeys(group)) for group in members]
    sets = [frozenset(group) for group in groups]
    if not all(a < b or b < a or not a & b for a, b in itertools.combinations(sets, 2)):
        return "".join(_lines_of(list(labels), weights))
    paths = [_path(m, sets) for m in range(len(sets))]
    order = sorted(range(len(sets)), key=paths.__getitem__)
    names = [f"{'  ' * (len(paths[m]) - 1)}{labels[m]}" for m in order]
    lines = []
    for m, head in zip(order, _lines_of(names, [weights[m] for m in order]), strict=True):
        below = frozenset().union(*(other for other in sets if other < sets[m]))
        members = ", ".join(name for name in groups[m] if name not in below)
        indent = "  " * len(paths[m])
        wrapped = textwrap.wrap(
            members,
            max(_WIDTH, len(indent) + 40),
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines += [head, *(f"{line}\n" for line in wrapped)]
    return "".join(lines)


def _path(m: int, groups: Sequence[frozenset[str]]) -> list[int]:
    """Return the groups around group m, the widest first, and itself."""
    around = [n for n, other in enumerate(groups) if groups[m] and groups[m] < other]
    return [*sorted(around, key=lambda n: -len(groups[n])), m]


def _lines_of(labels: Sequence[str], weights: Sequence[float]) -> list[str]:
    """Format labels, weights and bars in columns."""
    width = max(map(len, labels), default=0)
    largest = max(weights, default=0.0) or 1.0
    lines = []
    for label, weight in zip(labels, weights, strict=True):
        length = max(round(_BAR * weight / largest), 1) if weight else 0
        lines.append(f"{label:<{width}}  {weight:.3f}  {'#' * length}".rstrip() + "\n")
    return lines
