"""Write what a model has learnt of its organisms into a folder: tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqmtl._style import save_figure
from seqmtl.explanation.contributions import contributions, mutagenesis
from seqmtl.explanation.figures import (
    draw_contributions,
    draw_kmers,
    draw_logo,
    draw_motifs,
    draw_poim,
)
from seqmtl.explanation.kmers import align_kmers, top_kmers
from seqmtl.explanation.poim import Oligomer, Poim, mean_kmers, oligomer, poim
from seqmtl.files.names import safe_names
from seqmtl.files.write import write_lines
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences import Windows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Oligomers to list per order, and k-mers per region.
TOP = 100
#: Begins of the names of files of one organism.
PREFIXES = ("poim_", "logo_", "kmers_", "motifs_", "contributions_")
#: Tables of all organisms, with their columns.
TABLES = {
    "position_importance.tsv": ("organism", "k", "position", "importance", "oligomer", "Q", "gain"),
    "kmers.tsv": ("organism", "begin", "end", "k", "kmer", "weight", "beyond_letters"),
    "top_kmers.tsv": ("organism", "kmer", "other_strand", "weight", "windows"),
    "contributions.tsv": (
        "organism",
        "window",
        "score",
        "position",
        "letter",
        "contribution",
        "dA",
        "dC",
        "dG",
        "dT",
    ),
}
_DRAWN = 3  # windows per figure
_OLIGOMERS = ("k", "position", "oligomer", "Q", "beyond_letters")
Row = tuple[Any, ...]


class ExplanationFolder:
    """The files about organisms that were written so far, and the rows of their shared tables.

    Parameters
    ----------
    model : MultiTaskModel
        The model.
    folder : Path
        Where to write.
    max_order : int
        Length of the longest oligomers.

    Attributes
    ----------
    stems : dict of str to str
        How the files of every organism are called.

    Raises
    ------
    ValueError
        If the model does not know its site.
    """

    def __init__(self, model: MultiTaskModel, folder: Path, max_order: int) -> None:
        if not model.is_sliding:
            model.site.require_known()
        self.model, self.folder, self.max_order = model, folder, max_order
        self.files: list[str] = []
        self.stems = safe_names(model.tasks)
        self._shared: dict[str, list[Row]] = {name: [head] for name, head in TABLES.items()}

    def explain(self, organism: str, windows: Windows | None, n_windows: int) -> None:
        """Write the importance of oligomers, or of k-mers anywhere, and of bases of windows."""
        if self.model.is_sliding:
            self.kmers(organism, windows)
        else:
            self.importance(organism)
        if windows is not None:
            self.windows(organism, windows, n_windows)

    def importance(self, organism: str) -> None:
        """Write the POIM and logo of an organism."""
        order = self.max_order
        result = poim(self.model, organism, max_order=order)
        name, orders = self.stems[organism], range(1, order + 1)
        best: Iterator[Oligomer] = (row for k in orders for row in result.top(k, TOP))
        self._table(f"poim_{name}.tsv", chain([_OLIGOMERS], best))
        self._shared["position_importance.tsv"] += _importance_rows(result)
        for k in orders:
            self._shared["kmers.tsv"] += (
                (organism, begin, end, k, *values)
                for begin, end, *values in mean_kmers(result, k, TOP)
            )
        self._figure(f"poim_{name}", draw_poim(result))
        self._figure(f"logo_{name}", draw_logo(result))

    def kmers(self, organism: str, windows: Windows | None) -> None:
        """Write the k-mers with the largest and smallest weights, and draw the first of either."""
        rows = top_kmers(self.model, organism, TOP, windows, self.max_order)
        self._shared["top_kmers.tsv"] += (
            (organism, *row[:3], "." if row.n_windows is None else row.n_windows) for row in rows
        )
        figure = draw_kmers(rows, f"{organism}: k-mers by weight")
        self._figure(f"kmers_{self.stems[organism]}", figure)
        if motifs := align_kmers(rows):
            figure = draw_motifs(motifs, f"{organism}: k-mers of positive weight, aligned")
            self._figure(f"motifs_{self.stems[organism]}", figure)

    def windows(self, organism: str, windows: Windows, n: int) -> None:
        """Explain the n highest-scoring windows, and draw the first few."""
        scores = self.model.decision_function(windows, tasks=organism)
        best = np.argsort(-scores, kind="stable")[:n]
        windows, scores, site = windows[best], scores[best], self.model.site
        parts = contributions(self.model, windows, organism)
        changes = mutagenesis(self.model, windows, organism)
        codes, names = windows.matrix(), windows.names
        n_bases = np.where(codes < 4, np.arange(1, windows.length + 1), 0).max(axis=1, initial=0)
        for (i, j), code in np.ndenumerate(codes):
            if not site.length and j >= n_bases[i]:
                continue  # padding
            position = j - site.offset if site.length else j
            base = organism, names[i], scores[i], position, "ACGTN"[code]
            self._shared["contributions.tsv"].append((*base, parts[i, j], *changes[i, j]))
        drawn = slice(min(_DRAWN, len(windows)))
        titles = [
            f"{organism}, window {name}: score {value:.2f}"
            for name, value in zip(names[drawn], scores[drawn], strict=True)
        ]
        figure = draw_contributions(codes[drawn], parts[drawn], changes[drawn], titles, site)
        self._figure(f"contributions_{self.stems[organism]}", figure)

    def finish(self) -> list[str]:
        """Write the shared tables; return the names of all files."""
        for name, rows in self._shared.items():
            if len(rows) > 1:
                self._table(name, rows)
        return sorted(self.files)

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


def _importance_rows(result: Poim) -> Iterator[Row]:
    """Yield the importance of every order and position, with the most important oligomer."""
    importance, gain, positions = result.importance(), result.gain(), result.positions
    for k, q in enumerate(result.Q, 1):
        for j, code in enumerate(np.abs(q).argmax(axis=1).tolist()):
            best = oligomer(code, k), q[j, code]
            yield result.label, k, positions[j], importance[k - 1, j], *best, gain[k - 1, j]
