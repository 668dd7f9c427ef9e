"""The page of a folder of results: one HTML file with tables and figures."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from seqmtl._surroundings import has_matplotlib
from seqmtl.files.write import write_lines
from seqmtl.reporting import folder_sections, signal_sections
from seqmtl.reporting.contents import FolderContents
from seqmtl.reporting.folder import read_folder
from seqmtl.reporting.html import fill
from seqmtl.reporting.signal_sections import Values
from seqmtl.reporting.summary_text import name_contents, summarise

logger = logging.getLogger("seqmtl")


#: A kind of section: its heading, its template, and what fills that.
_Kind = tuple[str, str, Callable[[Any], Values]]

_FIRST = (
    ("Introns", "introns", folder_sections.introns),
    ("Paired donors and acceptors", "paired", folder_sections.paired),
)
_OF_A_SIGNAL = (
    ("Data", "data", signal_sections.data),
    ("Accuracy", "accuracy", signal_sections.accuracy),
    ("Feature importance", "features", signal_sections.features),
)


def write_folder_report(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    annotations: Mapping[str, str] | None = None,
    command: str = "",
) -> FolderContents:
    """Write the page of a folder as one self-contained HTML file.

    It shows what commands wrote: nothing is scored again.

    Parameters
    ----------
    folder : path-like
        Folder with datasets, models and evaluations, see
        :func:`~seqmtl.reporting.folder.read_folder`.
    path : path-like
        The HTML file; written atomically. It links to the files in the folder.
    annotations : mapping of str to str, optional
        Annotations to compare with introns predicted without labels.
    command : str, optional
        Command line that requested the page.

    Raises
    ------
    SeqmtlError
        If the folder has nothing to show, or the page cannot be written.

    Notes
    -----
    Without matplotlib there are no pictures, and the page says so.
    """
    contents = read_folder(folder, annotations)
    write_page(contents, path, command=command)
    return contents


def write_page(
    contents: FolderContents,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    command: str = "",
) -> None:
    """Write the page of results, and log what is on it; see :func:`write_folder_report`."""
    if not has_matplotlib():
        contents.skipped.append("pictures, which need matplotlib; run: pip install matplotlib")
    sections = [*_sections(contents, os.path.dirname(os.path.abspath(path)), command)]
    groups: dict[str, list[Values]] = {}
    for section in sections:
        groups.setdefault(section["group"], []).append(section)
    page = fill(
        "report.html",
        title=title or name_contents(contents),
        summary=summarise(contents),
        sections=sections,
        groups=groups,
    )
    write_lines(path, [page])
    for introns in contents.introns.values():
        logger.info("%s", introns.sentence())
    for line in contents.skipped:
        logger.info("not shown: %s", line)
    logger.info("%s: open it in a browser", path)


def _sections(contents: FolderContents, folder: str, command: str) -> Iterator[Values]:
    """Yield the sections that have values; addresses are relative to the folder of the page."""

    def address(file: str) -> str:
        return quote(os.path.relpath(file, folder))

    def short(file: str) -> str:
        return os.path.relpath(file, contents.path)

    kinds: list[tuple[_Kind, Any, str]] = [(kind, contents, "") for kind in _FIRST]
    for signal in contents.signals.values():
        group = signal.text if len(contents.signals) > 1 else ""
        kinds += [(kind, signal, group) for kind in _OF_A_SIGNAL]
    for (name, template, values_of), source, group in kinds:
        if values := values_of(source):
            html = fill(f"report/{template}.html", address=address, short=short, **values)
            yield _section(name, html, group)
    yield _section(
        "About this page", fill("report/about.html", **folder_sections.about(contents, command))
    )


def _section(name: str, html: str, group: str = "") -> Values:
    """Return a section; `group` is the signal that it is about, if there are several."""
    anchor = f"{name} {group}".strip().lower().replace(" ", "-")
    return {"name": name, "group": group, "anchor": anchor, "content": html}
