"""The folder that ``explain`` writes, organism by organism, or the sites of a model of pairs."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqmtl._names import NameIndex, match_names
from seqmtl._style import save_figure
from seqmtl._version import __version__
from seqmtl.commands._genome_sites import genomes_with_sites, read_as_of_model
from seqmtl.exceptions import SeqmtlError, UsageError
from seqmtl.explanation import (
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
from seqmtl.explanation.poim import UNIFORM, check_background, oligomer
from seqmtl.files.names import safe_names
from seqmtl.files.streams import read_json
from seqmtl.files.write import atomic_folder, check_outputs, write_json, write_lines
from seqmtl.io import load_genome, read_sites
from seqmtl.linear_model.base import is_known
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.loading import load_site_model
from seqmtl.sequences import Windows
from seqmtl.splicing import PairedFinder
from seqmtl.splicing.contributions import explain_site
from seqmtl.splicing.model import PairedModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

logger = logging.getLogger("seqmtl")

SUMMARY, KIND = "summary.json", "seqmtl explain"

_OLIGOMERS = ("k", "position", "oligomer", "Q", "beyond_letters")
#: Tables of all organisms, with their columns.
_SHARED = {
    "position_importance.tsv": ("organism", "k", "position", "importance", "oligomer", "Q", "gain"),
    "kmers.tsv": ("organism", "begin", "end", "k", "kmer", "weight", "beyond_letters"),
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
_MEAN = " mean"  # over all organisms; cannot clash with a name
_SITES = "sites.tsv"
_PREFIXES = ("poim_", "logo_", "contributions_")  # of files of one organism
_NUMBERS = (
    "alone",
    "paired",
    "partner_alone",
    "site",
    "partner",
    "length",
    "upstream",
    "downstream",
    "rivals",
)
Row = tuple[Any, ...]

_COLUMNS = ("organism", "contig", "start", "end", "strand", "signal", *_NUMBERS, "introns")


def write_folder(request: Any) -> dict[str, Any]:
    """Write the folder; return its summary.

    Raises
    ------
    SeqmtlError
        If another program wrote the summary that is there.
    """
    path = os.path.join(request.output, SUMMARY)
    if os.path.exists(path):
        content = None
        with suppress(OSError, ValueError):
            content = read_json(path)
        if not isinstance(content, dict) or content.get("kind") != KIND:
            raise SeqmtlError(
                f"{path} was not written by seqmtl explain and would be overwritten; choose "
                "another folder with -o"
            )
    if os.path.isdir(request.output):
        of_organisms = (name for name in os.listdir(request.output) if name.startswith(_PREFIXES))
        names = (SUMMARY, _SITES, *_SHARED, *of_organisms)
        outputs = [os.path.join(request.output, name) for name in names]
        check_outputs([request.model, *request.files], outputs)
    with atomic_folder(request.output, last=SUMMARY) as folder:
        model = load_site_model(request.model)
        if isinstance(model, PairedModel):
            return _write_pairs(model, request, folder)
        return _write_organisms(model, request, folder)


def _summary(folder: Path, path: str, files: list[str], **more: Any) -> dict[str, Any]:
    """Write the summary of a model of this path; return it."""
    about = {"schema_version": 2, "kind": KIND, "seqmtl_version": __version__, "model": path}
    summary = {**about, **more, "files": files}
    write_json(folder / SUMMARY, summary)
    return summary


def _write_organisms(model: MultiTaskModel, request: Any, folder: Path) -> dict[str, Any]:
    if model.can_scan:
        model.site.require_known()
    organisms = _organisms(request.organism, model)
    reference = _organisms(request.reference, model)[0] if request.reference else None
    windows = _windows(request, model, organisms)
    backgrounds = _backgrounds(request.background, organisms, windows)
    work = Explanation(model, folder, request.max_order, request.top)
    for number, organism in enumerate(organisms, 1):
        begun = time.perf_counter()
        work.importance(organism, backgrounds[organism], reference)
        if organism in windows:
            work.windows(organism, windows[organism], request.n_windows)
        seconds = time.perf_counter() - begun
        logger.info("%s (%d of %d): %.1f s", organism, number, len(organisms), seconds)
    settings = {
        "max_order": request.max_order,
        "top": request.top,
        "n_windows": request.n_windows,
        "reference": reference,
        "background": backgrounds,
    }
    return work.finish(request.model, organisms, settings)


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
        result = poim(self.model, organism, **options)
        name, orders = self._stem[organism], range(1, self.max_order + 1)
        best: Iterator[Oligomer] = (row for k in orders for row in result.top(k, self.top))
        self._table(f"poim_{name}.tsv", chain([_OLIGOMERS], best))
        self._shared["position_importance.tsv"] += _importance_rows(result)
        for k in orders:
            self._shared["kmers.tsv"] += (
                (organism, begin, end, k, *values)
                for begin, end, *values in mean_kmers(result, k, self.top)
            )
        self._figure(f"poim_{name}", draw_poim(result))
        self._figure(f"logo_{name}", draw_logo(result))
        other = self._compared_with(organism, reference)
        if other is None:
            return
        if self._other is None or self._other.background != result.background:
            mean = other == _MEAN
            self._other = (
                mean_poim(self.model, **options) if mean else poim(self.model, other, **options)
            )
        difference = differential(result, self._other)
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
        for (i, j), code in np.ndenumerate(codes):
            base = organism, names[i], scores[i], j - site.offset, "ACGTN"[code]
            self._shared["contributions.tsv"].append((*base, parts[i, j], *changes[i, j]))
        drawn = slice(min(_DRAWN, len(windows)))
        titles = [
            f"{organism}, window {name}: score {value:.2f}"
            for name, value in zip(names[drawn], scores[drawn], strict=True)
        ]
        figure = draw_contributions(codes[drawn], parts[drawn], changes[drawn], titles, site)
        self._figure(f"contributions_{self._stem[organism]}", figure)

    def finish(self, path: str, organisms: list[str], settings: dict[str, Any]) -> dict[str, Any]:
        """Write the shared tables and the summary, and return it."""
        for name, rows in self._shared.items():
            if len(rows) > 1:
                self._table(name, rows)
        return _summary(
            self.folder,
            path,
            [*sorted(self.files), SUMMARY],
            organisms={name: self._stem[name] for name in organisms},
            window=self.model.length,
            site=vars(self.model.site),
            features=self.model.features.to_dict(self.model.length),
            settings=settings,
        )

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
    importance, gain, positions = (
        result.importance(),
        result.gain(),
        result.positions,
    )
    for k, q in enumerate(result.Q, 1):
        for j, code in enumerate(np.abs(q).argmax(axis=1).tolist()):
            best = oligomer(code, k), q[j, code]
            yield (
                result.label,
                k,
                positions[j],
                importance[k - 1, j],
                *best,
                gain[k - 1, j],
            )


def _organisms(wanted: str, model: MultiTaskModel) -> list[str]:
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


def _windows(request: Any, model: MultiTaskModel, organisms: list[str]) -> dict[str, Windows]:
    """Read the windows of each requested organism; empty if no input is given."""
    if not (request.data or request.genome or request.sites):
        return {}
    windows = read_as_of_model(model, request, None, require_labels=False)
    if windows.task_names == ("task",) and "task" not in model.tasks:
        if len(organisms) > 1:
            raise SeqmtlError(
                "the windows do not name their organism; give one of "
                f"{', '.join(model.tasks)} with --organism"
            )
        windows = windows.with_tasks(organisms * len(windows))
    index = NameIndex(windows.task_names)
    clear = [name for name in organisms if len(index.find(name)) == 1]
    tasks = [match_names([name], windows.task_names, "the data")[0] for name in clear]
    by_organism = {n: windows[windows.task_ids == t] for n, t in zip(clear, tasks, strict=True)}
    by_organism = {name: rows for name, rows in by_organism.items() if len(rows)}
    missing = [name for name in organisms if name not in by_organism]
    if len(missing) == len(organisms):
        raise SeqmtlError(
            f"the data have no windows of {', '.join(missing)}, only of "
            f"{', '.join(windows.task_names) or 'none'}; check --organism and --split"
        )
    if missing:
        logger.warning("no windows of %s in the data", ", ".join(missing))
    return by_organism


def _backgrounds(
    text: str, organisms: list[str], windows: dict[str, Windows]
) -> dict[str, list[float]]:
    """Return the probabilities of A, C, G and T for every organism."""
    if text == "data":
        missing = [name for name in organisms if name not in windows]
        if missing:
            raise SeqmtlError(
                f"--background data needs windows of {', '.join(missing)}; give DATA with them"
            )
        matrices = {name: codes.matrix().ravel() for name, codes in windows.items()}
        counts = {name: np.bincount(codes, minlength=5)[:4] for name, codes in matrices.items()}
        return {name: (codes / max(codes.sum(), 1)).tolist() for name, codes in counts.items()}
    letters: Any = UNIFORM
    if text != "uniform":
        try:
            letters = [float(part) for part in text.split(",")]
        except ValueError:
            raise SeqmtlError(
                "--background must be uniform, data, or four probabilities such as "
                f"0.3,0.2,0.2,0.3, got {text!r}"
            ) from None
    return dict.fromkeys(organisms, check_background(letters).tolist())


def _write_pairs(model: PairedModel, request: Any, folder: Path) -> dict[str, Any]:
    """Write the contributions to the probabilities of sites."""
    if request.data or not (request.genome and request.sites):
        raise UsageError(
            "a model of seqmtl pair explains sites of a genome; give --genome and --sites, and no "
            "DATA"
        )
    rows = [_COLUMNS, *_rows(model, request)]
    write_lines(folder / _SITES, ["\t".join(row) + "\n" for row in rows])
    return _summary(folder, request.model, [_SITES, SUMMARY], n_sites=len(rows) - 1)


def _rows(model: PairedModel, request: Any) -> Iterator[tuple[str, ...]]:
    """Yield the lines of the table, in the order of the files."""
    for organism, fasta, path in genomes_with_sites(request):
        finder = PairedFinder(model, organism)
        shares = [site_model.prevalence(organism) for site_model in (model.donor, model.acceptor)]
        length = finder.finders[0].scanner.site_length
        genome = load_genome(fasta, padding=length)
        sites = read_sites(path, genome, window=length, organism=organism, require_labels=False)
        numbers = genome.contigs.contig_of(sites.starts)
        starts = (sites.starts - genome.starts[numbers]).tolist()
        for number, start, is_reverse in zip(
            numbers.tolist(), starts, sites.is_reverse.tolist(), strict=True
        ):
            contig, strand = genome.names[number], "-" if is_reverse else "+"
            explanation = explain_site(
                finder, genome.contig(contig), start, is_reverse, (shares[0], shares[1])
            )
            if explanation is None:
                raise SeqmtlError(
                    f"{path}: {contig}:{start}-{start + length}({strand}) is no candidate of "
                    f"{model.donor.site.letters} or {model.acceptor.site.letters} with a window on "
                    "the contig; give the two bases of a donor or an acceptor, with its strand"
                )
            yield (
                organism,
                contig,
                str(start),
                str(start + length),
                strand,
                explanation.signal,
                *(_number(getattr(explanation, name)) for name in _NUMBERS),
                ",".join(f"{a}-{b}:{p:.4f}" for a, b, p in explanation.introns) or ".",
            )


def _number(value: Any) -> str:
    return "." if value != value else f"{value:.3f}"
