"""The folder that ``explain`` writes, organism by organism."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqmtl._version import __version__
from seqmtl.evaluation.figures import save_figure
from seqmtl.explain import (
    Oligomer,
    Poim,
    contributions,
    differential,
    draw_contributions,
    draw_logo,
    draw_poim,
    mean_kmers,
    mean_poim,
    mutagenesis,
    poim,
)
from seqmtl.explain.poim import oligomer
from seqmtl.files.atomic import write_json, write_lines
from seqmtl.files.names import safe_names
from seqmtl.models.model import MultiTaskModel
from seqmtl.sequences import Windows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUMMARY, KIND = "summary.json", "seqmtl explain"

_OLIGOMERS = ("k", "position", "oligomer", "Q", "beyond_letters")
#: Tables of all organisms, with their columns.
_SHARED = {
    "position_importance.tsv": (
        "organism", "k", "position", "importance", "oligomer", "Q", "gain",
    ),
    "kmers.tsv": ("organism", "begin", "end", "k", "kmer", "weight", "beyond_letters"),
    "contributions.tsv": (
        "organism", "window", "score", "position", "letter", "contribution", "dA", "dC", "dG", "dT",
    ),
}  # fmt: skip
_DRAWN = 3  # windows per figure
_MEAN = " mean"  # over all organisms; cannot clash with a name

Row = tuple[Any, ...]


def write_summary(folder: Path, model: str, files: Iterable[str], facts: Any) -> dict[str, Any]:
    """Write the summary of a folder, and return it; `facts` are what is special about it."""
    summary = {
        "schema_version": 2,
        "kind": KIND,
        "seqmtl_version": __version__,
        "model": model,
        **facts,
        "files": [*sorted(files), SUMMARY],
    }
    write_json(folder / SUMMARY, summary)
    return summary


class Explanation:
    """The files written so far, and the rows of the tables shared by all organisms."""

    def __init__(self, model: MultiTaskModel, folder: Path, max_order: int, top: int) -> None:
        self.model, self.folder, self.max_order, self.top = model, folder, max_order, top
        self.files: list[str] = []
        self._stem = safe_names([*model.tasks, _MEAN])
        self._shared: dict[str, list[Row]] = {name: [head] for name, head in _SHARED.items()}
        self._other: Poim | None = None  # the reference

    def importance(self, organism: str, background: list[float], reference: str | None) -> None:
        """Write the POIM and logo of an organism, and its difference from the reference."""
        options: Any = {"max_order": self.max_order, "background": background}
        found = poim(self.model, organism, **options)
        name, orders = self._stem[organism], range(1, self.max_order + 1)
        best: Iterator[Oligomer] = (row for k in orders for row in found.top(k, self.top))
        self._table(f"poim_{name}.tsv", chain([_OLIGOMERS], best))
        self._shared["position_importance.tsv"] += _importance_rows(found)
        for k in orders:
            self._shared["kmers.tsv"] += (
                (organism, begin, end, k, *values)
                for begin, end, *values in mean_kmers(found, k, self.top)
            )
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
        windows, scores, site = windows[best], scores[best], self.model.site
        parts = contributions(self.model, windows, organism)
        changes = mutagenesis(self.model, windows, organism)
        codes, names = windows.matrix(), windows.names
        self._shared["contributions.tsv"] += (
            (
                organism,
                names[i],
                scores[i],
                j - site.offset,
                "ACGTN"[c],
                parts[i, j],
                *changes[i, j],
            )
            for (i, j), c in np.ndenumerate(codes)
        )
        shown = slice(min(_DRAWN, len(windows)))
        titles = [
            f"{organism}, window {name}: score {value:.2f}"
            for name, value in zip(names[shown], scores[shown], strict=True)
        ]
        figure = draw_contributions(codes[shown], parts[shown], changes[shown], titles, site)
        self._figure(f"contributions_{self._stem[organism]}", figure)

    def finish(self, path: str, organisms: list[str], settings: dict[str, Any]) -> dict[str, Any]:
        """Write the shared tables and the summary, and return it."""
        for name, rows in self._shared.items():
            if len(rows) > 1:
                self._table(name, rows)
        facts = {
            "organisms": {name: self._stem[name] for name in organisms},
            "window": self.model.length,
            "site": vars(self.model.site),
            "features": self.model.features.to_dict(self.model.length),
            "settings": settings,
        }
        return write_summary(self.folder, path, self.files, facts)

    def _table(self, name: str, rows: Iterable[Row]) -> None:
        """Write tab-separated lines, with six digits of each number that is not whole."""
        texts = (
            (f"{value:.6g}" if isinstance(value, float) else str(value) for value in row)
            for row in rows
        )
        write_lines(self.folder / name, ("\t".join(row) + "\n" for row in texts))
        self.files.append(name)

    def _figure(self, stem: str, figure: Figure) -> None:
        for suffix in ("png", "svg"):
            save_figure(figure, self.folder / f"{stem}.{suffix}")
            self.files.append(f"{stem}.{suffix}")


def _importance_rows(found: Poim) -> Iterator[Row]:
    """Yield the importance of every order and position, with the most important oligomer."""
    importance, gain, positions = found.importance(), found.gain(), found.positions
    for k, q in enumerate(found.Q, 1):
        for j, code in enumerate(np.abs(q).argmax(axis=1).tolist()):
            best = oligomer(code, k), q[j, code]
            yield (found.label, k, positions[j], importance[k - 1, j], *best, gain[k - 1, j])
