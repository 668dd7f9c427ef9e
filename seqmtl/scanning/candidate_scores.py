"""Score every candidate in the regions of a dataset, on both strands.

Training uses a sample of decoys. Probabilities and precision over a genome are measured on all
positions with the consensus.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.evaluation.expected import BLOCKS
from seqmtl.exceptions import InputFormatError, errors_about
from seqmtl.files.streams import PathLike
from seqmtl.io.dataset import SplitGenome, chosen_organisms, read_split_genome, read_summary
from seqmtl.io.genome import ContigPiece
from seqmtl.linear_model.dataset_site import site_of_model
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.linear_model.site import Site
from seqmtl.scanning.finder import SiteFinder, finder_of
from seqmtl.sequences.intervals import is_inside
from seqmtl.sequences.sites import Sites, clean_windows, find_motifs
from seqmtl.training.example_source import ExampleSource, warn_if_trained_on

logger = logging.getLogger(__name__)

#: Bases scored at a time.
BLOCK = 1 << 20
#: Reason for candidates in regions that a dataset masks.
IN_MASK = "candidates ignored: in masked regions"
_LEVELS_PER_UNIT = 1 << 14  # the rounding error of scores is below that of the scanner
_LEVELS = 1 << 50  # rounded scores, from -_LEVELS / 2
_BLOCKS_PER_PART = 1_000  # more than any has; numbers the blocks of joined parts
_NONE = np.zeros(0, dtype=np.int64)
_Counts = tuple[NDArray[np.int64], NDArray[np.int64]]  # levels, and number of candidates at each


class CandidateScores(NamedTuple):
    """Labels and scores of candidates.

    Attributes
    ----------
    labels : ndarray of int8, shape (n,)
        1 for true sites, -1 otherwise.
    scores : ndarray of float64, shape (n,)
        Scores.
    tasks : ndarray of str, shape (n,)
        Organisms.
    counts : ndarray of int64, shape (n,), or None
        Number of candidates that each row represents; None if each row is one window.
    consensus : ndarray of int8, shape (n,), or None
        Index of the consensus sequence at the site, -1 for none; None unless the model has several.
    blocks : ndarray of int64, shape (n,), or None
        Number of the part of the regions where the candidates are; None if each row is one window.
    probabilities : ndarray of float64, shape (n,), or None
        Probabilities; None of windows, and of a model that is not calibrated.
    signal : str
        Kind of the sites.
    method : str
        How they are scored, "" if there is one way.
    """

    labels: NDArray[np.int8]
    scores: NDArray[np.float64]
    tasks: NDArray[np.str_]
    counts: NDArray[np.int64] | None
    consensus: NDArray[np.int8] | None = None
    blocks: NDArray[np.int64] | None = None
    probabilities: NDArray[np.float64] | None = None
    signal: str = ""
    method: str = ""

    @property
    def names(self) -> list[str]:
        """Organisms in the order of their first row."""
        names, first = np.unique(self.tasks, return_index=True)
        return [str(name) for name in names[np.argsort(first)]]

    def of(self, task: str) -> dict[str, Any]:
        """Return the arguments of ``model.calibrate`` for one organism."""
        is_task = self.tasks == task
        columns: dict[str, Any] = {
            "scores": self.scores,
            "y": self.labels,
            "counts": self.counts,
            "consensus": self.consensus,
        }
        return {name: None if x is None else x[is_task] for name, x in columns.items()}


def score_candidates(
    model: MultiTaskModel,
    path: PathLike,
    *,
    split: str | None,
    organism: str | None = None,
) -> CandidateScores:
    """Score every candidate in a split of a dataset.

    A candidate is a position on either strand with the consensus, whose window lies inside one
    region of the split and contains only A, C, G, T. Annotated sites that the dataset excludes
    are counted and are neither true nor false. All other candidates are false.

    Parameters
    ----------
    model : MultiTaskModel
        Trained model.
    path : path-like
        Folder written by ``seqmtl dataset``, or the windows.tsv in it.
    split : str or None
        train, valid or test; None for all.
    organism : str, optional
        Default: all organisms of the dataset.

    Returns
    -------
    CandidateScores
        Candidates of the same organism, class, consensus, block and score share a row. Scores are
        rounded to multiples of 2^-14. Memory does not grow with the genome.

    Raises
    ------
    InputFormatError
        If a file of the dataset is missing or damaged.
    SeqmtlError
        If a genome is missing or different, the signal is not the model's, or the split is
        empty.
    UnknownTaskError
        If the model does not know an organism.
    """
    names = chosen_organisms(read_summary(path), organism)
    model.log_relatives(names)
    regions = ((name, read_split_genome(path, name, split)) for name in names)
    scores = score_regions(model, path, regions)
    if not scores.labels.size:
        raise InputFormatError(
            f"no candidates in split {split or 'all'!r} of {', '.join(names)}; the splits are "
            "train, valid and test",
            os.fspath(path),
        )
    return scores


def score_regions(
    model: MultiTaskModel, path: PathLike, regions: Iterable[tuple[str, SplitGenome]]
) -> CandidateScores:
    """Score every candidate in regions of organisms of a dataset; see :func:`score_candidates`."""
    names: list[str] = []
    columns: list[tuple[NDArray[np.int64], ...]] = []
    site = site_of_model(model.site, path, model.length, model.shift)
    for name, split_genome in regions:
        names.append(name)
        finder = finder_of(model, name, site=site)
        columns.append(_count(name, finder, split_genome, model.site))
    labels, consensus, blocks, levels, counts = map(np.concatenate, zip(*columns, strict=True))
    tasks = np.repeat(np.array(names), [part[0].size for part in columns])
    consensus_or_none = consensus.astype(np.int8) if len(model.site.consensus) > 1 else None
    scores = levels / _LEVELS_PER_UNIT
    return CandidateScores(labels.astype(np.int8), scores, tasks, counts, consensus_or_none, blocks)


def join_scores(parts: Sequence[CandidateScores]) -> CandidateScores:
    """Return the candidates of several parts, all of them scored by one set of organisms."""
    shifted = [
        part._replace(blocks=None if part.blocks is None else part.blocks + k * _BLOCKS_PER_PART)
        for k, part in enumerate(parts)
    ]
    columns: list[Any] = [
        None if column[0] is None else np.concatenate(column)
        for column in zip(*(part[:6] for part in shifted), strict=True)  # all but probabilities
    ]
    return CandidateScores(*columns)


def score_labelled(
    model: MultiTaskModel, sources: Sequence[ExampleSource], what: str
) -> list[CandidateScores]:
    """Score every candidate of a dataset, or the labelled windows of a file; see ``Model``."""
    (source,) = sources
    split: str | None = source.split
    with errors_about(source.name):
        if source.dataset is not None:
            scores = score_candidates(
                model, source.dataset, split=source.split_or_none, organism=source.organism
            )
        else:
            windows = source.read_to_score(model, require_labels=True)
            model.site.check_consensus(windows, windows.labels)
            has_several = len(model.site.consensus) > 1
            scores = CandidateScores(
                windows.labels,
                model.decision_function(windows),
                windows.tasks,
                None,
                model.site.consensus_of(windows) if has_several else None,
            )
            split = split if windows.splits is not None else None
            source.warn_of_training_rows(windows, model, what)
        warn_if_trained_on(model, source.paths, scores.names, split, what)
    p = None
    if model.curves and scores.counts is not None:
        p = model.probability(scores.scores, scores.tasks.tolist())
    return [scores._replace(signal=model.site.kind, probabilities=p)]


def find_candidates(finder: SiteFinder, split_genome: SplitGenome) -> Iterator[Sites]:
    """Yield all candidates of the regions, block by block, scored and labelled.

    The column ``scores`` is that of the finder. ``labels`` is 1 for a true site, -1 for another
    candidate, and 0 if neither: an excluded annotated site, or in a masked region. ``is_clean`` is
    True if the window contains only A, C, G, T; leave the other candidates out.
    """
    length = finder.length
    keys = _keys(split_genome.sites.starts, split_genome.sites.is_reverse)
    order = np.argsort(keys)
    keys = keys[order]
    is_true = split_genome.sites["is_true"][order]
    offsets = finder.offset(False), finder.offset(True)
    for begin, end in split_genome.regions.tolist():
        for first in range(begin, max(begin, end - length) + 1, BLOCK):  # at least one block
            codes = split_genome.genome.codes[first : min(first + BLOCK + length - 1, end)]
            piece = ContigPiece("", first, codes)
            sites = finder.find_sites(piece, first, first + codes.size)
            windows = sites.starts - np.where(sites.is_reverse, *offsets[::-1]) - first
            candidate_keys = _keys(sites.starts, sites.is_reverse)
            labels = np.full(candidate_keys.size, -1, dtype=np.int8)
            if keys.size:
                index = np.minimum(np.searchsorted(keys, candidate_keys), keys.size - 1)
                labels[keys[index] == candidate_keys] = is_true[
                    index[keys[index] == candidate_keys]
                ]
            labels[is_inside(sites.starts, split_genome.masked)] = 0
            is_clean = clean_windows(codes, length)[windows]
            yield sites.adding(labels=labels, is_clean=is_clean)


def _keys(starts: NDArray[np.int64], is_reverse: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return a unique number for each position and strand."""
    return 2 * starts + is_reverse


def _count(
    name: str, finder: SiteFinder, split_genome: SplitGenome, site: Site
) -> tuple[NDArray[np.int64], ...]:
    """Return distinct labels, consensus indices, blocks and rounded scores, with their numbers."""
    edges = block_edges(split_genome.regions)
    n_labels = len(site.consensus) + 1
    totals = (_NONE, _NONE)  # keys of all but the score, and the score, as one number
    n_excluded = n_mixed = n_candidates = n_masked = 0
    for sites in find_candidates(finder, split_genome):
        n_candidates += len(sites)
        n_mixed += int((~sites["is_clean"]).sum())
        sites = sites.take(sites["is_clean"])
        is_labelled = sites["labels"] != 0
        n_masked += (masked := int(is_inside(sites.starts, split_genome.masked).sum()))
        n_excluded += int((~is_labelled).sum()) - masked
        levels = np.rint(sites["scores"].astype(np.float64) * _LEVELS_PER_UNIT).astype(np.int64)
        numbers = site.consensus_at(split_genome.genome.codes, sites.starts, sites.is_reverse)
        keys = (np.searchsorted(edges, sites.starts, "right") * n_labels + numbers + 1) * 2
        codes = (keys + (sites["labels"] > 0)) * _LEVELS + levels + _LEVELS // 2
        totals = _merge(totals, np.unique(codes[is_labelled], return_counts=True))
    (keys, levels), counts = np.divmod(totals[0], _LEVELS), totals[1]
    labels = np.where(keys % 2 > 0, 1, -1)
    n_true, n_false = (int(counts[labels == label].sum()) for label in (1, -1))
    logger.info("%s: %d candidates, %d of them true sites", name, n_true + n_false, n_true)
    n_positions = sum(
        _n_consensus(split_genome.genome.codes[a:b], finder)
        for a, b in split_genome.regions.tolist()
    )
    for n, what in (
        (n_excluded, "annotated sites ignored: excluded from the dataset"),
        (n_masked, IN_MASK),
        (n_mixed, "candidates skipped: window with letters other than A, C, G, T"),
        (n_positions - n_candidates, "candidates skipped: window beyond an end of its region"),
    ):
        if n:
            logger.info("%s: %d %s", name, n, what)
    consensus = keys // 2 % n_labels - 1
    blocks = keys // 2 // n_labels
    return labels, consensus, blocks, levels - _LEVELS // 2, counts


def block_edges(regions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions at which regions, shape (n, 2), are cut into blocks of about one size.

    The block of a position p is ``np.searchsorted(edges, p, "right")``, from 0 to 19.
    """
    if not regions.size:
        return _NONE
    begins = regions[:, 0]
    sizes = regions[:, 1] - regions[:, 0]
    before = np.cumsum(sizes) - sizes
    cuts = np.arange(1, BLOCKS) * int(sizes.sum()) // BLOCKS
    region = np.searchsorted(before, cuts, "right") - 1
    return np.asarray(begins[region] + cuts - before[region])


def _merge(a: _Counts, b: _Counts) -> _Counts:
    """Merge two tables of levels (rising) with counts."""
    levels, index = np.unique(np.concatenate([a[0], b[0]]), return_inverse=True)
    number = np.zeros(levels.size, dtype=np.int64)
    np.add.at(number, index, np.concatenate([a[1], b[1]]))
    return levels, number


def _n_consensus(codes: NDArray[np.uint8], finder: SiteFinder) -> int:
    """Count the positions of a region with the consensus, on both strands."""
    if finder.consensus is None:
        return 2 * max(0, codes.size - finder.scanner.site_length + 1)
    consensus = finder.consensus
    return sum(int(find_motifs(codes, consensus, strand).sum()) for strand in (False, True))
