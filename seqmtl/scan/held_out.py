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
from seqmtl.exceptions import SeqmtlError
from seqmtl.io.dataset import chosen_organisms, read_summary
from seqmtl.io.dataset_regions import SplitGenome, read_split_genome
from seqmtl.io.genome import ContigPiece
from seqmtl.models.model import MultiTaskModel
from seqmtl.models.site import Site, site_of_model
from seqmtl.scan.finder import SiteFinder
from seqmtl.scan.organism import scanner_of
from seqmtl.sequences import encode, reverse_complement
from seqmtl.sequences.candidates import clean_windows

logger = logging.getLogger(__name__)

PathLike = str | os.PathLike[str]
_BLOCK = 1 << 20
_LEVELS_PER_UNIT = 1 << 14  # the rounding error of scores is below that of the scanner
_LEVELS = 1 << 50  # rounded scores, from -_LEVELS / 2
_MOST_BLOCKS = 1_000  # more than a part has
_NONE = np.zeros(0, dtype=np.int64)
_Counts = tuple[NDArray[np.int64], NDArray[np.int64]]  # levels, and number of candidates at each


class HeldOut(NamedTuple):
    """Labels and scores of held-out candidates.

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
    words : ndarray of int8, shape (n,), or None
        Word of the model's consensus at the site, -1 for none; None unless it has several.
    blocks : ndarray of int64, shape (n,), or None
        Number of the part of the regions where the candidates are; None if each row is one window.
    """

    labels: NDArray[np.int8]
    scores: NDArray[np.float64]
    tasks: NDArray[np.str_]
    counts: NDArray[np.int64] | None
    words: NDArray[np.int8] | None = None
    blocks: NDArray[np.int64] | None = None

    @property
    def names(self) -> list[str]:
        """Organisms in the order of their first row."""
        names, first = np.unique(self.tasks, return_index=True)
        return [str(name) for name in names[np.argsort(first)]]

    def of(self, task: str) -> dict[str, Any]:
        """Return scores, y, counts and words of one organism, as ``model.calibrate`` takes them."""
        mine = self.tasks == task
        columns: dict[str, Any] = {
            "scores": self.scores, "y": self.labels, "counts": self.counts, "words": self.words,
        }  # fmt: skip
        return {name: None if x is None else x[mine] for name, x in columns.items()}


class Candidates(NamedTuple):
    """Candidates in a part of a contig.

    Attributes
    ----------
    starts : ndarray of int64, shape (n,)
        First base of each in the genome's buffer, on the forward strand.
    is_reverse : ndarray of bool, shape (n,)
        Whether a candidate is on the minus strand.
    scores : ndarray of float32, shape (n,)
        Scores of their windows.
    labels : ndarray of int8, shape (n,)
        1 for a true site, -1 for another candidate, 0 for an annotated site that the dataset
        excludes, which is neither.
    n_mixed : int
        Number of candidates dropped because of letters other than A, C, G, T in the window.
    """

    starts: NDArray[np.int64]
    is_reverse: NDArray[np.bool_]
    scores: NDArray[np.float32]
    labels: NDArray[np.int8]
    n_mixed: int


def score_held_out(
    model: MultiTaskModel,
    path: PathLike,
    *,
    split: str | None,
    organism: str | None = None,
    from_relatives: bool = False,
) -> HeldOut:
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
    from_relatives : bool, default=False
        See :meth:`MultiTaskModel.decision_function`.

    Returns
    -------
    HeldOut
        Candidates with the same organism, class, word, block and score share a row. Scores are
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

    def regions() -> Iterator[tuple[str, SplitGenome]]:
        for name in chosen_organisms(read_summary(path), organism):
            yield name, read_split_genome(path, name, split)

    found = score_regions(model, path, regions(), from_relatives=from_relatives)
    if not found.labels.size:
        names = chosen_organisms(read_summary(path), organism)
        raise SeqmtlError(
            f"{path}: no candidates in split {split or 'all'!r} of {', '.join(names)}; "
            "the splits are train, valid and test"
        )
    return found


def score_regions(
    model: MultiTaskModel,
    path: PathLike,
    regions: Iterable[tuple[str, SplitGenome]],
    *,
    from_relatives: bool = False,
) -> HeldOut:
    """Score every candidate in regions of organisms of a dataset; see :func:`score_held_out`."""
    site = site_of_model(model.site, path, model.length, model.shift)
    names: list[str] = []
    columns: list[tuple[NDArray[np.int64], ...]] = []
    for name, held in regions:
        names.append(name)
        finder = candidate_finder(model, site, name, from_relatives=from_relatives)
        columns.append(_count(name, finder, held, model.site))
    labels, words, blocks, levels, counts = map(np.concatenate, zip(*columns, strict=True))
    tasks = np.repeat(np.array(names), [part[0].size for part in columns])
    return HeldOut(
        labels.astype(np.int8), levels / _LEVELS_PER_UNIT, tasks, counts,
        words.astype(np.int8) if len(model.site.words) > 1 else None, blocks,
    )  # fmt: skip


def candidate_finder(
    model: MultiTaskModel, site: Site, organism: str, *, from_relatives: bool = False
) -> SiteFinder:
    """Return what finds a dataset's candidates and scores them in windows cut as the model's.

    Parameters
    ----------
    model, organism, from_relatives
        See :func:`seqmtl.scan.organism.scanner_of`.
    site : Site
        Result of :func:`seqmtl.models.site.site_of_model`.
    """
    scanner = scanner_of(
        model, organism, site_offset=site.offset, site_length=site.length,
        from_relatives=from_relatives,
    )  # fmt: skip
    return SiteFinder(scanner, consensus=site.letters or None)


def join_held_out(parts: Sequence[HeldOut]) -> HeldOut:
    """Return the candidates of several parts, all of them scored by one set of organisms."""
    moved = [
        part._replace(blocks=None if part.blocks is None else part.blocks + k * _MOST_BLOCKS)
        for k, part in enumerate(parts)
    ]
    columns: list[Any] = [
        None if column[0] is None else np.concatenate(column) for column in zip(*moved, strict=True)
    ]
    return HeldOut(*columns)


def find_candidates(finder: SiteFinder, held: SplitGenome) -> Iterator[Candidates]:
    """Yield all candidates of the regions, block by block, scored and labelled."""
    length, site = finder.scanner.length, finder.scanner.site_length
    keys = _keys(held.sites, held.is_reverse)
    order = np.argsort(keys)
    keys, is_true = keys[order], held.is_true[order]
    for begin, end in held.regions.tolist():
        for first in range(begin, end - length + 1, _BLOCK):
            codes = held.genome.codes[first : min(first + _BLOCK + length - 1, end)]
            found = finder.find(ContigPiece("", first, codes, True), first, first + codes.size)
            behind = length - site - finder.scanner.site_offset
            offset = np.where(found.is_reverse, behind, finder.scanner.site_offset)
            clean = clean_windows(codes, length)[found.starts - offset - first]
            starts, is_reverse = found.starts[clean], found.is_reverse[clean]
            labels = np.full(starts.size, -1, dtype=np.int8)
            if keys.size:
                own = _keys(starts, is_reverse)
                place = np.minimum(np.searchsorted(keys, own), keys.size - 1)
                labels[keys[place] == own] = is_true[place[keys[place] == own]]
            scores = found.scores[clean]
            yield Candidates(starts, is_reverse, scores, labels, int((~clean).sum()))


def _keys(starts: NDArray[np.int64], is_reverse: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return a unique number for each position and strand."""
    return 2 * starts + is_reverse


def _count(
    name: str, finder: SiteFinder, held: SplitGenome, site: Site
) -> tuple[NDArray[np.int64], ...]:
    """Return the distinct labels, words, blocks and rounded scores, with their candidates."""
    edges, n_labels = block_edges(held.regions), len(site.words) + 1
    found = (_NONE, _NONE)  # keys of all but the score, and the score, as one number
    n_left_out = n_mixed = n_found = 0
    for block in find_candidates(finder, held):
        kept = block.labels != 0
        n_left_out += int((~kept).sum())
        n_mixed += block.n_mixed
        n_found += block.labels.size + block.n_mixed
        levels = np.rint(block.scores.astype(np.float64) * _LEVELS_PER_UNIT).astype(np.int64)
        word_at = site.word_at(held.genome.codes, block.starts, block.is_reverse)
        keys = (np.searchsorted(edges, block.starts, "right") * n_labels + word_at + 1) * 2
        codes = (keys + (block.labels > 0)) * _LEVELS + levels + _LEVELS // 2
        found = _merge(found, np.unique(codes[kept], return_counts=True))
    (keys, levels), counts = np.divmod(found[0], _LEVELS), found[1]
    labels = np.where(keys % 2 > 0, 1, -1)
    n_true, n_false = (int(counts[labels == label].sum()) for label in (1, -1))
    logger.info("%s: %d candidates, %d of them true sites", name, n_true + n_false, n_true)
    n_words = sum(_n_words(held.genome.codes[a:b], finder) for a, b in held.regions.tolist())
    for n, what in (
        (n_left_out, "annotated sites that the dataset leaves out are neither true nor false"),
        (n_mixed, "candidates are left out: their windows have letters other than A, C, G, T"),
        (
            n_words - n_found,
            "candidates are left out: their windows go over an end of their region",
        ),
    ):
        if n:
            logger.info("%s: %d %s", name, n, what)
    words, blocks = keys // 2 % n_labels - 1, keys // 2 // n_labels
    return labels, words, blocks, levels - _LEVELS // 2, counts


def block_edges(regions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions at which regions, shape (n, 2), are cut into blocks of about one size.

    The block of a position p is ``np.searchsorted(edges, p, "right")``, from 0 to 19.
    """
    if not regions.size:
        return _NONE
    begins, sizes = regions[:, 0], regions[:, 1] - regions[:, 0]
    before = np.cumsum(sizes) - sizes
    cuts = np.arange(1, BLOCKS) * int(sizes.sum()) // BLOCKS
    region = np.searchsorted(before, cuts, "right") - 1
    return np.asarray(begins[region] + cuts - before[region])


def _merge(a: _Counts, b: _Counts) -> _Counts:
    """Merge two tables of levels (rising) with counts."""
    levels, place = np.unique(np.concatenate([a[0], b[0]]), return_inverse=True)
    number = np.zeros(levels.size, dtype=np.int64)
    np.add.at(number, place, np.concatenate([a[1], b[1]]))
    return levels, number


def _n_words(codes: NDArray[np.uint8], finder: SiteFinder) -> int:
    """Count the positions of a region with the consensus, on both strands."""
    n = codes.size - finder.scanner.site_length + 1
    if finder.consensus is None:
        return 2 * max(0, n)
    count = 0
    for word in finder.consensus:
        for pattern in (encode(word), reverse_complement(encode(word))):
            parts = [codes[k : k + n] == code for k, code in enumerate(pattern)]
            count += int(np.logical_and.reduce(parts).sum())
    return count
