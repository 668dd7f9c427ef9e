"""Pictures, tables and sections of the page, whose template is page.html."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from seqmtl._html import Markup, element, join, table
from seqmtl._style import render
from seqmtl.evaluation.tables import Column, cells
from seqmtl.files.streams import read_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PAGE = Path(__file__).with_name("page.html")
_MEDIA_TYPES = {"svg": "image/svg+xml", "png": "image/png"}


def column_table(
    columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], caption: str
) -> Markup:
    """Return a table of columns, without those that are empty in all rows."""
    shown = [column for column in columns if any(column.cell(row) for row in rows)]
    return table([column.head for column in shown], cells(shown, rows), caption)


def details(summary: str, parts: Iterable[object]) -> Markup:
    """Return what is shown on demand, or nothing if it is empty."""
    content = join(part for part in parts if part)
    return element("details", join([element("summary", summary), content])) if content else content


def embed(content: bytes, file_format: str, alternative: str, caption: str) -> Markup:
    """Return a figure with the image embedded in the page."""
    data = base64.b64encode(content).decode("ascii")
    source = f"data:{_MEDIA_TYPES[file_format]};base64,{data}"
    image = Markup(f'<img src="{source}" alt="{html.escape(alternative)}">')
    return drawing(image, caption)


def drawing(image: Markup, caption: str, **attributes: object) -> Markup:
    """Return a picture above its caption."""
    return element("figure", join([image, element("figcaption", caption)]), **attributes)


def picture(figure: Figure, alternative: str, caption: str) -> Markup:
    """Return a matplotlib figure as embedded SVG."""
    return embed(render(figure, "svg"), "svg", alternative, caption)


def number(value: float | None, digits: int = 3) -> str:
    """Format a number that may be missing."""
    return "n/a" if value is None else f"{value:.{digits}f}"


def render_sections(
    title: str, summary: object, advice: object, sections: Sequence[tuple[str, Markup]]
) -> str:
    """Return a complete page as text, omitting sections without content.

    Parameters
    ----------
    title : str
        Heading of the page.
    summary : str or Markup
        First paragraph.
    advice : str or Markup
        Second paragraph: what to do next.
    sections : sequence of (str, Markup)
        Headings and contents.
    """
    shown = [(heading, content) for heading, content in sections if content]
    anchors = [heading.lower().replace(" ", "-") for heading, _ in shown]
    groups: dict[str, list[Markup]] = {}
    for anchor, (heading, _) in zip(anchors, shown, strict=True):
        name, _, group = heading.partition(": ")
        groups.setdefault(group, []).append(element("a", name, href=f"#{anchor}"))
    links = [
        element("div", join([*([f"{group}:"] if group else []), *own]))
        for group, own in groups.items()
    ]
    body = [
        element("section", join([element("h2", heading), content]), id=anchor)
        for anchor, (heading, content) in zip(anchors, shown, strict=True)
    ]
    return Template(read_text(_PAGE, "HTML")).substitute(
        title=join([title]), summary=join([summary]), advice=join([advice]), links=join(links),
        sections=join(body),
    )  # fmt: skip
