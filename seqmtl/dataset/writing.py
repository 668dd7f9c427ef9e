"""Build a dataset and write it as a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl._version import __version__
from seqmtl.dataset.build import Part, build_parts
from seqmtl.dataset.config import SPLITS, Config
from seqmtl.dataset.duplicates import find_duplicates, measure_leakage
from seqmtl.dataset.homologues import IN_TEST, has_homologue
from seqmtl.dataset.true_sites import LeftOut, count_reasons
from seqmtl.exceptions import SeqmtlError
from seqmtl.files.atomic import UNFINISHED, atomic_folder, write_json, write_lines
from seqmtl.io.dataset import (
    HEADER,
    KIND,
    MASK,
    MEMBERS,
    REGIONS_HEADER,
    SITES_HEADER,
    SUMMARY,
    WINDOWS,
    is_dataset,
)

_ROWS = 65_536


def write_dataset(
    config: Config,
    directory: str | os.PathLike[str],
    *,
    command: str = "",
    force: bool = False,
) -> dict[str, Any]:
    """Build a dataset and write it to a folder.

    =================  ==========================================================================
    ``windows.tsv``    one window per line: BED6, then organism, label, split and weight
    ``regions.tsv``    the regions of each split: contig, start, end, split, organism; and those
                       that are masked, with the split "mask"
    ``sites.tsv``      every annotated site: BED6, organism, 1, or 0 if it is left out
    ``left_out.tsv``   items that were left out, and why
    ``summary.json``   counts, leakage, genomes, and the settings
    =================  ==========================================================================

    The folder is written atomically, see :func:`seqmtl.files.atomic.atomic_folder`.

    Parameters
    ----------
    config : Config
        Result of :func:`seqmtl.dataset.read_config`.
    directory : path
        Created if it does not exist.
    command : str
        Command line, for the summary.
    force : bool
        Whether to replace files of the same names in a folder that is not a dataset.

    Returns
    -------
    dict
        The summary.

    Raises
    ------
    SeqmtlError
        If the folder contains other files, or cannot be written.
    """
    target = Path(directory)
    check_folder(target, force=force)
    parts = list(build_parts(config))
    _remove_leaks(parts, config)
    with atomic_folder(target, last=SUMMARY, first=WINDOWS) as scratch:
        tables = (
            _windows(parts, config),
            _regions(parts),
            _sites(parts, config),
            _left_out([row for part in parts for row in part.left_out]),
        )
        for name, lines in zip(MEMBERS, tables, strict=False):
            write_lines(scratch / name, lines)
        summary = _summary(parts, config, command)
        write_json(scratch / SUMMARY, _placed(summary, scratch))
        summary = _placed({**summary, "leakage": measure_leakage(scratch)}, target)
        write_json(scratch / SUMMARY, summary)
    return summary


def check_folder(target: Path, *, force: bool) -> None:
    """Check that a folder is empty or an earlier dataset.

    Raises
    ------
    SeqmtlError
        If it contains other files, or cannot be created.
    """
    if target.exists() and not target.is_dir():
        raise SeqmtlError(f"cannot write {target}: it is a file; choose a folder")
    if not target.exists():
        parent = next(folder for folder in target.absolute().parents if folder.exists())
        if not os.access(parent, os.W_OK):
            raise SeqmtlError(f"cannot write {target}: the folder {parent} is not writable")
        return
    if not os.access(target, os.W_OK):
        raise SeqmtlError(f"cannot write {target}: the folder is not writable")
    others = [entry for entry in target.iterdir() if not entry.name.startswith(UNFINISHED)]
    if others and not force and not is_dataset(target):
        raise SeqmtlError(
            f"{target} must be empty or an earlier dataset, but it holds other files; "
            "choose another folder, or --force to write beside them"
        )


def _remove_leaks(parts: Sequence[Part], config: Config) -> None:
    """Remove windows whose sequence leaks between splits or labels, over all organisms."""
    prints, labels, splits = (
        np.concatenate([part.windows[name] for part in parts])
        for name in ("prints", "labels", "splits")
    )
    duplicates = find_duplicates(prints, labels, splits)
    if not config.split.homologues:
        removed = np.concatenate([*duplicates.values()])
        duplicates[IN_TEST] = _with_homologues(parts, labels, splits, removed)
    begin = 0
    for part in parts:
        is_unique = np.ones(len(part.windows), dtype=bool)
        for reason, rows in duplicates.items():
            mine = rows[(rows >= begin) & (rows < begin + is_unique.size)] - begin
            is_unique[mine] = False
            part.left_out += _leaks_left_out(part, mine, reason, config)
        begin += is_unique.size
        part.windows = part.windows.take(is_unique)


def _with_homologues(
    parts: Sequence[Part],
    labels: NDArray[np.int8],
    splits: NDArray[np.int8],
    removed: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the rows of true sites of train with a homologue in valid or test."""
    rows = np.flatnonzero(labels > 0)
    sequences = np.concatenate([part.sequences for part in parts if part.sequences is not None])
    kinds = np.repeat(np.arange(len(parts)), [len(part.windows) for part in parts])[rows]
    is_train = splits[rows] == 0
    is_later = ~is_train & ~np.isin(rows, removed)
    related = has_homologue(
        sequences[is_train], kinds[is_train], sequences[is_later], kinds[is_later]
    )
    return rows[is_train][related]


def _leaks_left_out(
    part: Part, rows: NDArray[np.int64], reason: str, config: Config
) -> Iterator[LeftOut]:
    """Yield one line per true site, and one for all decoys."""
    length, source = config.site.length, config.organisms[part.organism].source
    annotated = [site for site in part.windows["annotated"][rows] if site is not None]
    for site in annotated:
        yield LeftOut.of_site(site, length, reason, part.organism, source)
    if len(annotated) < rows.size:
        n_decoys, path = rows.size - len(annotated), str(part.genome["path"])
        yield LeftOut.of_many(n_decoys, reason, part.organism, path)


def _named(names: Sequence[str], numbers: NDArray[Any]) -> list[str]:
    return [names[number] for number in numbers.tolist()]


def _lines(*columns: Sequence[Any]) -> Iterator[str]:
    for row in zip(*columns, strict=True):
        yield "\t".join(map(str, row)) + "\n"


def _windows(parts: Sequence[Part], config: Config) -> Iterator[str]:
    """Yield the lines of windows.tsv."""
    yield f"{HEADER}\n"
    for part in parts:
        weights = part.weights()
        for first in range(0, len(part.windows), _ROWS):
            rows = slice(first, first + _ROWS)
            windows = part.windows.take(rows)
            labels, consensus = windows["labels"].tolist(), _named(part.names, windows["consensus"])
            kinds = [config.signal if label > 0 else "decoy" for label in labels]
            contig = part.contigs.contig_of(windows.starts)
            starts = windows.starts - part.contigs.starts[contig]
            yield from _lines(
                _named(part.contigs.names, contig),
                starts.tolist(),
                (starts + config.window).tolist(),
                [f"{kind}:{sequence}" for kind, sequence in zip(kinds, consensus, strict=True)],
                [1000 if label > 0 else 0 for label in labels],
                _named("+-", windows.is_reverse),
                [part.organism] * len(labels),
                labels,
                _named(SPLITS, windows["splits"]),
                [f"{weight:.7g}" for weight in weights[rows].tolist()],
            )


def _regions(parts: Sequence[Part]) -> Iterator[str]:
    """Yield the lines of regions.tsv."""
    yield f"{REGIONS_HEADER}\n"
    for part in parts:
        regions = part.regions
        contig = part.contigs.contig_of(regions.starts)
        begins = part.contigs.starts[contig]
        yield from _lines(
            _named(part.contigs.names, contig),
            (regions.starts - begins).tolist(),
            (regions.ends - begins).tolist(),
            _named(SPLITS, regions.splits),
            [part.organism] * contig.size,
        )
        contig = part.contigs.contig_of(part.masked[:, 0])
        bounds = part.masked - part.contigs.starts[contig][:, np.newaxis]
        names, n = _named(part.contigs.names, contig), contig.size
        yield from _lines(names, *bounds.T.tolist(), [MASK] * n, [part.organism] * n)


def _sites(parts: Sequence[Part], config: Config) -> Iterator[str]:
    """Yield the lines of sites.tsv."""
    yield f"{SITES_HEADER}\n"
    site = config.site
    for part in parts:
        true, all_sites = part.windows.take(part.windows["labels"] > 0), part.all_sites
        behind = np.where(true.is_reverse, config.window - site.length - site.offset, site.offset)
        contig = part.contigs.contig_of(all_sites.starts)
        starts = all_sites.starts - part.contigs.starts[contig]
        is_true = np.isin(
            2 * all_sites.starts + all_sites.is_reverse,
            2 * (true.starts + behind) + true.is_reverse,
        )
        yield from _lines(
            _named(part.contigs.names, contig),
            starts.tolist(),
            (starts + site.length).tolist(),
            [config.signal] * contig.size,
            [0] * contig.size,
            _named("+-", all_sites.is_reverse),
            [part.organism] * contig.size,
            is_true.astype(int).tolist(),
        )


def _left_out(rows: Sequence[LeftOut]) -> Iterator[str]:
    """Yield the lines of left_out.tsv."""
    yield "organism\tcontig\tstart\tend\tstrand\tname\treason\tcount\tsource\n"
    yield from _lines(*zip(*rows, strict=True))


def _placed(summary: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the summary with the folder, and the genomes' paths relative to it."""
    genomes = {
        name: {**facts, "path": os.path.relpath(os.path.realpath(facts["path"]), folder.resolve())}
        for name, facts in summary["genomes"].items()
    }
    return {**summary, "folder": str(folder.resolve()), "genomes": genomes}


def _summary(parts: Sequence[Part], config: Config, command: str) -> dict[str, Any]:
    """Collect counts and settings."""
    return {
        "schema_version": 2,
        "kind": KIND,
        "seqmtl_version": __version__,
        "command": command,
        "signal": config.signal,
        "window": config.window,
        "shift": config.shift,
        "site": vars(config.site),
        "genomes": {part.organism: part.genome for part in parts},
        "organisms": {part.organism: _facts(part) for part in parts},
        "leakage": {},
        "left_out": count_reasons([row for part in parts for row in part.left_out]),
        "config": json.loads(json.dumps(asdict(config))),
    }


def _facts(part: Part) -> dict[str, Any]:
    """Return the counts of an organism."""
    is_site = part.windows["labels"] > 0
    splits = {}
    for number, name in enumerate(SPLITS):
        mine = part.windows["splits"] == number
        splits[name] = {
            "sites": int((mine & is_site).sum()),
            "decoys": int((mine & ~is_site).sum()),
        }
    return {
        "sites": int(is_site.sum()),
        "decoys": int((~is_site).sum()),
        "splits": splits,
        "split_by": part.regions.by,
        "candidates": int(part.decoys.population.sum()),
        "decoys_from_other_strata": part.decoys.n_moved,
        "decoys_lacking": part.decoys.n_lacking,
        "left_out": count_reasons(part.left_out),
    }
