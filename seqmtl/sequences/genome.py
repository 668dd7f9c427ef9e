"""Encoded genomes: contigs in one flat buffer, separated by N."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EXAMPLES = 5
_VERSION = re.compile(r"\.\d+$")


@dataclass(frozen=True, eq=False)
class ContigTable:
    """The location of contigs in a flat buffer, without their sequence.

    Parameters
    ----------
    names : sequence of str
        Contigs in the order of the buffer.
    starts : ndarray of int64, shape (n_contigs,)
        0-based position of each contig's first base in the buffer, increasing.
    lengths : ndarray of int64, shape (n_contigs,)
        Length of each contig in bases.
    """

    names: tuple[str, ...]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def contig_of(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of the contig that contains, or is nearest to, each buffer position."""
        ends = self.starts + self.lengths
        middles = (ends[:-1] + self.starts[1:] + 1) // 2
        return np.searchsorted(middles, positions, side="right")

    def contain(self, starts: NDArray[np.int64], length: int) -> NDArray[np.bool_]:
        """Return which windows of the buffer, by their first bases, are inside a contig."""
        number = np.searchsorted(self.starts, starts, side="right") - 1
        is_inside: NDArray[np.bool_] = starts + length <= (self.starts + self.lengths)[number]
        return is_inside

    def n_windows(self, length: int) -> int:
        """Return the number of windows inside the contigs."""
        return int(np.maximum(self.lengths - length + 1, 0).sum())

    def window_names(
        self, starts: NDArray[np.int64], length: int, is_reverse: NDArray[np.bool_]
    ) -> list[str]:
        """Return ``contig:start-end(strand)``, 0-based half-open, of windows of the buffer.

        A window that extends beyond its contig has a negative start, or an end above the contig's
        length.
        """
        contig = self.contig_of(starts + length // 2)
        begins = starts - self.starts[contig]
        rows = zip(contig.tolist(), begins.tolist(), is_reverse.tolist(), strict=True)
        return [
            f"{self.names[number]}:{begin}-{begin + length}({'-' if reverse else '+'})"
            for number, begin, reverse in rows
        ]


@dataclass(frozen=True, eq=False)
class Genome:
    """Contigs encoded in one flat buffer, separated and surrounded by N.

    Several genomes may share one buffer; their windows are then joined without copying.

    Parameters
    ----------
    codes : ndarray of uint8
        Encoded bases, see :mod:`seqmtl.sequences.alphabet`.
    contigs : ContigTable
        Location of this genome's contigs in `codes`.
    aliases : mapping of str to str
        Contigs by their names in other files, where these differ.
    """

    codes: NDArray[np.uint8]
    contigs: ContigTable
    aliases: Mapping[str, str] = field(default_factory=dict)
    _index: dict[str, int] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._index.update({name: i for i, name in enumerate(self.contigs.names)})

    def __len__(self) -> int:
        return len(self.contigs.names)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __repr__(self) -> str:
        return f"Genome(n_contigs={len(self)}, n_bases={self.n_bases})"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the contigs."""
        return self.contigs.names

    @property
    def starts(self) -> NDArray[np.int64]:
        """Position of each contig's first base in `codes`."""
        return self.contigs.starts

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each contig in bases."""
        return self.contigs.lengths

    @property
    def n_bases(self) -> int:
        """Total length of all contigs in bases."""
        return int(self.lengths.sum())

    @property
    def span(self) -> tuple[int, int]:
        """Start and end of this genome in `codes`."""
        if not len(self):
            return 0, 0
        return int(self.starts[0]), int(self.starts[-1] + self.lengths[-1])

    def index(self, name: str) -> int:
        """Return the index of a contig.

        Raises
        ------
        ValueError
            If there is no such contig; the message lists existing ones.
        """
        if name not in self._index:
            raise ValueError(unknown_contig([name], self.names))
        return self._index[name]

    def indices(self, names: Sequence[str] | NDArray[Any]) -> NDArray[np.int64]:
        """Return the index of each contig by its name or alias, or -1 if the genome lacks it."""
        index = {name: self._index.get(self.aliases.get(name, name), -1) for name in {*names}}
        return np.array([index[name] for name in names], dtype=np.int64)

    def contig(self, name: str) -> NDArray[np.uint8]:
        """Return the codes of a contig, a view."""
        number = self.index(name)
        return self.codes[self.starts[number] : self.starts[number] + self.lengths[number]]


def unknown_contig(requested: Sequence[str], available: Sequence[str]) -> str:
    """Explain that contigs are unknown, with examples, and whether "chr" is the cause.

    Parameters
    ----------
    requested : sequence of str
        Requested contigs, at least one of which is missing.
    available : sequence of str
        Contigs of the genome.
    """
    contigs = set(available)
    missing = [name for name in requested if name not in contigs]
    hint = "use the genome that the sites were made for, or rename the contigs"
    if any(f"chr{name}" in contigs for name in missing):
        hint = "the names match when 'chr' is added to those asked for: rename one side"
    elif any(name.startswith("chr") and name[3:] in contigs for name in missing):
        hint = "the names match when 'chr' is removed from those asked for: rename one side"
    else:
        cores = {_core(name): name for name in available}
        similar = next((name for name in missing if _core(name) in cores), None)
        if similar is not None:
            hint = f"{similar!r} may be {cores[_core(similar)]!r}: rename one side"
    return (
        f"contig must be one of the genome's ({_examples(available)}), got {missing[0]!r} "
        f"(asked for: {_examples(requested)}); {hint}"
    )


def _core(name: str) -> str:
    """Return the part of a name by which contigs of two files may be the same.

    This is its first word without quotes, case, version and what is before a bar, as in
    ``gi|12|ref|NC_1.1|``.
    """
    first_word = next(iter(name.strip('"').split()), "").rstrip("|").rpartition("|")[2]
    return _VERSION.sub("", first_word.lower().removeprefix("chr"))


def _examples(names: Sequence[str]) -> str:
    first = ", ".join(names[:_EXAMPLES])
    return f"{first}, ... {len(names)} in all" if len(names) > _EXAMPLES else first or "none"
