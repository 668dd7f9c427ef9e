"""The folder that ``explain`` writes, organism by organism."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqmtl._version import __version__
from seqmtl.evaluation.figures import save_figure
from seqmtl.explain import (
    Poim,
    contributions,
    differential,
    draw_contributions,
    draw_logo,
    draw_poim,
    listings,
    mean_poim,
    mutagenesis,
    poim,
)
from seqmtl.explain.listings import Row
from seqmtl.files.atomic import write_json, write_lines
from seqmtl.files.names import safe_names
from seqmtl.models.model import MultiTaskModel
from seqmtl.sequences import Windows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUMMARY, KIND = "summary.json", "seqmtl explain"

_DRAWN = 3  # windows per figure
_MEAN = " mean"  # over all organisms; cannot clash with a name


class Explanation:
    """The files written so far, and the rows of the tables shared by all organisms."""

    def __init__(self, model: MultiTaskModel, folder: Path, max_order: int, top: int) -> None:

        self.model, self.folder, self.max_order, self.top = model, folder, max_order, top
        self.files: list[str] = []
        self._stem = safe_names([*model.tasks, _MEAN])
        self._importance: list[Row] = []
        self._kmers: list[Row] = []
        self._contributions: list[Row] = []
        self._other: Poim | None = None  # the reference

    def importance(self, organism: str, background: list[float], reference: str | None) -> None:
        """Write the POIM and logo of an organism, and its difference from the reference."""
        options: Any = {"max_order": self.max_order, "background": background}
        found = poim(self.model, organism, **options)
        name = self._stem[organism]
        rows = listings.oligomer_rows(found, self.top)
        self._table(f"poim_{name}.tsv", listings.OLIGOMERS, rows)
        self._importance += listings.importance_rows(found)
        self._kmers += listings.kmer_rows(found, self.top)
        self._figure(f"poim_{name}", draw_poim(found))
        self._figure(f"logo_{name}", draw_logo(found))
        other = self._compared_with(organism, reference)
        if other is None:
            return
        if self._other is None or self._other.background != found.background:
            mean = other == _MEAN
            self._other = (
                mean_poim(self.model, **options) if mean else poim(self.model, other, **options)
            )
        difference = differential(found, self._other)
        self._figure(f"poim_difference_{name}_{self._stem[other]}", draw_poim(difference))

    def _compared_with(self, organism: str, reference: str | None) -> str | None:
        """Return the reference for an organism; with two organisms, the first uses the second."""
        tasks = self.model.tasks
        if reference is not None:
            return reference if reference != organism else None
        if len(tasks) > 2:
            return _MEAN
        return tasks[1] if len(tasks) == 2 and organism == tasks[0] else None

    def windows(self, organism: str, windows: Windows, n: int) -> None:
        """Explain the n highest-scoring windows, and draw the first few."""
        scores = self.model.decision_function(windows, tasks=organism)
        best = np.argsort(-scores, kind="stable")[:n]
        windows, scores = windows[best], scores[best]
        parts = contributions(self.model, windows, organism)
        changes = mutagenesis(self.model, windows, organism)
        codes, names = windows.matrix(), windows.names
        self._contributions += listings.contribution_rows(
            organism, names, scores, codes, parts, changes,
            np.arange(windows.length) - self.model.site.offset,
        )  # fmt: skip
        shown = slice(min(_DRAWN, len(windows)))
        titles = [
            f"{organism}, window {name}: score {value:.2f}"
            for name, value in zip(names[shown], scores[shown], strict=True)
        ]
        figure = draw_contributions(
            codes[shown], parts[shown], changes[shown], titles, self.model.site
        )
        self._figure(f"contributions_{self._stem[organism]}", figure)

    def finish(self, path: str, organisms: list[str], settings: dict[str, Any]) -> dict[str, Any]:
        """Write the shared tables and the summary, and return it."""
        for name, header, rows in (
            ("position_importance.tsv", listings.IMPORTANCE, self._importance),
            ("kmers.tsv", listings.KMERS, self._kmers),
            ("contributions.tsv", listings.CONTRIBUTIONS, self._contributions),
        ):
            if rows:
                self._table(name, header, rows)
        summary = {
            "schema_version": 2,
            "kind": KIND,
            "seqmtl_version": __version__,
            "model": path,
            "organisms": {name: self._stem[name] for name in organisms},
            "window": self.model.length,
            "site": vars(self.model.site),
            "features": self.model.features.to_dict(self.model.length),
            "settings": settings,
            "files": [*sorted(self.files), SUMMARY],
        }
        write_json(self.folder / SUMMARY, summary)
        return summary

    def _table(self, name: str, header: Row, rows: Iterable[Row]) -> None:

        write_lines(self.folder / name, listings.table_lines(chain([header], rows)))
        self.files.append(name)

    def _figure(self, stem: str, figure: Figure) -> None:

        for suffix in ("png", "svg"):
            save_figure(figure, self.folder / f"{stem}.{suffix}")
            self.files.append(f"{stem}.{suffix}")
