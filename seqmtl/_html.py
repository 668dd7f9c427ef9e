"""Pieces of HTML; external text is escaped by `text`."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from seqmtl._style import render
from seqmtl._surroundings import has_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MEDIA_TYPES = {"svg": "image/svg+xml", "png": "image/png"}


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

    `class_` stands for class.
    """
    attributes_text = "".join(
        f' {key.rstrip("_")}="{html.escape(str(value))}"' for key, value in attributes.items()
    )
    return Markup(f"<{name}{attributes_text}>{text(content)}</{name}>")


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
    caption_paragraph = element("p", caption, class_="caption")
    return join(
        [
            caption_paragraph,
            element("div", element("table", join(parts)), class_="scroll", tabindex=0),
        ]
    )


def details(summary: str, parts: Iterable[object]) -> Markup:
    """Return a section to unfold, or nothing if it is empty."""
    content = join(part for part in parts if part)
    return element("details", join([element("summary", summary), content])) if content else content


def picture(
    draw: Callable[[], Figure], alternative: str, caption: str, **attributes: object
) -> Markup:
    """Return the matplotlib figure that is drawn above its caption, as embedded SVG.

    Without matplotlib, nothing is drawn or returned.
    """
    if not has_matplotlib():
        return Markup()
    return embed(render(draw(), "svg"), "svg", alternative, caption, **attributes)


def embed(
    content: bytes, file_format: str, alternative: str, caption: str, **attributes: object
) -> Markup:
    """Return the content of an image file above its caption."""
    data = base64.b64encode(content).decode("ascii")
    source = f"data:{_MEDIA_TYPES[file_format]};base64,{data}"
    image = Markup(f'<img src="{source}" alt="{html.escape(alternative)}"/>')
    return element("figure", join([image, element("figcaption", caption)]), **attributes)
