"""Small pieces of HTML; external text is escaped by `text`."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence

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
    """Return one element with escaped attribute values; `class_` stands for class."""
    shown = "".join(
        f' {key.rstrip("_")}="{html.escape(str(value))}"' for key, value in attributes.items()
    )
    return Markup(f"<{name}{shown}>{text(content)}</{name}>")


def table(
    heads: Sequence[Sequence[object]],
    rows: Sequence[Sequence[object]],
    caption: str,
    *,
    has_total: bool = False,
) -> Markup:
    """Return a table whose first column contains row headings.

    Parameters
    ----------
    heads : sequence of sequence
        Header lines; a cell may be Markup of a complete ``<th>``.
    rows : sequence of sequence
        Cells; the first in a row is its heading.
    caption : str
        Sentence above the table.
    has_total : bool, default False
        Whether the last row is a total of the others.
    """
    head = [join(_head_cell(cell) for cell in line) for line in heads]
    body = [
        join([element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])], "")
        for row in rows
    ]
    lines = [element("tr", line) for line in body]
    if has_total:
        lines[-1] = element("tr", body[-1], class_="total")
    parts = [
        element("caption", caption),
        element("thead", join(element("tr", line) for line in head)),
        element("tbody", join(lines)),
    ]
    return element("div", element("table", join(parts)), class_="scroll")


def _head_cell(cell: object) -> Markup:
    """Wrap a heading, unless it is already a complete cell."""
    if isinstance(cell, Markup) and cell.startswith("<th"):
        return cell
    return element("th", cell, scope="col")


def embed(content: bytes, file_format: str, alternative: str, caption: str) -> Markup:
    """Return a figure with the image embedded in the page."""
    data = base64.b64encode(content).decode("ascii")
    source = f"data:{_MEDIA_TYPES[file_format]};base64,{data}"
    image = Markup(f'<img src="{source}" alt="{html.escape(alternative)}">')
    return element("figure", join([image, element("figcaption", caption)]))
