"""Build a dataset and write it as a folder."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seqmtl.datasets.build import OrganismDataset, build_datasets
from seqmtl.datasets.config import Config
from seqmtl.datasets.duplicates import find_duplicates, measure_leakage
from seqmtl.datasets.homologues import HOMOLOGUE_IN_TEST, has_homologue
from seqmtl.datasets.true_sites import count_reasons, excluded_site
from seqmtl.io.dataset import (
    EXCLUDED,
    REGIONS,
    SITES,
    SPLITS,
    WINDOWS,
    Exclusion,
    Row,
    check_folder,
    region_rows,
    site_rows,
    window_rows,
    write_folder,
)

logger = logging.getLogger(__name__)

_MIN_SHARE_LEFT = 0.5  # of the true sites of a split


def write_dataset(
    config: Config,
    directory: str | os.PathLike[str],
    *,
    command: str = "",
) -> dict[str, Any]:
    """Build a dataset and write it to a folder.

    =================  ==========================================================================
    ``windows.tsv``    one window per line: BED6, then organism, label, split and weight
    ``regions.tsv``    the regions of each split: contig, start, end, split, organism; and those
                       that are masked, with the split "mask"
    ``sites.tsv``      every annotated site: BED6, organism, 1, or 0 if it is excluded
    ``excluded.tsv``   excluded items, and why
    ``summary.json``   counts, leakage, genomes, and the settings
    =================  ==========================================================================

    The folder is written atomically, see :func:`seqmtl.files.write.atomic_folder`.

    Parameters
    ----------
    config : Config
        Result of :func:`seqmtl.datasets.read_config`.
    directory : path
        Created if it does not exist.
    command : str
        Command line, for the summary.

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
    check_folder(target)
    datasets = list(build_datasets(config))
    _remove_leaks(datasets, config)
    leakage = measure_leakage(
        {dataset.organism: dataset.windows for dataset in datasets},
        {dataset.organism: dataset.sequences for dataset in datasets},
    )
    tables = {
        WINDOWS: _windows(datasets, config),
        REGIONS: _regions(datasets),
        SITES: _sites(datasets, config),
        EXCLUDED: (row for dataset in datasets for row in dataset.exclusions),
    }
    return write_folder(target, tables, _summary(datasets, config, command, leakage))


def _remove_leaks(datasets: Sequence[OrganismDataset], config: Config) -> None:
    """Remove windows whose sequence leaks between splits or labels, over all organisms."""
    prints, labels, splits = (
        np.concatenate([dataset.windows[name] for dataset in datasets])
        for name in ("prints", "labels", "splits")
    )
    duplicates = find_duplicates(prints, labels, splits)
    if not config.split.homologues:
        removed = np.concatenate([*duplicates.values()])
        duplicates[HOMOLOGUE_IN_TEST] = _with_homologues(datasets, labels, splits, removed)
    begin = 0
    for dataset in datasets:
        is_unique = np.ones(len(dataset.windows), dtype=bool)
        leaks = {}
        for reason, rows in duplicates.items():
            leaks[reason] = chosen = rows[(rows >= begin) & (rows < begin + is_unique.size)] - begin
            is_unique[chosen] = False
            dataset.exclusions += _leak_exclusions(dataset, chosen, reason, config)
        _warn_of_few_sites(dataset, is_unique, leaks, config)
        begin += is_unique.size
        dataset.select(is_unique)


def _warn_of_few_sites(
    dataset: OrganismDataset,
    is_unique: NDArray[np.bool_],
    leaks: dict[str, NDArray[np.int64]],
    config: Config,
) -> None:
    """Warn of the splits asked for that have no true site, or lose most as leaks."""
    asked_for = config.organisms[dataset.organism].split or config.split
    is_site = dataset.windows["labels"] > 0
    for number, split in enumerate(SPLITS):
        is_in_split = is_site & (dataset.windows["splits"] == number)
        n, n_left = int(is_in_split.sum()), int((is_in_split & is_unique).sum())
        counts = {reason: int(is_in_split[rows].sum()) for reason, rows in leaks.items()}
        if not n and getattr(asked_for, split, True):
            logger.warning(
                "%s: no true site is in %s: its regions have none", dataset.organism, split
            )
        elif n_left < _MIN_SHARE_LEFT * n:
            logger.warning(
                "%s: %d of %d true sites of %s are left out: %s%s",
                dataset.organism,
                n - n_left,
                n,
                split,
                "; ".join(f"{reason} ({count:,})" for reason, count in counts.items() if count),
                "; is a genome or contig given twice?" if split != "train" else "",
            )


def _with_homologues(
    datasets: Sequence[OrganismDataset],
    labels: NDArray[np.int8],
    splits: NDArray[np.int8],
    removed: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the rows of true sites of train with a homologue in valid or test."""
    rows = np.flatnonzero(labels > 0)
    sequences = np.concatenate([dataset.sequences for dataset in datasets])
    organisms = np.repeat(np.arange(len(datasets)), [len(dataset.windows) for dataset in datasets])[
        rows
    ]
    is_train = splits[rows] == 0
    is_later = ~is_train & ~np.isin(rows, removed)
    related = has_homologue(
        sequences[is_train], organisms[is_train], sequences[is_later], organisms[is_later]
    )
    return rows[is_train][related]


def _leak_exclusions(
    dataset: OrganismDataset, rows: NDArray[np.int64], reason: str, config: Config
) -> Iterator[Exclusion]:
    """Yield one line per true site, and one for all decoys."""
    length = config.site.length
    source = config.organisms[dataset.organism].source
    row_of = dataset.windows["row"][rows]
    for row in row_of[row_of >= 0].tolist():
        yield excluded_site(dataset.annotated, row, length, reason, dataset.organism, source)
    if n_decoys := int((row_of < 0).sum()):
        path = str(dataset.genome["path"])
        yield Exclusion.of_many(n_decoys, reason, dataset.organism, path)


def _windows(datasets: Sequence[OrganismDataset], config: Config) -> Iterator[Row]:
    """Yield the rows of windows.tsv."""
    for dataset in datasets:
        yield from window_rows(
            dataset.organism,
            dataset.contigs,
            dataset.windows,
            signal=config.signal,
            words=dataset.names,
            weights=dataset.weights(),
            length=config.window,
        )


def _regions(datasets: Sequence[OrganismDataset]) -> Iterator[Row]:
    """Yield the rows of regions.tsv."""
    for dataset in datasets:
        genome, regions = (dataset.organism, dataset.contigs), dataset.regions
        bounds = np.column_stack([regions.starts, regions.ends])
        yield from region_rows(*genome, bounds, regions.splits)
        yield from region_rows(*genome, dataset.masked)


def _sites(datasets: Sequence[OrganismDataset], config: Config) -> Iterator[Row]:
    """Yield the rows of sites.tsv."""
    site = config.site
    for dataset in datasets:
        true = dataset.windows.take(dataset.windows["labels"] > 0)
        sites = dataset.all_sites
        offsets = site.offsets(true.is_reverse, config.window)
        is_true = np.isin(
            2 * sites.starts + sites.is_reverse, 2 * (true.starts + offsets) + true.is_reverse
        )
        yield from site_rows(
            dataset.organism,
            dataset.contigs,
            sites.adding(is_true=is_true),
            signal=config.signal,
            length=site.length,
        )


def _summary(
    datasets: Sequence[OrganismDataset], config: Config, command: str, leakage: dict[str, Any]
) -> dict[str, Any]:
    """Collect counts and settings."""
    return {
        "command": command,
        "signal": config.signal,
        "window": config.window,
        "shift": config.shift,
        "site": vars(config.site),
        "genomes": {dataset.organism: dataset.genome for dataset in datasets},
        "organisms": {dataset.organism: _facts(dataset) for dataset in datasets},
        "leakage": leakage,
        "excluded": count_reasons([row for dataset in datasets for row in dataset.exclusions]),
        "config": json.loads(json.dumps(asdict(config))),
    }


def _facts(dataset: OrganismDataset) -> dict[str, Any]:
    """Return the counts of an organism."""
    is_site = dataset.windows["labels"] > 0
    splits = {}
    for number, name in enumerate(SPLITS):
        chosen = dataset.windows["splits"] == number
        splits[name] = {
            "sites": int((chosen & is_site).sum()),
            "decoys": int((chosen & ~is_site).sum()),
        }
    return {
        "sites": int(is_site.sum()),
        "decoys": int((~is_site).sum()),
        "splits": splits,
        "split_by": dataset.regions.by,
        "candidates": int(dataset.decoys.population.sum()),
        "decoys_from_other_strata": dataset.decoys.n_moved,
        "decoys_lacking": dataset.decoys.n_missing,
        "excluded": count_reasons(dataset.exclusions),
    }
