"""HTML from the templates of the package, in which texts are escaped."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqmtl._style import render
from seqmtl._surroundings import has_matplotlib

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.figure import Figure

_MEDIA_TYPES = {"svg": "image/svg+xml", "png": "image/png"}


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def fill(template: str, **values: Any) -> str:
    """Return a template with its values as HTML, which other templates do not escape."""
    from markupsafe import Markup

    return Markup(_environment().get_template(template).render(values))


def embedded(draw: Callable[[], Figure]) -> str:
    """Return a figure as the address of an embedded SVG image; nothing without matplotlib."""
    return data_url(render(draw(), "svg"), "svg") if has_matplotlib() else ""


def data_url(content: bytes, file_format: str) -> str:
    """Return the content of an image file as an address."""
    return f"data:{_MEDIA_TYPES[file_format]};base64,{base64.b64encode(content).decode('ascii')}"
