"""Show what a model has learned: POIMs, sequence logos, base contributions.

examples:
  seqmtl explain splice.seqmtl -o explained
  seqmtl explain splice.seqmtl --organism c_elegans --max-order 8 -o worm
  seqmtl explain splice.seqmtl windows.tsv.gz -o explained

Positions are relative to the first base of the site (position 0). Importances are in units of the
score. Files in DIR:
  logo_ORGANISM.png, .svg                  importance of single letters as a sequence logo
  poim_ORGANISM.png, .svg, .tsv            importance by order and position; top 100 oligomers
  position_importance.tsv                  the most important oligomer per order and position
  kmers.tsv                                k-mers up- and downstream of the site, with their mean
                                           importance over these positions
  contributions.tsv, contributions_*.png   with DATA: the contribution of every base in the top
                                           windows, and the effect of every substitution
  summary.json                             settings and list of files
The column beyond_letters is the part of an importance that single letters do not explain. It
reveals motifs among letters that are important by themselves; within each region and length,
kmers.tsv is sorted by it.

Letters that sites and decoys share, such as the AG of an acceptor, do not discriminate and thus
have no importance.

Of models without a site (features spectrum, gapped) the importance is the same everywhere:
top_kmers.tsv and kmers_ORGANISM.png have the k-mers of --max-order letters that raise or lower the
expected score most, and the number of windows of DATA with them; motifs_ORGANISM.png aligns those
above 0. Of features such as wd:5,spectrum:1-6 without a site, only the k-mers anywhere are in these
files. Positions in contributions.tsv count from the first base of the window.
"""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqmtl._version import __version__
from seqmtl.commands import _kinds, _options
from seqmtl.commands._request import Document, option, python_function, required
from seqmtl.exceptions import SeqmtlError, UsageError, errors_about

if TYPE_CHECKING:
    from pathlib import Path

    from seqmtl.linear_model.model import MultiTaskModel
    from seqmtl.sequences import Windows

logger = logging.getLogger("seqmtl")

_SUMMARY, _KIND = "summary.json", "seqmtl explain"


@dataclass(frozen=True, kw_only=True)
class Explain(_options.WindowInput):
    """Show what a model has learned: POIMs, sequence logos, base contributions."""

    model: str = _options.model_file()
    data: tuple[str, ...] = _options.window_data("windows to explain", is_required=False)
    output: str = required("-o", "folder to write", metavar="DIR", affects_output=False)
    organism: str = option("organisms to explain", metavar="NAME,...", default="all")
    max_order: int = option(
        "longest oligomers, up to 10", metavar="K", kind=_kinds.up_to(10), default=6
    )
    n_windows: int = option(
        "highest-scoring windows of DATA to explain per organism",
        default=10,
    )
    split: str = "test"

    def check(self) -> None:
        """Refuse options of windows that are not given."""
        if not self.data:
            self.refuse(("n_windows",), "is for windows; give DATA, or leave it out")

    def run(self) -> Document:
        """Write the folder.

        Returns
        -------
        dict
            Its summary.json.
        """
        from seqmtl.files.write import atomic_folder, write_json
        from seqmtl.loading import load_window_model

        started = time.perf_counter()
        _kinds.require_matplotlib("seqmtl explain")
        _check_folder(self)
        about = {"kind": _KIND, "seqmtl_version": __version__, "model": self.model}
        with atomic_folder(self.output, last=_SUMMARY) as folder:
            model = load_window_model(self.model)
            with errors_about(self.source_of(None).name or None):
                facts = _explain_organisms(model, self, folder)
            summary = {"schema_version": 2, **about, **facts}
            write_json(folder / _SUMMARY, summary)
        seconds = time.perf_counter() - started
        logger.info("%s: %d files, %.1f s", self.output, len(summary["files"]), seconds)
        return summary


def _check_folder(request: Explain) -> None:
    """Check that neither inputs nor files of other programs are overwritten.

    Raises
    ------
    SeqmtlError
        If they would be.
    """
    from seqmtl.explanation.folder import PREFIXES, TABLES
    from seqmtl.files.streams import read_json
    from seqmtl.files.write import check_outputs

    path = os.path.join(request.output, _SUMMARY)
    if os.path.exists(path):
        content = None
        with suppress(OSError, ValueError):
            content = read_json(path)
        if not isinstance(content, dict) or content.get("kind") != _KIND:
            raise SeqmtlError(
                f"{path} was not written by seqmtl explain and would be overwritten; choose "
                "another folder with -o"
            )
    if os.path.isdir(request.output):
        of_organisms = (name for name in os.listdir(request.output) if name.startswith(PREFIXES))
        names = (_SUMMARY, *TABLES, *of_organisms)
        outputs = [os.path.join(request.output, name) for name in names]
        check_outputs([request.model, *request.files], outputs)


def _explain_organisms(model: MultiTaskModel, request: Explain, folder: Path) -> Document:
    """Write the importances of oligomers and, with windows, of their bases."""
    from seqmtl.explanation.folder import ExplanationFolder

    work = ExplanationFolder(model, folder, request.max_order)
    organisms = _organisms(request.organism, model)
    windows = _windows(request, model, organisms)
    for number, organism in enumerate(organisms, 1):
        started = time.perf_counter()
        work.explain(organism, windows.get(organism), request.n_windows)
        seconds = time.perf_counter() - started
        logger.info("%s (%d of %d): %.1f s", organism, number, len(organisms), seconds)
    return {
        "organisms": {name: work.stems[name] for name in organisms},
        "window": model.length,
        "site": vars(model.site),
        "features": model.features.to_dict(model.length),
        "settings": {
            "max_order": request.max_order,
            "n_windows": request.n_windows,
        },
        "files": [*work.finish(), _SUMMARY],
    }


def _organisms(wanted: str, model: MultiTaskModel) -> list[str]:
    """Return organisms of the model by the names that were given, or all."""
    from seqmtl._names import match_names
    from seqmtl.linear_model.base import is_known

    if wanted == "all" and "all" not in model.tasks:
        return list(model.tasks)
    names = wanted.split(",")
    relatives = model.kernel.names[len(model.tasks) :]
    for name in names:
        if is_known(name, relatives) and not is_known(name, model.tasks):
            raise UsageError(
                f"organism {name!r} has no training data, but is a relative; explain shows "
                f"{', '.join(model.tasks)}, and seqmtl.explanation.poim in Python takes its name"
            )
    return [model.tasks[t] for t in match_names(names, model.tasks, "this model")]


def _windows(request: Explain, model: MultiTaskModel, organisms: list[str]) -> dict[str, Windows]:
    """Read the windows of the organisms that have any, and warn of those that have none.

    Raises
    ------
    SeqmtlError
        If there is input, and none has any.
    """
    from seqmtl._names import NameIndex, match_names
    from seqmtl.training.example_source import check_organism_named

    if not request.data:
        return {}
    windows = request.source_of(None).read_for(model, require_labels=False)
    is_unnamed = windows.task_names == ("task",) and "task" not in model.tasks
    if is_unnamed and len(organisms) == 1:
        windows = windows.with_tasks(organisms * len(windows))
    check_organism_named(windows, model.tasks)
    index = NameIndex(windows.task_names)
    clear = [name for name in organisms if len(index.find(name)) == 1]
    tasks = [match_names([name], windows.task_names, "the data")[0] for name in clear]
    by_organism = {n: windows[windows.task_ids == t] for n, t in zip(clear, tasks, strict=True)}
    by_organism = {name: rows for name, rows in by_organism.items() if len(rows)}
    missing = [name for name in organisms if name not in by_organism]
    if len(missing) == len(organisms):
        raise SeqmtlError(
            f"the data have no windows of {', '.join(missing)}, only of "
            f"{', '.join(windows.task_names) or 'none'}; check --organism"
        )
    if missing:
        logger.warning("no windows of %s in the data", ", ".join(missing))
    return by_organism


explain = python_function(Explain)
