"""The folder that ``explain`` writes, organism by organism."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

from seqmtl._version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from seqmtl.explain import Poim
    from seqmtl.models.model import MultiTaskModel
    from seqmtl.sequences import Windows

SUMMARY, KIND = "summary.json", "seqmtl explain"

_DRAWN = 3  # windows per figure
_MEAN = " mean"  # over all organisms; cannot clash with a name


class Explanation:
    """The files written so far, and the rows of the tables shared by all organisms."""

    def __init__(self, model: MultiTaskModel, folder: Path, max_order: int, top: int) -> None:
        from seqmtl.files.names import safe_names

        self.model, self.folder, self.max_order, self.top = model, folder, max_order, top
        self.files: list[str] = []
        self._stem = safe_names([*model.tasks, _MEAN])
        self._importance: list[str] = []
        self._kmers: list[str] = []
        self._contributions: list[str] = []
        self._other: Poim | None = None  # the reference

    def importance(self, organism: str, background: list[float], reference: str | None) -> None:
        """Write the POIM and logo of an organism, and its difference from the reference."""
        from seqmtl.explain import (
            differential,
            draw_logo,
            draw_poim,
            listings,
            mean_kmers,
            mean_poim,
            poim,
        )

        options: Any = {"max_order": self.max_order, "background": background}
        found = poim(self.model, organism, **options)
        name = self._stem[organism]
        self._table(
            f"poim_{name}.tsv", listings.OLIGOMER_HEADER, listings.oligomer_lines(found, self.top)
        )
        self._importance += listings.importance_lines(found)
        for k in range(1, self.max_order + 1):
            self._kmers += listings.kmer_lines(organism, mean_kmers(found, k, self.top))
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
        import numpy as np

        from seqmtl.explain import contributions, draw_contributions, mutagenesis
        from seqmtl.explain.listings import contribution_lines

        scores = self.model.decision_function(windows, tasks=organism)
        best = np.argsort(-scores, kind="stable")[:n]
        windows, scores = windows[best], scores[best]
        parts = contributions(self.model, windows, organism)
        changes = mutagenesis(self.model, windows, organism)
        codes, names = windows.matrix(), windows.names
        self._contributions += contribution_lines(
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
        from seqmtl.explain import listings
        from seqmtl.files.atomic import write_json

        for name, header, lines in (
            ("position_importance.tsv", listings.IMPORTANCE_HEADER, self._importance),
            ("kmers.tsv", listings.KMER_HEADER, self._kmers),
            ("contributions.tsv", listings.CONTRIBUTION_HEADER, self._contributions),
        ):
            if lines:
                self._table(name, header, lines)
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

    def _table(self, name: str, header: str, lines: Iterable[str]) -> None:
        from seqmtl.files.atomic import write_lines

        write_lines(self.folder / name, chain([header], lines))
        self.files.append(name)

    def _figure(self, stem: str, figure: Figure) -> None:
        from seqmtl.evaluation.figures import save_figure

        for suffix in ("png", "svg"):
            save_figure(figure, self.folder / f"{stem}.{suffix}")
            self.files.append(f"{stem}.{suffix}")
