"""Render an HTML page of sections, with links to them."""

from __future__ import annotations

from collections.abc import Sequence

from seqmtl.report._html import Markup, element, join
from seqmtl.report._template import PAGE


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
    return PAGE.substitute(
        title=join([title]),
        summary=join([summary]),
        cards=cards,
        links=join(links),
        sections=join(body),
    )
