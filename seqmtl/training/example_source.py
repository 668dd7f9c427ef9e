"""Read the examples of a dataset, a table or a FASTA file, for training or as a model has them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seqmtl.exceptions import InputFormatError, MemoryLimitError, SeqmtlError
from seqmtl.io import guess_format
from seqmtl.io.dataset import files_of_data, is_dataset, read_dataset, read_summary
from seqmtl.io.tables import read_windows, read_windows_around, read_windows_in_parts
from seqmtl.io.window_store import PART
from seqmtl.linear_model.base import Model, is_known
from seqmtl.linear_model.dataset_site import site_of_model
from seqmtl.linear_model.model import MultiTaskModel
from seqmtl.sequences import Windows
from seqmtl.sequences.quality import WindowChecker, window_warnings
from seqmtl.training.site_detection import find_in_shorter, find_misplaced

logger = logging.getLogger(__name__)

_HELD_OUT = {"valid", "test"}  # splits that are trained on only if asked for


@dataclass(frozen=True)
class ExampleSource:
    """Where examples are, and which of them to read.

    Attributes
    ----------
    data : str
        Dataset folder, table, or FASTA file; ``-`` for standard input.
    organism : str, optional
        Organism of all rows, or the only one to read of a dataset.
    split : str
        Split to read; all for every row.
    site : int, optional
        First base of the site in the sequences of a table or a FASTA file.
    """

    data: str
    organism: str | None = None
    split: str = "all"
    site: int | None = None

    @property
    def is_dataset(self) -> bool:
        """Whether it is a dataset."""
        return is_dataset(self.data)

    @property
    def is_fasta(self) -> bool:
        """Whether it is a FASTA file; standard input is not looked into."""
        return self.data != "-" and not self.is_dataset and guess_format(self.data) == "fasta"

    @property
    def files(self) -> list[str]:
        """The files that are read."""
        return files_of_data(self.data)

    @property
    def split_or_none(self) -> str | None:
        """The split to read, None for all rows."""
        return None if self.split == "all" else self.split

    def organisms(self) -> list[str]:
        """Return the organisms that are named before the examples are read."""
        if self.organism:
            return [self.organism]
        if not self.is_dataset:
            return []
        facts = read_summary(self.data)["organisms"].items()
        splits = {name: entry["splits"].get(self.split, {}) for name, entry in facts}
        return [name for name in splits if self.split == "all" or splits[name].get("sites")]

    def read_labelled(self, window: int | None = None, shift: int = 0) -> Windows:
        """Read labelled windows to train on, and log what is probably wrong with them.

        Longer sequences are trimmed to their centre, or to what `shift` makes of it.

        Raises
        ------
        InputFormatError
            If the file is invalid.
        """
        wide = None if window is None else window + 2 * abs(shift)
        windows = self._read(wide, require_labels=True)
        if window is not None and shift:
            windows = windows.center(window, shift)
        self.log_faults([*window_warnings([windows]), *find_misplaced(windows)])
        return windows

    def read_in_parts(self, window: int | None, shift: int, memory: int) -> Iterator[Windows]:
        """Yield labelled windows of a dataset, an organism at a time, or of a table.

        Raises
        ------
        InputFormatError
            If the file is invalid.
        MemoryLimitError
            If a genome does not fit into the memory.
        """
        checker = WindowChecker()
        for part in (
            self._parts_of_dataset(memory) if self.is_dataset else self._parts(window, shift)
        ):
            windows = part if window is None else part.center(window, shift)
            checker.add(windows)
            yield windows
        self.log_faults(checker.faults())

    def _parts_of_dataset(self, memory: int) -> Iterator[Windows]:
        genomes = read_summary(self.data)["genomes"]
        largest = max(genome["n_bases"] for genome in genomes.values())
        if largest > memory:
            raise MemoryLimitError(
                f"the largest genome takes {largest / 2**30:.1f} GiB, and --memory allows "
                f"{memory / 2**30:.1f}; give more"
            )
        for name in self.organisms():
            yield read_dataset(self.data, split=self.split_or_none, organism=name).windows

    def _parts(self, window: int | None, shift: int) -> Iterator[Windows]:
        wide = None if window is None else window + 2 * abs(shift)
        return self._of_table(wide, PART)

    def read_for(self, model: MultiTaskModel, *, require_labels: bool) -> Windows:
        """Read windows, and cut them so that the site is at the position of the model.

        Windows of datasets, and of tables and FASTA files with the position of their site, are cut
        around it, with N for bases that they lack. Others are cut around their centre if they are
        longer than those of the model, or aligned by the letters of the site if they are shorter.

        Raises
        ------
        SeqmtlError
            If a file is invalid, a dataset has another signal, or the site of shorter windows is
            unknown.
        """
        if not self.is_dataset:
            return self._of_file(model, require_labels=require_labels)
        window, shift = model.length, model.shift
        here = site_of_model(model.site, self.data, window, shift)
        cut = read_summary(self.data)["site"]["offset"] - here.offset, window
        options: dict[str, Any] = {"split": self.split_or_none, "organism": self.organism}
        return read_dataset(self.data, cut=cut, **options).windows

    def read_to_score(self, model: MultiTaskModel, *, require_labels: bool) -> Windows:
        """Read windows as a model has them; with a single task, FASTA need not name it.

        Raises
        ------
        SeqmtlError
            If a file is invalid, an organism is not named, or a dataset has another signal.
        """
        is_unnamed = not self.organism and len(model.tasks) == 1 and self.is_fasta
        source = replace(self, organism=model.tasks[0]) if is_unnamed else self
        windows = source.read_for(model, require_labels=require_labels)
        check_organism_named(windows, model.tasks)
        return windows

    def _of_file(self, model: MultiTaskModel, *, require_labels: bool) -> Windows:
        """Read windows of a table or a FASTA file with the site at the position of the model."""
        window, shift, site = model.length, model.shift, model.site
        wide = window + 2 * abs(shift)
        in_wide = replace(site, offset=site.offset + abs(shift) + shift)
        windows = self._read(wide, require_labels=require_labels, base=in_wide.offset)
        if windows.site is not None:
            site.require_known()
        if windows.length == wide:
            return windows.center(window, shift) if shift else windows
        likely = [in_wide.offset - (wide - windows.length) // 2]
        if windows.length == window and site.offset not in likely:
            likely.append(site.offset)
        windows.site = find_in_shorter(site, windows, wide, likely)
        logger.info(
            "windows of %d bases: the site begins at base %d (0-based); what they lack of the "
            "model's %d is N",
            windows.length,
            windows.site,
            window,
        )
        return windows.with_site_at(site.offset, window)

    def _read(
        self, window: int | None, *, require_labels: bool, base: int | None = None
    ) -> Windows:
        """Read windows; `base` is the site in the `window` bases of a model."""
        options: dict[str, Any] = {"window": window, "organism": self.organism}
        if self.is_dataset or os.path.isdir(self.data):
            return read_windows(self.data, split=self.split_or_none, **options)
        if guess_format(self.data) == "fasta":
            read, site = self._reader(base)
            return read(self.data, require_labels=require_labels, **site, **options)
        (windows,) = self._of_table(window, require_labels=require_labels, base=base)
        return windows

    def _reader(self, base: int | None) -> tuple[Callable[..., Windows], dict[str, int | None]]:
        """Return the reader of a file, for training or for a model, and its site argument."""
        if base is None:
            return read_windows, {"site": self.site}
        return read_windows_around, {"base": base}

    def _of_table(
        self,
        window: int | None,
        n: int | None = None,
        *,
        require_labels: bool = True,
        base: int | None = None,
    ) -> Iterator[Windows]:
        """Yield the windows of a table, n at a time: those of the split, or all if none has it.

        With `base` they are those of a model, see :func:`seqmtl.io.tables.read_windows_around`.

        Raises
        ------
        InputFormatError
            If the table is invalid, has other splits, or only one that is held out.
        """
        read, site = self._reader(base)
        options: dict[str, Any] = {"window": window, "organism": self.organism, **site}

        def parts(split: str | None) -> Iterator[Windows]:
            if n is None:
                yield read(self.data, split=split, require_labels=require_labels, **options)
            else:
                yield from read_windows_in_parts(self.data, n, split=split, **options)

        n_parts = 0
        try:
            for windows in parts(self.split_or_none):
                yield windows
                n_parts += 1
        except InputFormatError:
            if n_parts or self.split != "train":
                raise
            for windows in parts(None):
                if len(windows.split_names) != 1 or {*windows.split_names} & _HELD_OUT:
                    raise
                if not n_parts:
                    self.log_one_split(windows)
                yield windows
                n_parts += 1

    def log_one_split(self, windows: Windows) -> None:
        """Warn that the split of all windows is ignored."""
        logger.warning(
            "the split column is %r in every row of %s; ignoring it and using all rows",
            windows.split_names[0],
            self.data,
        )

    def log_faults(self, faults: Iterable[str]) -> None:
        """Warn of what is probably wrong with examples."""
        for fault in faults:
            logger.warning("%s: %s", self.data, fault)


def check_organism_named(windows: Windows, organisms: Sequence[str]) -> None:
    """Check that windows name their organism, which is one of several.

    Raises
    ------
    SeqmtlError
        If they do not.
    """
    if windows.task_names == ("task",) and "task" not in organisms:
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
        What is too good then.
    """
    trained = model.training.get("split", "train")
    if trained != "all" and split not in (None, "all", trained):
        return
    sources = {_real_path(path) for path in model.training.get("sources", [])}
    if not sources.isdisjoint(map(_real_path, paths)):
        rows = ", ".join(paths) + (f", split {trained}" if split else "")
        logger.warning(
            "the model was trained on %s, so %s too good; give examples held out from training%s",
            rows,
            what,
            "" if split else ", or a split column (train, test)",
        )
    elif split is not None and any(is_known(name, model.tasks) for name in names):
        logger.warning(
            "if the model was trained on another copy of these rows (split %s of %s), %s too good",
            trained,
            ", ".join(paths),
            what,
        )


def _real_path(path: str) -> str:
    """Return the real path of a file, or of the folder of a dataset."""
    return os.path.realpath(path.removesuffix("windows.tsv"))
