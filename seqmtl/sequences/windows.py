"""Windows into an encoded buffer, the container of sequence examples."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seqmtl._checks import check_choice
from seqmtl._memory import require_memory
from seqmtl.exceptions import MemoryLimitError
from seqmtl.sequences.alphabet import CHECKED_CODES, INVALID, OTHER, decode, reverse_complement
from seqmtl.sequences.task_array import task_column

logger = logging.getLogger(__name__)

#: The task of windows that name none.
UNNAMED = "task"
_MAX_PADDING = 20  # bases with N per base without, from which to warn; a plain choice
#: Bases with N, and times the median length of the longest sequence, beyond which it is refused.
_MAX_PADDED, _MAX_TIMES_MEDIAN = 1e8, 10_000
_COLUMNS = ("starts", "is_reverse", "labels", "task_ids", "splits", "weights", "_names")


#: Returns the names of windows of one buffer, given the 0-based starts there, shape (n,), the
#: length in bases, and which windows are on the minus strand.
Locator = Callable[[NDArray[np.int64], int, NDArray[np.bool_]], list[str]]


def row_names(
    stride: int,
    rows: NDArray[np.int32] | None,
    starts: NDArray[np.int64],
    length: int,
    is_reverse: NDArray[np.bool_],
) -> list[str]:
    """Return the 0-based row of windows of a table as text, also after slicing or cutting.

    Parameters
    ----------
    stride : int
        Bases per row in the buffer.
    rows : ndarray of int32 or None
        Number of each row in the file, if rows were left out.
    starts, length, is_reverse
        See :data:`Locator`.
    """
    numbers = starts // stride
    return [str(row) for row in (numbers if rows is None else rows[numbers]).tolist()]


def _joined_names(
    begins: NDArray[np.int64],
    locators: Sequence[Locator],
    starts: NDArray[np.int64],
    length: int,
    is_reverse: NDArray[np.bool_],
) -> list[str]:
    """Return the names that windows of joined buffers, which begin there, have in each of these."""
    names: NDArray[Any] = np.empty(starts.size, dtype=object)
    buffers = np.searchsorted(begins, starts, side="right") - 1
    for number, locator in enumerate(locators):
        rows = np.flatnonzero(buffers == number)
        if rows.size:
            names[rows] = locator(starts[rows] - begins[number], length, is_reverse[rows])
    return list(names)


class Windows:
    """DNA windows of equal length with labels and tasks, at most 18 bytes each plus the sequence.

    A window is a start and a strand in one flat buffer of encoded bases. The buffer holds the
    concatenated sequences of a table, or whole genomes; windows of genomes may overlap without
    being copied. A minus-strand window covers the same interval, but is read as its reverse
    complement. Indexing by integers, masks or slices returns windows of the same buffer with their
    labels, tasks and splits, so scikit-learn can split them directly.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n_bases,)
        Encoded bases, see :mod:`seqmtl.sequences.alphabet`.
    starts : array_like of int64, shape (n,)
        0-based start of each window in `codes` on the forward strand.
    length : int
        Window length in bases.
    is_reverse : array_like of bool, shape (n,), optional
        Whether a window is read as its reverse complement. Default: none is.
    labels : array_like of int8, shape (n,), optional
        +1 or -1; 0 if the label is unknown.
    task_ids : array_like of int16, shape (n,), optional
        Index into `task_names`. Default: all 0.
    task_names : sequence of str, optional
        Names of the tasks (organisms). Default: ``("task",)``.
    splits : array_like of int16, shape (n,), optional
        Index into `split_names`, if there are splits.
    split_names : sequence of str, optional
        Names of the splits.
    names : sequence of str, optional
        Name of each window. Default: the locator's names, or ``"0"``, ``"1"``, ... by row.
    locator : callable, optional
        Derives the names of windows from their location, so that none are stored, such as
        :meth:`seqmtl.sequences.ContigTable.window_names`.
    weights : array_like of float32, shape (n,), optional
        Number of genome positions that each window represents, if decoys were sampled from many
        candidates; used to weight estimates over the genome.
    site : int, optional
        First base of the site in every window, in reading direction (0-based). Default: unknown.
    is_padded : bool
        Whether they are sequences of different lengths, with N after the end of the shorter ones.

    Raises
    ------
    ValueError
        If a column has another length than `starts`, or numbers that do not fit or have no name,
        or a window is not inside `codes`, or the site is not inside the windows.

    Examples
    --------
    >>> from seqmtl.sequences import encode
    >>> genome = encode("TTGGTAAC")
    >>> Windows(genome, starts=[2, 3], length=4, is_reverse=[False, True]).sequences()
    ['GGTA', 'TTAC']
    """

    def __init__(  # noqa: PLR0913
        self,
        codes: NDArray[np.uint8],
        starts: ArrayLike,
        length: int,
        *,
        is_reverse: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        task_ids: ArrayLike | None = None,
        task_names: Sequence[str] = (UNNAMED,),
        splits: ArrayLike | None = None,
        split_names: Sequence[str] = (),
        names: Sequence[str] | None = None,
        locator: Locator | None = None,
        weights: ArrayLike | None = None,
        site: int | None = None,
        is_padded: bool = False,
    ) -> None:
        self.codes = codes
        self.is_padded = is_padded
        self.starts = np.ascontiguousarray(starts, dtype=np.int64)
        n = self.starts.size
        self.length = int(length)
        self.is_reverse = _column(is_reverse, n, np.bool_)
        self.labels = _column(labels, n, np.int8, "labels")
        self.task_names, self.split_names = tuple(task_names), tuple(split_names)
        self.task_ids = _column(task_ids, n, np.int16, "task_ids")
        _check_ids(self.task_ids, "task_ids", len(self.task_names))
        self.splits = None if splits is None else _column(splits, n, np.int16, "splits")
        if self.splits is not None and self.split_names:
            _check_ids(self.splits, "splits", len(self.split_names))
        self._names = None if names is None else _column(names, n, object)
        self.locator = locator
        self.weights = None if weights is None else _column(weights, n, np.float32)
        self.site = site
        if site is not None:
            _check_site(site, self.length)
        if n and (self.starts.min() < 0 or self.starts.max() + self.length > codes.size):
            raise ValueError("windows must lie inside the encoded buffer; pad contigs with N first")

    @classmethod
    def from_strings(
        cls,
        sequences: Sequence[str | bytes],
        labels: ArrayLike | None = None,
        tasks: Sequence[str] | None = None,
        *,
        site: int | None = None,
        pad: bool = False,
    ) -> Windows:
        """Build windows from strings.

        Parameters
        ----------
        sequences : sequence of str or bytes
            Nucleotides (IUPAC) in any case; letters other than A, C, G, T match nothing.
        labels : array_like, shape (n,), optional
            +1 and -1, or 1 and 0.
        tasks : sequence of str, optional
            Task (organism) of each window.
        site : int, optional
            First base of the site in every string (0-based). Default: unknown.
        pad : bool
            Whether sequences may differ in length; the shorter ones are padded with N at their
            end, for features without positions. Default: all must have one length.

        Raises
        ------
        MemoryLimitError
            If the padded sequences do not fit into memory.
        ValueError
            If the sequences differ in length without `pad`, are empty or have other letters, the
            labels are invalid, or the site is outside.
        """
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        length = int(lengths.max(initial=0))
        if not pad and (lengths != length).any():
            raise ValueError(
                f"sequences must be of equal length, got lengths {lengths.min()} to {length}; "
                "cut them to the same length first, or take features that need no positions, such "
                "as gapped:8/6 (here and in read_windows with pad=True)"
            )
        if not lengths.all():
            raise ValueError(
                "sequences must have letters, but sequence "
                f"{int(lengths.argmin())} is empty; leave it out"
            )
        raw = b"".join(
            s.encode("latin-1", "replace") if isinstance(s, str) else s for s in sequences
        )
        codes = raw.translate(CHECKED_CODES)
        if INVALID in codes:
            base = codes.index(INVALID)
            row = int(np.searchsorted(np.cumsum(lengths), base, side="right"))
            j = base - int(lengths[:row].sum())
            raise ValueError(
                "sequences must be of IUPAC nucleotide letters, got "
                f"{sequences[row][j : j + 1]!r} at letter {j + 1} of sequence {row}; "
                "correct it"
            )
        task_names: Sequence[str] = (UNNAMED,)
        task_ids: NDArray[Any] | None = None
        if tasks is not None:
            task_names, task_ids = name_table(tasks)
        if labels is not None:
            labels = _signed_labels(np.asarray(labels))
        longest = f"sequence {int(lengths.argmax())}" if len(sequences) else ""
        return cls(
            pad_codes(bytearray(codes), lengths, length, longest),
            np.arange(len(sequences), dtype=np.int64) * length,
            length,
            labels=labels,
            task_ids=task_ids,
            task_names=task_names,
            locator=partial(row_names, length, None) if length else None,
            site=site,
            is_padded=bool((lengths != length).any()),
        )

    def __len__(self) -> int:
        return self.starts.size

    @property
    def shape(self) -> tuple[int, int]:
        """Number of windows and their length, with which scikit-learn counts and indexes rows."""
        return self.starts.size, self.length

    @property
    def ndim(self) -> int:
        """Always 2: windows by positions."""
        return 2

    @property
    def tasks(self) -> NDArray[Any]:
        """Task name of every window, shape (n,)."""
        names: NDArray[Any] = np.array(self.task_names, dtype=object)
        return names.take(self.task_ids)

    @property
    def names(self) -> NDArray[Any]:
        """Name of every window, shape (n,)."""
        if self._names is not None:
            return self._names
        if self.locator is not None:
            names = self.locator(self.starts, self.length, self.is_reverse)
        else:
            names = [str(row) for row in range(len(self))]
        return np.array(names, dtype=object)

    @property
    def split(self) -> NDArray[Any] | None:
        """Split name of every window, or None if there are no splits."""
        if self.splits is None:
            return None
        names: NDArray[Any] = np.array(self.split_names, dtype=object)
        return names.take(self.splits)

    def __getitem__(self, key: Any) -> Windows:
        if isinstance(key, tuple):
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError("Windows are indexed by rows only")
            key = key[0]
        if isinstance(key, (int, np.integer)):
            if not -len(self) <= key < len(self):
                raise IndexError(f"row must be below the number of windows {len(self)}, got {key}")
            key = slice(key, key + 1 or None)
        if not isinstance(key, slice):
            key = np.asarray(key)
            key = key.astype(np.intp) if not key.size else key
        cut = Windows(self.codes, self.starts[:0], self.length, task_names=self.task_names)
        cut.split_names, cut.locator, cut.site = self.split_names, self.locator, self.site
        cut.is_padded = self.is_padded
        for name in _COLUMNS:
            column = getattr(self, name)
            setattr(cut, name, None if column is None else column[key])
        return cut

    def select_split(self, name: str) -> Windows:
        """Return the windows of one split, or all windows if there are no splits.

        Raises
        ------
        ValueError
            If there is no such split.
        """
        if self.splits is None:
            return self
        check_choice("split", name, sorted(self.split_names))
        return self[np.flatnonzero(self.splits == self.split_names.index(name))]

    def center(self, length: int, shift: int = 0) -> Windows:
        """Return the central `length` bases of every window, sharing the buffer.

        The cut starts at ``(self.length - length) // 2 + shift`` in reading direction. A site
        outside the cut becomes None.

        Raises
        ------
        ValueError
            If `length` is not in ``1..self.length``, or the cut extends beyond the window.
        """
        if not 1 <= length <= self.length:
            raise ValueError(
                f"window must be between 1 and the sequence length {self.length}, got {length}"
            )
        left = (self.length - length) // 2 + shift
        if not 0 <= left <= self.length - length:
            raise ValueError(
                f"shift must keep {length} bases inside the {self.length}, got {shift}"
            )
        return self.cut(left, length)

    def cut(self, left: int, length: int) -> Windows:
        """Return `length` bases of every window from base `left`, sharing the buffer.

        They must be inside the window. A site outside them becomes None.
        """
        right = self.length - length - left
        cut = self[:]
        # the first base of a minus-strand window is its highest position in the buffer
        cut.starts = self.starts + np.where(self.is_reverse, right, left)
        cut.length = int(length)
        if self.site is not None:
            cut.site = self.site - left if 0 <= self.site - left < length else None
        return cut

    def with_site_at(self, site: int, length: int) -> Windows:
        """Cut or pad every window to `length` bases, with its site at base `site`.

        A model needs windows with its own length and site. Added bases are N, which match nothing.

        Parameters
        ----------
        site : int
            First base of the site in the new windows (0-based).
        length : int
            Their length in bases.

        Raises
        ------
        ValueError
            If :attr:`site` is unknown, or `site` is not inside the new windows.
        """
        if self.site is None:
            raise ValueError("the site must be known to place windows, got None; set their site")
        begin = self.site - site  # start of the new window in the old one; may be negative
        what = f"{len(self)} windows of {length:,} bases"
        require_memory(float(len(self) * length), what, "use shorter or fewer windows")
        codes = np.full((len(self), length), OTHER, dtype=np.uint8)
        first, last = max(begin, 0), min(begin + length, self.length)
        if first < last:
            codes[:, first - begin : last - begin] = self.matrix()[:, first:last]
        windows = self.with_letters(codes)
        _check_site(site, length)
        windows.site = site
        return windows

    def with_letters(self, codes: NDArray[np.uint8]) -> Windows:
        """Return windows of other letters, with the labels, tasks, splits and names of these.

        Their site is unknown.

        Parameters
        ----------
        codes : ndarray of uint8, shape (n, length)
            Encoded bases in reading direction.
        """
        other, length = self[:], codes.shape[1]
        other._names, other.locator = self.names, None
        other.codes, other.length = codes.reshape(-1), length
        other.starts = np.arange(len(self), dtype=np.int64) * length
        other.is_reverse = np.zeros(len(self), dtype=np.bool_)
        other.site, other.is_padded = None, False
        return other

    def matrix(self) -> NDArray[np.uint8]:
        """Copy the windows as codes in reading direction, shape (n, length)."""
        if not len(self):
            return np.empty((0, self.length), dtype=np.uint8)
        view = np.lib.stride_tricks.sliding_window_view(self.codes, self.length)
        forward = view[self.starts]  # copies only the windows
        forward[self.is_reverse] = reverse_complement(forward[self.is_reverse])
        return forward

    def sequences(self) -> list[str]:
        """Letters of every window in reading direction; other letters appear as N."""
        return [decode(row) for row in self.matrix()]

    def with_tasks(self, tasks: Iterable[str]) -> Windows:
        """Return the same windows with other task names, one per window."""
        names, ids = name_table(tasks)
        if ids.size != len(self):
            raise ValueError(f"tasks must have one entry per window ({len(self)}), got {ids.size}")
        other = self[:]
        other.task_names, other.task_ids = tuple(names), ids
        return other

    def __repr__(self) -> str:
        n_positive = int((self.labels > 0).sum())
        return (
            f"Windows(n={len(self)}, length={self.length}, positive={n_positive}, "
            f"tasks={list(self.task_names)})"
        )


def pad_codes(
    codes: bytes | bytearray | NDArray[np.uint8],
    lengths: NDArray[np.int64],
    length: int,
    longest: str,
) -> NDArray[np.uint8]:
    """Return sequences with N after their end, so that all have one length.

    Parameters
    ----------
    codes : bytes, bytearray or ndarray of uint8
        Encoded bases of all sequences, one after the other.
    lengths : ndarray of int64, shape (n,)
        Their lengths in bases.
    length : int
        Length of the result in bases, that of the longest sequence or more.
    longest : str
        What to call the longest sequence in messages.

    Returns
    -------
    ndarray of uint8, shape (n * length,)
        It shares the memory of `codes` if nothing is added.

    Raises
    ------
    MemoryLimitError
        If the result does not fit into memory, or is large because one sequence is more than
        10,000 times as long as half of them.
    """
    bases = np.frombuffer(codes, dtype=np.uint8)
    if (lengths == length).all():
        return bases
    n_padded = float(lengths.size * length)
    what = f"{lengths.size} sequences of up to {length} bases ({longest})"
    require_memory(n_padded, what, "cut the longest sequences, or leave them out")
    median = float(np.median(lengths))
    if n_padded > _MAX_PADDED and lengths.max() > _MAX_TIMES_MEDIAN * median:
        raise MemoryLimitError(
            f"{what}: half have at most {median:.0f}, and all would be padded to the longest, "
            "which would take hours; cut the longest sequences, or leave them out"
        )
    if n_padded > _MAX_PADDING * bases.size and lengths.min() < lengths.max():
        logger.warning(
            "%s: half have at most %d bases, and all are padded to %d, which takes %d times the "
            "memory and time; cut the longest sequences, leave them out, or take a shorter window",
            what,
            median,
            length,
            n_padded / bases.size,
        )
    padded = np.full((lengths.size, length), OTHER, dtype=np.uint8)
    first = 0
    for row, n in zip(padded, lengths.tolist(), strict=True):
        row[:n] = bases[first : first + n]
        first += n
    return padded.reshape(-1)


def pad_windows(windows: Windows, length: int, longest: str) -> Windows:
    """Return windows with N after their end, `length` bases each; see :func:`pad_codes`.

    Raises
    ------
    MemoryLimitError
        If they do not fit into memory.
    """
    if windows.length == length:
        return windows
    old = np.full(len(windows), windows.length, dtype=np.int64)
    codes = pad_codes(windows.matrix().tobytes(), old, length, longest)
    padded = windows.with_letters(codes.reshape(-1, length))
    padded.site, padded.is_padded = windows.site, True
    return padded


def concatenate(parts: Sequence[Windows]) -> Windows:
    """Concatenate windows of equal length; task and split tables are merged by name.

    Parts that share a buffer keep sharing it; otherwise the buffers are concatenated. The site is
    unknown unless all parts have it at the same base.

    Raises
    ------
    ValueError
        If there are no parts, the lengths differ, or only some parts have splits.
    """
    lengths = {part.length for part in parts}
    if len(lengths) != 1:
        raise ValueError(f"windows must have one length to be joined, got {sorted(lengths)}")
    with_split = [part.splits is not None for part in parts]
    if any(with_split) and not all(with_split):
        raise ValueError(
            "windows must all have splits or none to be joined, got both; "
            "add the split column where it is missing"
        )
    buffers: dict[int, NDArray[np.uint8]] = {id(part.codes): part.codes for part in parts}
    sizes = [codes.size for codes in buffers.values()]
    begin_of = dict(zip(buffers, np.cumsum([0, *sizes[:-1]]).tolist(), strict=True))
    task_names = list(dict.fromkeys(name for part in parts for name in part.task_names))
    split_names = list(dict.fromkeys(name for part in parts for name in part.split_names))
    locator = _join_locators(parts, begin_of)
    is_named = locator is None and any(p._names is not None or p.locator is not None for p in parts)
    return Windows(
        parts[0].codes if len(buffers) == 1 else np.concatenate(list(buffers.values())),
        np.concatenate([part.starts + begin_of[id(part.codes)] for part in parts]),
        lengths.pop(),
        is_reverse=np.concatenate([part.is_reverse for part in parts]),
        labels=np.concatenate([part.labels for part in parts]),
        task_ids=np.concatenate([_translate(p.task_ids, p.task_names, task_names) for p in parts]),
        task_names=task_names,
        splits=np.concatenate([_translate(p.splits, p.split_names, split_names) for p in parts])
        if all(with_split)
        else None,
        split_names=split_names if all(with_split) else (),
        names=[name for part in parts for name in part.names] if is_named else None,
        locator=locator,
        weights=_join_weights(parts),
        site=parts[0].site if len({part.site for part in parts}) == 1 else None,
        is_padded=any(part.is_padded for part in parts),
    )


def _join_weights(parts: Sequence[Windows]) -> NDArray[np.float32] | None:
    """Return the weights of all parts, 1 for parts without; None if no part has any."""
    if all(part.weights is None for part in parts):
        return None
    weights = [np.ones(len(p), np.float32) if p.weights is None else p.weights for p in parts]
    return np.concatenate(weights)


def _join_locators(parts: Sequence[Windows], begin_of: dict[int, int]) -> Locator | None:
    """Return a locator for the joined buffer, or None if names have to be stored."""
    locator_of: dict[int, Locator] = {}
    for part in parts:
        if part._names is not None or part.locator is None:
            return None
        if locator_of.setdefault(id(part.codes), part.locator) != part.locator:
            return None
    if len(locator_of) == 1:
        return parts[0].locator
    begins = np.array([begin_of[buffer] for buffer in locator_of], dtype=np.int64)
    return partial(_joined_names, begins, list(locator_of.values()))


def name_table(names: Iterable[Any]) -> tuple[list[str], NDArray[np.int16]]:
    """Return the distinct names in order of appearance, and the index of each entry."""
    index: dict[str, int] = {}
    names = task_column(names)
    ids = np.fromiter((index.setdefault(str(name), len(index)) for name in names), dtype=np.int64)
    _check_number_of_names(len(index))
    return list(index), ids.astype(np.int16)


def task_table(data: Any, tasks: Any, known: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct tasks of examples that a model scores, and the index of each example's.

    Parameters
    ----------
    data : Windows, ndarray or sparse matrix, shape (n, ...)
        Examples.
    tasks : str or sequence of str, optional
        Task of every example, or one for all. Default: those of the windows, or the only one.
    known : sequence of str
        Tasks of the model.

    Raises
    ------
    ValueError
        If the tasks are unknown, or not one for each example.
    """
    n = data.shape[0]
    if isinstance(tasks, (str, int, np.integer)):
        return [str(tasks)], np.zeros(n, dtype=np.int64)
    if tasks is None:
        if isinstance(data, Windows) and (data.task_names != (UNNAMED,) or UNNAMED in known):
            used, ids = np.unique(data.task_ids, return_inverse=True)
            return [data.task_names[t] for t in used], ids.astype(np.int64)
        if len(known) > 1:
            raise ValueError(
                f"tasks must be given: the model has {len(known)} tasks ({', '.join(known[:5])}"
                f"{', ...' * (len(known) > 5)}) and the examples carry none; give tasks=, or a "
                "TaskArray or Windows, which carry them (in a search with scoring=TaskScorer())"
            )
        return list(known), np.zeros(n, dtype=np.int64)
    names, numbers = name_table(tasks)
    if numbers.size != n:
        raise ValueError(f"tasks must have one entry per example ({n}), got {numbers.size}")
    return names, numbers.astype(np.int64)


def _check_number_of_names(n: int) -> None:
    if n > np.iinfo(np.int16).max:
        raise ValueError(f"there can be at most 32,767 tasks, got {n}")


def _signed_labels(labels: NDArray[Any]) -> NDArray[np.int8]:
    """Convert labels of +1 and -1, or 1 and 0, to +1 and -1."""
    classes = set(np.unique(labels).tolist())
    if not (classes <= {-1, 1} or classes <= {0, 1}):
        raise ValueError(
            f"labels must be +1 and -1, or 1 and 0, got {sorted(classes)}; "
            "recode them as two classes"
        )
    return np.where(labels > 0, 1, -1).astype(np.int8)


def _translate(
    ids: NDArray[Any] | None, names: Sequence[str], merged: Sequence[str]
) -> NDArray[Any]:
    _check_number_of_names(len(merged))
    number_of = {name: i for i, name in enumerate(merged)}
    return np.array([number_of[name] for name in names], dtype=np.int16)[ids]


def _column(values: ArrayLike | None, n: int, dtype: Any, integer_name: str = "") -> NDArray[Any]:
    """Return a column; one with an `integer_name`, for messages, is not rounded or clipped."""
    if values is None:
        return np.zeros(n, dtype=dtype)
    if integer_name and np.asarray(values).dtype != dtype:
        values = np.asarray(values)
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        odd = values[~((values >= low) & (values <= high) & (values == np.floor(values)))]
        if odd.size:
            raise ValueError(
                f"{integer_name} must be whole numbers from {low:,} to {high:,}, got {odd[0]}"
            )
    column = np.ascontiguousarray(values, dtype)
    if column.shape != (n,):
        raise ValueError(f"a column of windows must have {n} entries, got shape {column.shape}")
    return column


def _check_site(site: int, length: int) -> None:
    if not 0 <= site < length:
        raise ValueError(
            f"site must be inside the windows of {length} bases, got base {site} (0-based)"
        )


def _check_ids(ids: NDArray[np.int16], what: str, n_names: int) -> None:
    """Reject numbers without a name; Python would take negative ones as counted from the end."""
    if ids.size and not 0 <= ids.min() <= ids.max() < n_names:
        odd = ids.min() if ids.min() < 0 else ids.max()
        raise ValueError(f"{what} must be numbers from 0 below {n_names}, got {odd}; name them all")
