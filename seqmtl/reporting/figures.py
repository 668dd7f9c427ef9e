"""Figures of the report: lengths of introns, rounds of self-training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from seqmtl._style import GREY, PALETTE, WIDTH, figure_style, line_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_BINS = 40  # of a histogram
_FEW_DECADES = 2.5  # in which 1, 2 and 5 of each have room


def draw_rounds(rounds: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the expected sites, and the lengths of introns, by round of self-training.

    Parameters
    ----------
    rounds : sequence of mapping
        ``training["unlabelled"][NAME]["rounds"]`` of a paired model.
    """
    from matplotlib.ticker import LogLocator, NullLocator

    lengths = {
        "99.5 % are shorter": "longest",
        "median predicted": "median",
        "shortest": "shortest",
    }
    panels: dict[str, dict[str, list[float]]] = {
        "Donors and acceptors": {
            "expected": [sum(round_["expected"]) for round_ in rounds],
            "p \N{GREATER-THAN OR EQUAL TO} 0.9": [sum(round_["n_p90"]) for round_ in rounds],
        },
        "Intron length (bases)": {
            name: [round_[key] for round_ in rounds] for name, key in lengths.items()
        },
    }
    with figure_style():
        figure = new_figure(WIDTH, 3.0)
        for axes, (title, lines) in zip(figure.subplots(1, 2), panels.items(), strict=True):
            for index, (name, values) in enumerate(lines.items()):
                axes.plot(values, marker="o", label=name, **line_style(index))
            axes.set(xlabel="Round of self-training", ylabel=title)
            axes.set_xticks(range(len(rounds)))
            axes.grid()
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=len(lines) - 1)
        figure.axes[0].set_ylim(0, 1.05 * max(panels["Donors and acceptors"]["expected"]))
        figure.axes[0].yaxis.set_major_formatter("{x:,.0f}")
        figure.axes[1].set_yscale("log")
        figure.axes[1].yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        figure.axes[1].yaxis.set_major_formatter("{x:,.0f}")
        figure.axes[1].yaxis.set_minor_locator(NullLocator())
    return figure


def draw_lengths(lengths: Sequence[int]) -> Figure:
    """Draw a histogram of the lengths of introns, in bases, on a logarithmic scale."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    low, high = np.log10(min(lengths)), np.log10(max(lengths) + 1)
    subs = (1.0, 2.0, 5.0) if high - low < _FEW_DECADES else (1.0,)
    median = float(np.median(lengths))
    with figure_style():
        figure = new_figure(WIDTH, 2.6)
        axes = figure.subplots()
        axes.hist(lengths, np.logspace(low, high, _BINS + 1).tolist(), color=PALETTE[0])
        axes.axvline(median, color=GREY, linewidth=1)
        axes.set(xscale="log", xlabel="Intron length (bases)", ylabel="Introns")
        axes.set_title(f"Median {median:,.0f} bases")
        axes.xaxis.set_major_locator(LogLocator(subs=subs))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_formatter("{x:,.0f}")
    return figure
