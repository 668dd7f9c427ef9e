"""Formulas as MathML, which browsers show without a script: ``$x$`` and ``$$x$$`` in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from latex2mathml.converter import convert

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx


def _write(translator: Any, node: nodes.Element, display: str) -> None:
    from docutils.nodes import SkipNode

    translator.body.append(convert(node.astext(), display=display))
    raise SkipNode


def _inline(translator: Any, node: nodes.Element) -> None:
    _write(translator, node, "inline")


def _block(translator: Any, node: nodes.Element) -> None:
    _write(translator, node, "block")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
