"""The page of a folder of results: one HTML file with tables and figures."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from seqmtl._html import fill
from seqmtl._surroundings import has_matplotlib
from seqmtl.files.write import write_lines
from seqmtl.relations.trees import read_tree
from seqmtl.reporting import folder_sections, signal_sections
from seqmtl.reporting.contents import FolderContents, Signal
from seqmtl.reporting.folder import read_folder
from seqmtl.reporting.signal_sections import Values
from seqmtl.reporting.summary_text import name_contents, summarise

logger = logging.getLogger("seqmtl")


class _Section(NamedTuple):
    """A section: its heading, the signal that it is about if there are several, and its HTML."""

    name: str
    group: str
    content: str
    is_small: bool

    @property
    def anchor(self) -> str:
        """Name of the section in addresses."""
        return f"{self.name} {self.group}".strip().lower().replace(" ", "-")


class _Kind(NamedTuple):
    """A kind of section: its heading, its template, and whether two fit side by side."""

    name: str
    template: str
    values: Callable[[Any], Values]
    is_small: bool = False


_FIRST = (
    _Kind("Introns", "introns", folder_sections.introns),
    _Kind("Paired donors and acceptors", "paired", folder_sections.paired),
    _Kind("Example region", "region", folder_sections.regions),
)
_OF_A_SIGNAL = (
    _Kind("Data", "data", signal_sections.data),
    _Kind("Similarity", "similarity", signal_sections.similarity, True),
    _Kind("Kernel weights", "kernel_weights", signal_sections.kernel_weights, True),
    _Kind("Hyperparameters", "hyperparameters", signal_sections.hyperparameters, True),
    _Kind("Accuracy", "accuracy", signal_sections.accuracy),
    _Kind("Calibration", "calibration", signal_sections.calibration, True),
    _Kind("Feature importance", "features", signal_sections.features),
    _Kind("Models", "models", signal_sections.models),
)
_LAST = (
    _Kind("Comparison of methods", "comparison", folder_sections.comparisons),
    _Kind("Genome scans", "scans", folder_sections.scans),
    _Kind("Paired models", "paired_models", folder_sections.paired_models),
)


def write_folder_report(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    tree: str | None = None,
    annotations: Mapping[str, str] | None = None,
    command: str = "",
) -> FolderContents:
    """Write the page of a folder as one self-contained HTML file.

    It shows what commands wrote: nothing is scored again.

    Parameters
    ----------
    folder : path-like
        Folder with datasets, models, evaluations and comparisons, see
        :func:`~seqmtl.reporting.folder.read_folder`.
    path : path-like
        The HTML file; written atomically. It links to the files in the folder.
    title : str, optional
        Heading. Default: signals and organisms.
    tree : str, optional
        Tree to draw beside the similarity, see :func:`~seqmtl.relations.read_tree`. Default:
        average linkage of the similarity.
    annotations : mapping of str to str, optional
        Annotations to compare with introns predicted without labels.
    command : str, optional
        Command line that requested the page.

    Raises
    ------
    SeqmtlError
        If the folder has nothing to show, or the page cannot be written.
    UnknownTaskError
        If the tree lacks an organism.

    Notes
    -----
    Without matplotlib there are no pictures, and the page says so.
    """
    contents = read_folder(folder, None if tree is None else read_tree(tree), annotations)
    write_page(contents, path, title=title, command=command)
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
    page_folder = os.path.dirname(os.path.abspath(path))

    def address(file: str) -> str:
        return quote(os.path.relpath(file, page_folder))

    def short(file: str) -> str:
        return os.path.relpath(file, contents.path)

    def section(kind: _Kind, source: FolderContents | Signal, group: str = "") -> _Section:
        values = kind.values(source)
        html = values and fill(
            f"report/{kind.template}.html", address=address, short=short, **values
        )
        return _Section(kind.name, group, html or "", kind.is_small)

    sections = [section(kind, contents) for kind in _FIRST]
    for signal in contents.signals.values():
        group = signal.text if len(contents.signals) > 1 else ""
        sections += [section(kind, signal, group) for kind in _OF_A_SIGNAL]
    sections += [section(kind, contents) for kind in _LAST]
    about = fill("report/about.html", **folder_sections.about(contents, command))
    sections.append(_Section("About this page", "", about, False))
    sections = [section for section in sections if section.content]
    groups: dict[str, list[_Section]] = {}
    for each in sections:
        groups.setdefault(each.group, []).append(each)
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
        if warning := introns.warning():
            logger.warning("%s", warning)
    for line in contents.skipped:
        logger.info("not shown: %s", line)
    logger.info("%s: open it in a browser", path)
