"""Pieces of HTML, and the template of the page; external text is escaped by `text`."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence
from string import Template
from typing import TYPE_CHECKING, Any

from seqmtl.evaluation.figures import render
from seqmtl.evaluation.tables import Column, cells

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
    """Return one element with escaped attribute values; `class_` stands for class."""
    shown = "".join(
        f' {key.rstrip("_")}="{html.escape(str(value))}"' for key, value in attributes.items()
    )
    return Markup(f"<{name}{shown}>{text(content)}</{name}>")


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
        element("caption", caption),
        element("thead", element("tr", headings)),
        element("tbody", join(body)),
    ]
    return element("div", element("table", join(parts)), class_="scroll")


def column_table(
    columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], caption: str
) -> Markup:
    """Return a table of columns, without those that are empty in all rows."""
    shown = [column for column in columns if any(column.cell(row) for row in rows)]
    return table([column.head for column in shown], cells(shown, rows), caption)


def embed(content: bytes, file_format: str, alternative: str, caption: str) -> Markup:
    """Return a figure with the image embedded in the page."""
    data = base64.b64encode(content).decode("ascii")
    source = f"data:{_MEDIA_TYPES[file_format]};base64,{data}"
    image = Markup(f'<img src="{source}" alt="{html.escape(alternative)}">')
    return element("figure", join([image, element("figcaption", caption)]))


def picture(figure: Figure, alternative: str, caption: str) -> Markup:
    """Return a matplotlib figure as embedded SVG."""
    return embed(render(figure, "svg"), "svg", alternative, caption)


def number(value: float | None, digits: int = 3) -> str:
    """Format a number that may be missing."""
    return "n/a" if value is None else f"{value:.{digits}f}"


def render_sections(
    title: str, summary: object, cards: Markup, sections: Sequence[tuple[str, Markup]]
) -> str:
    """Return a complete page as text, omitting sections without content.

    Parameters
    ----------
    title : str
        Heading of the page.
    summary : str or Markup
        First paragraph.
    cards : Markup
        Large numbers below the summary.
    sections : sequence of (str, Markup)
        Headings and contents.
    """
    shown = [(heading, content) for heading, content in sections if content]
    anchors = [heading.lower().replace(" ", "-") for heading, _ in shown]
    links = [
        element("a", heading, href=f"#{anchor}")
        for anchor, (heading, _) in zip(anchors, shown, strict=True)
    ]
    body = [
        element("section", join([element("h2", heading), content]), id=anchor)
        for anchor, (heading, content) in zip(anchors, shown, strict=True)
    ]
    return _PAGE.substitute(
        title=join([title]),
        summary=join([summary]),
        cards=cards,
        links=join(links),
        sections=join(body),
    )


_PAGE = Template(
    """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>$title</title>
<style>
:root { color-scheme: light; --ink: #1c2430; --soft: #5b6675; --line: #dfe4ea; --main: #0072b2; }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body { margin: 0; background: #f5f7f9; color: var(--ink);
 font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
header, main { max-width: 1140px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 26px; }
h1 { font-size: 27px; line-height: 1.25; margin: 0 0 8px; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 0 0 12px; }
header p { max-width: 104ch; margin: 0 0 16px; color: #333d4b; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: 4px 20px; padding: 10px 0; margin-top: 18px;
 border-top: 1px solid var(--line); }
nav a { color: var(--main); text-decoration: none; }
nav a:hover { text-decoration: underline; }
.cards { display: flex; flex-wrap: wrap; gap: 12px; }
.card { flex: 1 1 150px; padding: 12px 16px; background: #fff; border: 1px solid var(--line);
 border-radius: 8px; }
.card.main { border: 2px solid var(--main); padding: 11px 15px; }
.card .number { display: block; font-size: 25px; font-weight: 650; line-height: 1.2;
 font-variant-numeric: tabular-nums; }
.card.main .number { color: var(--main); }
.card .label { color: var(--soft); font-size: 13px; overflow-wrap: anywhere; }
section { background: #fff; border: 1px solid var(--line); border-radius: 8px;
 padding: 18px 22px 20px; margin: 0 0 18px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px;
 min-width: 60%; }
caption { text-align: left; color: var(--soft); padding: 0 0 8px; font-size: 13.5px; }
th, td { padding: 5px 14px; text-align: right; white-space: nowrap; vertical-align: top; }
th { font-weight: 600; }
thead th { border-bottom: 1px solid #b9c2cd; color: #333d4b; vertical-align: bottom; }
thead tr:first-child th:first-child, tbody th { text-align: left; }
tbody th { font-weight: 500; white-space: normal; overflow-wrap: anywhere; min-width: 9em; }
tbody tr:nth-child(even):not(.total) { background: #f7f9fb; }
.wrap { display: inline-block; white-space: normal; max-width: 34ch; }
b { color: var(--main); }
tbody tr.total { border-top: 1px solid #b9c2cd; background: #fff; }
tbody tr.total th { font-weight: 600; }
figure { margin: 0 0 18px; }
section > figure:last-child { margin-bottom: 0; }
.scroll + figure, .scroll + .scroll, .scroll + pre { margin-top: 22px; }
figure img { display: block; max-width: 100%; height: auto; margin: 0 auto; }
figcaption { color: var(--soft); font-size: 13.5px; margin-top: 6px; max-width: 120ch; }
pre { background: #f2f5f8; border: 1px solid var(--line); border-radius: 6px; padding: 10px 14px;
 overflow-x: auto; font-size: 13.5px; margin: 0 0 16px; }
.columns { display: flex; flex-wrap: wrap; gap: 16px 40px; align-items: flex-start; }
.columns table { min-width: 240px; }
.columns caption { font-weight: 600; color: var(--ink); }
.columns tbody th { min-width: 0; }
@media print { body { background: #fff; } nav { display: none; } section { break-inside: avoid; } }
</style>
</head>
<body>
<header>
<h1>$title</h1>
<p>$summary</p>
<div class="cards">
$cards
</div>
<nav>
$links
</nav>
</header>
<main>
$sections
</main>
</body>
</html>
"""
)
