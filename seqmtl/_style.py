"""The one style of all pictures: colours, sizes, text; headless rendering; atomic files.

Pictures are at most `WIDTH` inches wide, so that their letters are still legible on a telephone,
where the page shows them about 380 pixels wide.
"""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from seqmtl.files.write import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Colours of lines and points. No two of them look alike to colour-blind readers: they differ by
#: 15 or more in CAM02-UCS as people without one of the three kinds of cones see them.
PALETTE = ("#0060A8", "#D55E00", "#2BAA6A", "#CC79A7", "#E8B800", "#7CC8F5", "#000000")
#: Colours of A, C, G, T, which differ by 17 or more.
LETTER_COLOURS = ("#009E60", "#08519C", "#F0A500", "#A61C1C")
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5)))
INK, GREY, FAINT, GRID, PALE = "#2b3440", "#6b7580", "#b4bcc5", "#e6e9ed", "#f3f5f7"
SHADE = "#f4ead0"  # of a site
#: Colour maps: from nothing to much, and from less to more.
SEQUENTIAL, DIVERGING = "Blues", "RdBu"
WIDTH = 5.6  # inches, of a whole picture
SMALL = 8.5  # points, of notes in a picture
FORMATS = ("png", "svg", "pdf")
_MAX_DRAWN, _EACH_END = 48, 14
_TITLE = 48  # letters in a line of a title

_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "text.usetex": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.edgecolor": GREY,
    "axes.axisbelow": True,
    "axes.facecolor": "white",
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "figure.autolayout": False,
    "figure.constrained_layout.use": False,
    "figure.facecolor": "white",
    "figure.titlesize": 11,
    "figure.titleweight": "bold",
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.fonttype": "path",
    "svg.hashsalt": "seqmtl",
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Apply the house style in a context; restore the user's settings afterwards.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            "figures need matplotlib, which is not installed; run: pip install matplotlib"
        ) from error
    with matplotlib.rc_context(_STYLE):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches on an Agg canvas; call it in `figure_style`.

    Axes are arranged around their labels.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def extremes(values: Sequence[float]) -> list[int]:
    """Return the indices of the values to draw, in order: all, or of many the extreme ones.

    More than 48 lines or bars cannot be told apart; of these the 14 lowest and highest are drawn.
    """
    if len(values) <= _MAX_DRAWN:
        return list(range(len(values)))
    order = np.argsort(np.asarray(values), kind="stable")
    return sorted({*order[:_EACH_END].tolist(), *order[-_EACH_END:].tolist()})


def write_title(figure: Figure, n_drawn: int, n_all: int, which: str) -> None:
    """Write above all panels which tasks are drawn, if not all are."""
    if n_drawn < n_all:
        figure.suptitle(title_text(f"{n_drawn} of {n_all} tasks: {which}"), x=0.01, ha="left")


def line_style(index: int) -> dict[str, Any]:
    """Return colour and dash pattern of line `index`; the first 28 are distinct."""
    dash = DASHES[(index // len(PALETTE)) % len(DASHES)]
    return {"color": PALETTE[index % len(PALETTE)], "linestyle": dash}


def point_style(index: int) -> dict[str, Any]:
    """Return colour and marker of points `index`; the first 49 are distinct."""
    marker = MARKERS[(index + index // len(PALETTE)) % len(MARKERS)]
    return {"color": PALETTE[index % len(PALETTE)], "marker": marker}


def plain_text(text: str, longest: int = 36) -> str:
    """Escape `text` so that matplotlib shows it literally, truncated at `longest`."""
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return text.replace("$", r"\$")


def title_text(text: str) -> str:
    """Return the text of a title as :func:`plain_text`, in two lines if it is long."""
    return plain_text("\n".join(textwrap.wrap(text, _TITLE)), 2 * _TITLE)


def render(figure: Figure, file_format: str) -> bytes:
    """Return the figure file as bytes; equal figures give equal bytes."""
    stream = io.BytesIO()
    dates = {"svg": "Date", "pdf": "CreationDate"}
    metadata = {dates[file_format]: None} if file_format in dates else {}
    with figure_style():
        layout = figure.get_layout_engine()
        if layout is not None:  # once for all formats, without the drawing that savefig would add
            layout.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(stream, format=file_format, dpi=240, metadata=metadata)
    return stream.getvalue()


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write the figure, atomically.

    Raises
    ------
    ValueError
        If the suffix is not .png, .svg or .pdf.
    SeqmtlError
        If the file cannot be written; nothing is left behind.
    """
    file_format = os.path.splitext(os.fspath(path))[1].lower()[1:]
    if file_format not in FORMATS:
        raise ValueError(
            f"path must end in .png, .svg or .pdf, got {os.fspath(path)!r}; "
            "the suffix sets the format"
        )
    content = render(figure, file_format)
    with atomic_write(path, "wb") as stream:
        stream.write(content)
