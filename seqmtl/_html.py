"""Pieces of HTML and SVG; external text is escaped by `text`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from seqmtl._style import GREY, INK

_FONT = "system-ui, sans-serif"


class Markup(str):
    """A string that is already HTML."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Return `value` as HTML: escaped, unless it is Markup."""
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def join(parts: Iterable[object], separator: str = "\n") -> Markup:
    """Join pieces, escaping each unless it is Markup."""
    return Markup(separator.join(text(part) for part in parts))


def element(name: str, content: object, **attributes: object) -> Markup:
    """Return one element with escaped attribute values.

    `class_` stands for class, and `text_anchor` for text-anchor. Numbers have two digits.
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(_brief(value))}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{shown}>{text(content)}</{name}>")


def _brief(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def table(
    head: Sequence[object],
    rows: Sequence[Sequence[object]],
    caption: str,
    *,
    has_total: bool = False,
) -> Markup:
    """Return a table, or nothing if it has no rows.

    Parameters
    ----------
    head : sequence
        Headings of the columns.
    rows : sequence of sequence
        Cells; the first in a row is its heading.
    caption : str
        Sentence above the table.
    has_total : bool, default False
        Whether the last row is a total of the others.
    """
    if not rows:
        return Markup()
    lines = [
        join([element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])], "")
        for row in rows
    ]
    body = [element("tr", line) for line in lines]
    if has_total:
        body[-1] = element("tr", lines[-1], class_="total")
    headings = join(element("th", cell, scope="col") for cell in head)
    parts = [
        element("thead", element("tr", headings)),
        element("tbody", join(body)),
    ]
    told = element("p", caption, class_="caption")
    return join([told, element("div", element("table", join(parts)), class_="scroll", tabindex=0)])


def svg(width: float, height: float, parts: Iterable[object], label: str) -> Markup:
    """Return a picture of elements, as wide as `width` in CSS pixels, or narrower if need be.

    Parameters
    ----------
    width, height : float
        Size in CSS pixels, which are also the units of the elements.
    parts : iterable
        Elements.
    label : str
        What is to be seen, in words.
    """
    return element(
        "svg", join(parts, ""), xmlns="http://www.w3.org/2000/svg", role="img", aria_label=label,
        viewBox=f"0 0 {width:.0f} {height:.0f}", width=f"{width:.0f}", font_family=_FONT,
        font_size=11, fill=INK, style="max-width: 100%; height: auto",
    )  # fmt: skip


def line(x0: float, y0: float, x1: float, y1: float, colour: str = GREY, **look: object) -> Markup:
    """Return a line of SVG."""
    return element("line", "", x1=x0, y1=y0, x2=x1, y2=y1, stroke=colour, **look)


def box(x: float, y: float, width: float, height: float, colour: str, **look: object) -> Markup:
    """Return a filled rectangle of SVG."""
    return element("rect", "", x=x, y=y, width=width, height=height, fill=colour, **look)


def words(x: float, y: float, content: object, **look: object) -> Markup:
    """Return a text of SVG, which begins at (x, y) unless `text_anchor` says otherwise."""
    return element("text", content, x=x, y=y, **look)
