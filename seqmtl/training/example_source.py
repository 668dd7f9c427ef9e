"""Read the examples of a dataset, or of tables and FASTA files, to train on or to score."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from seqmtl._memory import require_memory
from seqmtl._messages import messages_from
from seqmtl._names import check_distinct
from seqmtl.exceptions import (
    InputFormatError,
    MemoryLimitError,
    ParameterError,
    SeqmtlError,
    UsageError,
)
from seqmtl.features._base import FeatureDefinition
from seqmtl.features.kmer_counts import KmerCounts
from seqmtl.io import guess_format
from seqmtl.io.dataset import is_dataset, read_dataset, read_summary
from seqmtl.io.genome import load_genome
from seqmtl.io.peaks import (
    Peaks,
    draw_negatives,
    n_overlapping,
    read_avoided,
    read_peaks,
    windows_of_peaks,
)
from seqmtl.io.tables import one_length, read_windows, read_windows_in_parts
from seqmtl.io.window_store import PART
from seqmtl.linear_model.base import Model, is_known
from seqmtl.linear_model.dataset_site import site_of_model
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences import Genome, Windows, concatenate
from seqmtl.sequences.quality import (
    MAX_IN_TRAINING,
    WindowChecker,
    count_copies,
    length_warnings,
    lengths_of,
    short_windows,
    window_warnings,
)
from seqmtl.sequences.windows import UNNAMED, pad_windows
from seqmtl.training.site_detection import check_no_site, find_misplaced

logger = logging.getLogger(__name__)

_HELD_OUT = {"valid", "test"}  # splits that are trained on only if asked for
_CLASSES = {1: "positives", -1: "negatives"}


@dataclass(frozen=True)
class ExampleFile:
    """A file of examples, and which of them to read.

    Attributes
    ----------
    path : str
        Dataset folder, table, or FASTA file; ``-`` for standard input.
    organism : str, optional
        Organism of all rows, or the only one to read of a dataset.
    sign : {1, -1}, optional
        Label of all rows. Default: as in the file.
    split : str
        Split to read; all for every row.
    site : int, optional
        First base of the site in the sequences of a table or a FASTA file.
    reference : str, optional
        FASTA file of a genome; the file is then BED.
    seed : int
        Seed of the negatives that are drawn from the genome.
    is_split_asked : bool
        Whether rows must have splits, as one was asked for.
    excluded : tuple of str
        BED of further intervals that these negatives do not overlap.
    trained : tuple of str
        BED that a model was trained on, with the same genome; what overlaps it is counted.
    """

    path: str
    organism: str | None = None
    sign: int | None = None
    split: str = "all"
    site: int | None = None
    reference: str | None = None
    seed: int = 0
    is_split_asked: bool = False
    excluded: tuple[str, ...] = ()
    trained: tuple[str, ...] = ()

    @property
    def split_or_none(self) -> str | None:
        """The split to read, None for all rows."""
        return None if self.split == "all" else self.split

    def read(
        self,
        window: int | None,
        genomes: dict[str, Genome],
        *,
        require_labels: bool,
        base: int | None = None,
        pad: bool = False,
    ) -> Windows:
        """Read windows.

        Parameters
        ----------
        window : int, optional
            Length of the windows in bases. Default: whole sequences.
        genomes : dict of str to Genome
            Genomes of BED files by their path, to which those that are read are added.
        require_labels : bool
            Whether every row must have a label, or get that of the file.
        base : int, optional
            First base of the site in the windows of a model, see
            :func:`seqmtl.io.tables.read_windows_in_parts`.
        pad : bool
            Whether sequences of different lengths are padded with N at their end.

        Raises
        ------
        InputFormatError
            If the file is invalid, or has a label other than that of all its rows.
        """
        options: dict[str, Any] = {"window": window, "organism": self.organism}
        if self.reference is not None:
            self._check_no_split("is BED, which has no splits")
            if self.reference not in genomes:
                genomes[self.reference] = load_genome(self.reference, padding=0)
            genome = genomes[self.reference]
            return self._of_peaks(genome, require_labels=require_labels, pad=pad, **options)
        if is_dataset(self.path) or os.path.isdir(self.path):
            return read_windows(self.path, split=self.split_or_none, **options)
        options["require_labels"] = require_labels and self.sign is None
        (windows,) = self._of_table(None, base, pad=pad, **options)
        return self._signed(windows)

    def _check_no_split(self, reason: str) -> None:
        if self.is_split_asked and self.split != "all":
            raise UsageError(
                f"must be all or left out, got {self.split!r}: {self.path} {reason}", "split"
            )

    @property
    def is_drawn_for(self) -> bool:
        """Whether negatives are drawn where labels are needed."""
        return self.reference is not None and self.sign is None

    def _of_peaks(
        self, genome: Genome, *, require_labels: bool, window: int | None, **options: Any
    ) -> Windows:
        """Read intervals of a genome; negatives are drawn if labels are needed."""
        is_alone = require_labels and self.is_drawn_for
        peaks = read_peaks(self.path, genome, window, once=require_labels)
        label = 1 if is_alone else self.sign or 0
        windows = windows_of_peaks(peaks, genome, label=label, **options)
        if require_labels and self.sign != -1:
            self._warn_of_trained(peaks, genome, window, "intervals", "leave out those of")
        if not is_alone:
            return windows
        others = [read_avoided(path, genome, window) for path in self.excluded]
        drawn = draw_negatives(peaks, genome, self.seed, others)
        self._warn_of_trained(drawn, genome, window, "drawn negatives", "add --exclude")
        negatives = windows_of_peaks(drawn, genome, label=-1, **options)
        logger.info(
            "%s: %d intervals, %d negatives drawn from %s",
            self.path,
            len(windows),
            len(negatives),
            self.reference,
        )
        parts = [pad_windows(part, windows.length, self.path) for part in (windows, negatives)]
        return concatenate(parts)

    def _warn_of_trained(
        self, peaks: Peaks, genome: Genome, window: int | None, what: str, remedy: str
    ) -> None:
        """Warn of intervals that overlap those that a model was trained on."""
        for path in self.trained:
            with suppress(OSError, SeqmtlError):  # it is another file by now
                learnt = read_avoided(path, genome, window)
                if n := n_overlapping(peaks, learnt, genome):
                    logger.warning(
                        "%s: %d of %d %s overlap positives of the training, so results are "
                        "misleading; %s %s",
                        self.path,
                        n,
                        len(peaks.begins),
                        what,
                        remedy,
                        path,
                    )

    def read_in_parts(self, window: int | None, *, pad: bool = False) -> Iterator[Windows]:
        """Yield the labelled windows of a table in parts, padded as by :meth:`read`.

        Raises
        ------
        InputFormatError
            If the table is invalid.
        """
        options: dict[str, Any] = {"window": window, "organism": self.organism}
        options["require_labels"] = self.sign is None
        return map(self._signed, self._of_table(PART, None, pad=pad, **options))

    def _signed(self, windows: Windows) -> Windows:
        """Give all windows the label of the file, if it has one."""
        if self.sign is None:
            return windows
        odd = (windows.labels == -self.sign).nonzero()[0]
        if odd.size:
            raise InputFormatError(
                f"all records must be {_CLASSES[self.sign]}, as the other files are "
                f"{_CLASSES[-self.sign]}, but {odd.size} of {len(windows)} have the label "
                f"{-self.sign}; correct the labels, or leave out --negatives",
                path=self.path,
                record=windows[odd[:1]].names[0],
            )
        windows.labels = windows.labels.copy()
        windows.labels[:] = self.sign
        return windows

    def _of_table(
        self, n: int | None, base: int | None, pad: bool, **options: Any
    ) -> Iterator[Windows]:
        """Yield windows of a table, n at a time, or of FASTA: those of the split, or all.

        With `base` they are those of a model, see :func:`seqmtl.io.tables.read_windows_in_parts`.

        Raises
        ------
        InputFormatError
            If the file is invalid, has other splits, or only one that is held out.
        """
        options |= {"site": self.site, "pad": pad} if base is None else {"base": base}
        read = partial(read_windows_in_parts, self.path, n or sys.maxsize, **options)
        n_parts = 0
        try:
            for windows in read(split=self.split_or_none):
                if not windows.split_names:
                    self._check_no_split("has no column split, or split= in its headers")
                yield windows
                n_parts += 1
        except InputFormatError as error:
            if error.option != "split" or self.split != "train" or self.path == "-":
                raise
            for windows in read(split=None):
                if len(windows.split_names) != 1 or {*windows.split_names} & _HELD_OUT:
                    raise
                if not n_parts:
                    log_one_split(windows, self.path)
                yield windows
                n_parts += 1

    def read_for(
        self, model: MultiTaskModel, genomes: dict[str, Genome], *, require_labels: bool
    ) -> Windows:
        """Read windows with the site at the position of the model, see :class:`ExampleSource`."""
        shift = model.shift
        if model.features.is_position_free:
            window: int | None = model.training.get("window")
            wide = _with_shift(window, shift)
            pad = window is None or not shift
            windows = self.read(wide, genomes, require_labels=require_labels, pad=pad)
            if window is not None and self.reference is None:
                logger.info(
                    "%s: the %d bases around the centre of each sequence are scored, as in "
                    "training; shorter ones as they are",
                    self.path,
                    window,
                )
            return _shifted(windows, window, shift)
        if is_dataset(self.path):
            return self._of_dataset(model)
        window, site = model.length, model.site
        wide = window + 2 * abs(shift)
        base = site.offset + abs(shift) + shift
        windows = self.read(wide, genomes, require_labels=require_labels, base=base)
        if windows.site is not None:
            site.require_known()
        if windows.length == wide:
            return windows.center(window, shift) if shift else windows
        if windows.length != window:
            raise SeqmtlError(
                f"windows of {windows.length} bases are shorter than the model's {wide}, and their "
                "site is unknown; give its first base (0-based) in a column site, or as site= in "
                "FASTA"
            )
        return windows

    def _of_dataset(self, model: MultiTaskModel) -> Windows:
        """Read windows of a dataset, cut around the site as those of the model."""
        window, shift = model.length, model.shift
        here = site_of_model(model.site, self.path, window, shift)
        cut = read_summary(self.path)["site"]["offset"] - here.offset, window
        options: dict[str, Any] = {"split": self.split_or_none, "organism": self.organism}
        return read_dataset(self.path, cut=cut, **options)


@dataclass(frozen=True)
class ExampleSource:
    """Files of examples, and which of them to read.

    Attributes
    ----------
    parts : tuple of ExampleFile
        A dataset, or tables, FASTA and BED files.
    """

    parts: tuple[ExampleFile, ...]

    @classmethod
    def of(  # noqa: PLR0913
        cls,
        data: Iterable[tuple[str | None, str]],
        organism: str | None = None,
        split: str = "all",
        site: int | None = None,
        *,
        negatives: Iterable[tuple[str | None, str]] = (),
        references: Iterable[tuple[str | None, str]] = (),
        excluded: Iterable[tuple[str | None, str]] = (),
        seed: int = 0,
        is_split_asked: bool = False,
    ) -> ExampleSource:
        """Return the source of some files.

        Parameters
        ----------
        data : iterable of (str or None, str)
            Organism of all rows of a file, or None, and its path.
        organism : str, optional
            Organism of all rows, or the only one to read of a dataset.
        split : str
            Split to read; all for every row.
        site : int, optional
            First base of the site in the sequences of tables and FASTA files.
        negatives : iterable of (str or None, str)
            Files like `data` whose rows are all negative; those of `data` are then all positive.
        references : iterable of (str or None, str)
            Organism, or None for all, and genome; the other files are then BED.
        excluded : iterable of (str or None, str)
            Organism, or None for all, and BED of intervals that drawn negatives do not overlap. Nor
            do they overlap those of other files of the same organism and genome.
        seed : int
            Seed of the negatives that are drawn from genomes.
        is_split_asked : bool
            Whether files without splits are refused, unless all rows are read.

        Raises
        ------
        UsageError
            If an organism is given both for all rows and for those of a file, a dataset is not
            the only file, an organism of BED has no genome, or intervals are excluded from nothing.
        """
        genomes = dict(references)
        positive, negative = list(data), list(negatives)
        signs = [1 if negative else None] * len(positive) + [-1] * len(negative)
        parts = []
        for (name, path), sign in zip([*positive, *negative], signs, strict=True):
            if name is not None and organism is not None:
                raise UsageError(
                    f"--organism names the organism of all rows, and {name}={path} that of a "
                    "file; leave one of them out"
                )
            if len(signs) > 1 and is_dataset(path):
                raise UsageError(
                    f"{path} is a dataset, which must be the only DATA, unless a model of seqmtl "
                    "pair takes two; name it alone"
                )
            genome = _genome_of(path, name or organism, genomes) if genomes else None
            task = name or organism
            parts.append(ExampleFile(path, task, sign, split, site, genome, seed, is_split_asked))
        return cls(tuple(_excluding(parts, list(excluded))))

    @property
    def paths(self) -> list[str]:
        """The paths of the files."""
        return [part.path for part in self.parts]

    @property
    def name(self) -> str:
        """The paths, for messages."""
        return ", ".join(self.paths)

    @property
    def dataset(self) -> str | None:
        """The path of the dataset, None if the files are others."""
        path = self.paths[0] if len(self.paths) == 1 else None
        return path if path is not None and is_dataset(path) else None

    @property
    def is_stream(self) -> bool:
        """Whether a file is standard input, which is not looked into."""
        return "-" in self.paths

    @property
    def has_rows(self) -> bool:
        """Whether it is a dataset or tables, whose rows can be read in parts."""
        if any(part.reference for part in self.parts):
            return False
        paths = [path for path in self.paths if path != "-" and not is_dataset(path)]
        return all(guess_format(path) == "table" for path in paths)

    @property
    def organism(self) -> str | None:
        """The organism of all rows, or the only one to read of a dataset."""
        names = {part.organism for part in self.parts}
        return names.pop() if len(names) == 1 else None

    @property
    def split(self) -> str:
        """The split to read; all for every row."""
        return self.parts[0].split

    @property
    def split_or_none(self) -> str | None:
        """The split to read, None for all rows."""
        return self.parts[0].split_or_none

    def organisms(self) -> list[str]:
        """Return the organisms that are named before the examples are read."""
        names = list(dict.fromkeys(part.organism for part in self.parts if part.organism))
        if names or self.dataset is None:
            return names
        facts = read_summary(self.dataset)["organisms"].items()
        splits = {name: entry["splits"].get(self.split, {}) for name, entry in facts}
        return [name for name in splits if self.split == "all" or splits[name].get("sites")]

    def read_labelled(
        self,
        window: int | None = None,
        shift: int = 0,
        features: FeatureDefinition | None = None,
    ) -> Windows:
        """Read labelled windows to train on, and log what is probably wrong with them.

        Longer sequences are trimmed to their centre, or to what `shift` makes of it. Without a
        shift, shorter ones are padded with N at their end if features need no positions, or if
        `features` are to be chosen (None) and there is neither a window nor a site.

        Raises
        ------
        InputFormatError
            If a file is invalid, or every sequence is shorter than the k-mers of the features.
        """
        wide = _with_shift(window, shift)
        if features is None:
            pad = window is None and self.dataset is None and self.parts[0].site is None
        else:
            pad = features.is_position_free and not shift
        genomes: dict[str, Genome] = {}
        parts = [part.read(wide, genomes, require_labels=True, pad=pad) for part in self.parts]
        windows = self._joined(parts, pad=pad)
        if wide is not None and windows.is_padded:
            longest = int(lengths_of(windows).max())
            if longest < wide:
                raise ParameterError(
                    f"must be at most the longest sequence, {longest} bases, got {window}"
                    f"{f' with a shift of {shift}' if shift else ''}; take a shorter one, or none",
                    "window",
                )
        windows = _shifted(windows, window, shift)
        self.log_faults(window_warnings([windows]))
        if features is None and windows.is_padded:
            check_no_site(windows)
            features = KmerCounts()  # those that training takes
        if features is not None and features.is_position_free:
            span = features.span(windows.length)
            self._check_lengths(short_windows(windows, span), len(windows), span)
        else:
            self.log_faults(find_misplaced(windows))
        self.log_faults(length_warnings(windows))
        return windows

    def _check_lengths(self, names: list[str], n: int, span: int) -> None:
        """Warn of the sequences, of n, that are shorter than the longest k-mers.

        Raises
        ------
        InputFormatError
            If all are.
        """
        if names and len(names) == n:
            raise InputFormatError(
                f"sequences must be as long as the longest k-mers, {span} bases, but all are "
                "shorter; choose shorter k-mers with --features",
                path=self.name,
            )
        self._warn_of_short(names, n, span, "leave them out, or choose shorter k-mers")

    def _warn_of_short(self, names: list[str], n: int, span: int, remedy: str) -> None:
        if names:
            self.log_faults(
                [
                    f"{len(names)} of {n} sequences are shorter than the longest k-mers, {span} "
                    f"bases (first: {names[0]}), and have fewer features; {remedy}"
                ]
            )

    def _joined(self, parts: list[Windows], *, pad: bool) -> Windows:
        """Return the windows of all files.

        Raises
        ------
        InputFormatError
            If their lengths or sites differ, some name their organism and others do not, or two
            names mean the same one.
        MemoryLimitError
            If they do not fit into memory, padded and joined.
        """
        if len(parts) == 1:
            return parts[0]
        if pad:
            length, longest = max(
                (windows.length, part.path) for windows, part in zip(parts, self.parts, strict=True)
            )
            if any(windows.length < length for windows in parts):
                n = sum(map(len, parts))
                require_memory(
                    2.0 * n * length,  # padded, and joined
                    f"{n} sequences of up to {length} bases ({longest})",
                    "cut the longest sequences, or leave them out",
                )
            parts = [pad_windows(windows, length, longest) for windows in parts]
        first, path = parts[0], self.parts[0].path
        for windows, part in zip(parts, self.parts, strict=True):
            check_alike(windows, part.path, first, path)
        windows = concatenate(parts)
        check_distinct(windows.task_names, self.name)
        return windows

    def read_in_parts(
        self,
        window: int | None,
        shift: int,
        memory: int,
        features: FeatureDefinition | None = None,
    ) -> Iterator[Windows]:
        """Yield labelled windows of a dataset, an organism at a time, or of tables.

        With features that need no positions, shorter sequences are padded with N at their end.

        Raises
        ------
        InputFormatError
            If a file is invalid.
        MemoryLimitError
            If a genome does not fit into the memory.
        """
        checker, names, n, span = WindowChecker(), list[str](), 0, 0
        pad = features is not None and features.is_position_free and not shift
        parts = self._parts(window, shift, pad) if self.dataset is None else self._organisms(memory)
        for part in parts:
            windows = part if window is None else part.center(window, shift)
            checker.add(windows)
            if pad and features is not None:
                n, span = n + len(windows), features.span(windows.length)
                names += short_windows(windows, span)
            yield windows
        self.log_faults(checker.faults())
        self._check_lengths(names, n, span)

    def _organisms(self, memory: int) -> Iterator[Windows]:
        """Yield the windows of a dataset, an organism at a time."""
        (part,) = self.parts
        genomes = read_summary(part.path)["genomes"]
        largest = max(genome["n_bases"] for genome in genomes.values())
        if largest > memory:
            raise MemoryLimitError(
                f"the largest genome takes {largest / 2**30:.1f} GiB, and --memory allows "
                f"{memory / 2**30:.1f}; give more"
            )
        for name in self.organisms():
            yield read_dataset(part.path, split=self.split_or_none, organism=name)

    def _parts(self, window: int | None, shift: int, pad: bool) -> Iterator[Windows]:
        """Yield the windows of tables, some at a time."""
        wide = _with_shift(window, shift)
        if pad and wide is None:
            unread = (part.read_in_parts(None, pad=True) for part in self.parts)
            wide = max((windows.length for windows in chain(*unread)), default=None)
        first = None
        for part in self.parts:
            for windows in part.read_in_parts(wide, pad=pad):
                first = first or windows
                check_alike(windows, part.path, first, self.parts[0].path)
                yield windows

    def read_for(self, model: MultiTaskModel, *, require_labels: bool) -> Windows:
        """Read windows, and cut them so that the site is at the position of the model.

        Windows of datasets, and of tables and FASTA files with the position of their site, are cut
        around it, with N for bases that they lack. Others are cut around their centre; those that
        have the length of the model's already are taken as they are, and shorter ones refused. For
        a model without positions, sequences of any length are read as they are.

        Raises
        ------
        SeqmtlError
            If a file is invalid, or a dataset has another signal.
        """
        genomes: dict[str, Genome] = {}
        parts = [
            replace(part, trained=_peaks_of(model, part)).read_for(
                model, genomes, require_labels=require_labels
            )
            for part in self.parts
        ]
        return self._joined(parts, pad=model.features.is_position_free)

    def read_to_score(self, model: MultiTaskModel, *, require_labels: bool) -> Windows:
        """Read windows as a model has them; with a single task, files need not name it.

        Raises
        ------
        SeqmtlError
            If a file is invalid, an organism is not named, or a dataset has another signal.
        """
        windows = self.read_for(model, require_labels=require_labels)
        if windows.task_names == (UNNAMED,) and len(model.tasks) == 1:
            windows.task_names = model.tasks
        check_organism_named(windows, model.tasks)
        if model.features.is_position_free:
            span = model.features.span(windows.length)
            names = short_windows(windows, span)
            self._warn_of_short(names, len(windows), span, "their scores mean little")
        return windows

    def warn_of_training_rows(self, windows: Windows, model: MultiTaskModel, what: str) -> None:
        """Warn if windows of a split are copies of rows of that which the model was trained on.

        Parameters
        ----------
        windows : Windows
            The windows of the split, as a model has them.
        model : MultiTaskModel
            The model.
        what : str
            What is misleading then.
        """
        trained = model.training.get("split", "train")
        has_both = windows.splits is not None and trained in windows.split_names
        if not has_both or self.is_stream or self.split in ("all", trained):
            return
        logger.info(
            "%s: looking for windows of the split %s in the split %s",
            self.name,
            self.split,
            trained,
        )
        parts = tuple(replace(part, split=trained) for part in self.parts)
        with messages_from(logging.WARNING):  # the file has its note
            rows = replace(self, parts=parts).read_for(model, require_labels=False)
        n_copies = count_copies(windows, rows, is_stranded=model.features.is_stranded)
        if n_copies >= MAX_IN_TRAINING * len(windows):
            logger.warning(
                "%s: %d of %d windows of the split %s are also in the split %s, so %s misleading; "
                "leave them out",
                self.name,
                n_copies,
                len(windows),
                self.split,
                trained,
                what,
            )

    def log_faults(self, faults: Iterable[str]) -> None:
        """Warn of what is probably wrong with examples."""
        for fault in faults:
            logger.warning("%s: %s", self.name, fault)


def _genome_of(path: str, organism: str | None, genomes: dict[str | None, str]) -> str:
    """Return the genome of a BED file.

    Raises
    ------
    UsageError
        If there is none, or the file is not BED.
    """
    if is_dataset(path) or (path != "-" and guess_format(path) == "fasta"):
        raise UsageError(f"--reference is for BED, but {path} is not; leave it out")
    genome = genomes.get(organism) or genomes.get(None)
    if genome is None:
        raise UsageError(
            f"the genome of {path} must be given, but --reference has only that of "
            f"{', '.join(map(str, genomes))}; write --reference {organism or 'NAME'}=FASTA"
        )
    return genome


def _excluding(
    parts: list[ExampleFile], excluded: list[tuple[str | None, str]]
) -> Iterator[ExampleFile]:
    """Yield files with the BED that their drawn negatives do not overlap.

    Raises
    ------
    UsageError
        If there is no file for which it is needed.
    """
    names = {part.organism for part in parts if part.is_drawn_for}
    for name, path in excluded:
        if not names or (name is not None and name not in names):
            given = f"{name}=" if name and names else ""
            rule = "must be for an organism of DATA" if given else "is for negatives that are drawn"
            raise UsageError(
                f"--exclude {given}{path} {rule} from the genome of DATA in BED; leave it out"
            )
    for part in parts:
        paths = [path for name, path in excluded if name in (None, part.organism)]
        paths += [
            other.path
            for other in parts
            if other is not part
            and (other.organism, other.reference) == (part.organism, part.reference)
        ]
        yield replace(part, excluded=tuple(paths)) if part.is_drawn_for else part


def _peaks_of(model: MultiTaskModel, part: ExampleFile) -> tuple[str, ...]:
    """Return other BED that a model was trained on, of the organism and genome of a file."""
    if part.reference is None:
        return ()
    here = os.path.realpath(part.path)
    return tuple(
        peaks["path"]
        for peaks in model.training.get("peaks", ())
        if os.path.realpath(peaks["reference"]) == os.path.realpath(part.reference)
        and peaks["organism"] in ("", part.organism or peaks["organism"])
        and os.path.realpath(peaks["path"]) != here
    )


def _with_shift(window: int | None, shift: int) -> int | None:
    """Return the bases of sequences that are needed for shifted windows."""
    return None if window is None else window + 2 * abs(shift)


def _shifted(windows: Windows, window: int | None, shift: int) -> Windows:
    """Return the windows, cut of those of :func:`_with_shift`."""
    if window is None or not shift:
        return windows
    return windows.center(window, shift)


def check_alike(windows: Windows, path: str, first: Windows, first_path: str) -> None:
    """Check that windows can be joined with those of the first file.

    Raises
    ------
    InputFormatError
        If their lengths or sites differ, or only some of them name their organism.
    """
    if windows.length != first.length:
        raise InputFormatError(
            f"sequences must have equal lengths, got {windows.length} bases here and "
            f"{first.length} in {first_path}; {one_length(min(windows.length, first.length))}",
            path=path,
        )
    if windows.site != first.site:
        raise InputFormatError(
            f"the site must be at one base in all files, got {windows.site} here and {first.site} "
            f"in {first_path}; cut the sequences to the same length around it",
            path=path,
        )
    if (windows.task_names == (UNNAMED,)) != (first.task_names == (UNNAMED,)):
        unnamed = path if windows.task_names == (UNNAMED,) else first_path
        raise InputFormatError(
            f"all files must name their organism or none, but this names none; write "
            f"NAME={unnamed}",
            path=unnamed,
        )


def log_one_split(windows: Windows, path: str) -> None:
    """Warn that the split of all windows is ignored."""
    logger.warning(
        "the split is %r in every row of %s; ignoring it and using all rows",
        windows.split_names[0],
        path,
    )


def check_organism_named(windows: Windows, organisms: Sequence[str]) -> None:
    """Check that windows name their organism, which is one of several.

    Raises
    ------
    SeqmtlError
        If they do not.
    """
    if windows.task_names == (UNNAMED,) and UNNAMED not in organisms:
        raise SeqmtlError(
            f"the windows do not name their organism; give one of {', '.join(organisms)} with "
            "--organism"
        )


def warn_if_trained_on(
    model: Model, paths: Sequence[str], names: Iterable[str], split: str | None, what: str
) -> None:
    """Warn if a model was trained on rows, or may have been on rows of the same organisms.

    Parameters
    ----------
    model : Model
        Model.
    paths : sequence of str
        Files or datasets of the rows.
    names : iterable of str
        Organisms or tasks of the rows.
    split : str or None
        Split of the rows, or all; None if the data have no splits.
    what : str
        What is misleading then.
    """
    trained = model.training.get("split", "train")
    if trained != "all" and split not in (None, "all", trained):
        return
    sources = {_real_path(path) for path in model.training.get("sources", [])}
    if not sources.isdisjoint(map(_real_path, paths)):
        rows = ", ".join(paths) + (f", split {trained}" if split else "")
        logger.warning(
            "the model was trained on %s, so %s misleading; give examples held out from training%s",
            rows,
            what,
            "" if split else ", or a split column (train, test)",
        )
    elif split is not None and any(is_known(name, model.tasks) for name in names):
        logger.warning(
            "if the model was trained on another copy of these rows (split %s of %s), %s "
            "misleading",
            trained,
            ", ".join(paths),
            what,
        )


def _real_path(path: str) -> str:
    """Return the real path of a file, or of the folder of a dataset."""
    return os.path.realpath(path.removesuffix("windows.tsv"))
