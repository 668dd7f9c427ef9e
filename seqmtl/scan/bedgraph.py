"""bedGraph: one value per base where a site begins, merging runs of equal values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqmtl.io.rows import check_first_field
from seqmtl.scan import sink
from seqmtl.scan._text_kernels import NUMBER_BYTES, bedgraph_lines
from seqmtl.scan.blocks import Block
from seqmtl.scan.filters import Probability
from seqmtl.scan.finder import SiteFinder
from seqmtl.scan.sink import DECIMALS, Output, TextSink, Track, describe
from seqmtl.scan.site_block import SiteBlock, merge_strands


class _Run(NamedTuple):
    """A run of bases of equal value, one line of the file."""

    contig: str
    start: int
    end: int
    value: float

    def joins(self, other: _Run) -> bool:
        """Tell whether the other run continues this one."""
        return self == other._replace(start=self.start, end=self.end) and self.end == other.start


class _Lines(NamedTuple):
    """Text of a block without its first and last run, and these runs."""

    parts: list[bytes]
    edges: list[_Run]
    n: int


class BedgraphSink(TextSink):
    """bedGraph; if sites on both strands begin at a base, the larger value."""

    def __init__(
        self, path: str, finder: SiteFinder, probability: Probability | None, track: Track
    ) -> None:
        super().__init__(path, finder, probability, track)
        self._held: _Run | None = None

    def header(self) -> list[str]:
        """Return the header lines."""
        what, site = describe(self.finder)
        value = "raw score" if self.track.value == "score" else "probability"
        return [
            what,
            f"{site}; coordinates 0-based half-open on the forward strand",
            f"# value: largest {value} of the sites whose interval begins at this base",
        ]

    def prepare(self, block: Block, strands: Sequence[SiteBlock]) -> _Lines:
        """Merge runs within a block, and format all but the first and the last."""
        sites = merge_strands(strands)
        values = track_values(sites.scores, self.track, self.probability)
        starts, ends, values = merge_values(sites.starts, values)
        name = block.piece.name
        edges = [
            _Run(name, int(starts[i]), int(ends[i]), float(values[i]))
            for i in (0, -1)[: min(starts.size, 2)]
        ]
        inner = slice(1, -1)
        parts = self._format(name, starts[inner], ends[inner], values[inner])
        return _Lines([self.pack(part) for part in parts], edges, starts[inner].size)

    def join(self, prepared: _Lines, output: Output) -> None:
        """Write a block, merging its first run with the last of the previous block."""
        ready: list[_Run] = []
        if prepared.edges:
            first, *others = prepared.edges
            if self._held is not None and self._held.joins(first):
                first = first._replace(start=self._held.start)
            elif self._held is not None:
                ready.append(self._held)
            *inner, self._held = [first, *others]
            ready += inner
        for run in ready:
            output.write(self._line(run))
        for part in prepared.parts:
            output.write(part)
        self.n_records += len(ready) + prepared.n

    def end(self, output: Output) -> None:
        """Write the last run."""
        if self._held is not None:
            output.write(self._line(self._held))
            self.n_records += 1
        super().end(output)

    def state(self) -> dict[str, Any]:
        """Return the state on which the next block depends."""
        return {**super().state(), "held": self._held}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the result of :meth:`state`."""
        super().restore(state)
        self._held = None if state["held"] is None else _Run(*state["held"])

    def _line(self, run: _Run) -> bytes:
        """Format one run with the loop used for all others, so that rounding agrees."""
        starts, ends = np.array([run.start]), np.array([run.end])
        values = np.array([run.value], dtype=np.float32)
        return self.pack(self._format(run.contig, starts, ends, values)[0])

    def _format(
        self,
        name: str,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        values: NDArray[np.float32],
    ) -> list[bytes]:
        contig = np.frombuffer(check_first_field(name), dtype=np.uint8)
        n_lines = min(sink.LINES, starts.size)
        buffer = np.empty(n_lines * (contig.size + 3 * NUMBER_BYTES), dtype=np.uint8)
        parts = []
        for first in range(0, starts.size, sink.LINES):
            part = slice(first, first + sink.LINES)
            size = bedgraph_lines(
                contig, starts[part], ends[part], values[part], DECIMALS,
                self.track.value == "probability", buffer,
            )  # fmt: skip
            parts.append(buffer[:size].tobytes())
        return parts


def track_values(
    scores: NDArray[np.float32], track: Track, probability: Probability | None
) -> NDArray[np.float32]:
    """Return the values of a track, raw scores or probabilities."""
    if track.value == "score":
        return scores
    assert probability is not None
    return np.asarray(probability(scores.astype(np.float64))).astype(np.float32)


def merge_values(
    starts: NDArray[np.int64], values: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return starts, ends and values of disjoint intervals, with the largest value per start.

    Consecutive starts with the same value become one interval.
    """
    values = values.copy()
    twice = np.flatnonzero(starts[1:] == starts[:-1])
    values[twice] = np.maximum(values[twice], values[twice + 1])
    starts, values = np.delete(starts, twice + 1), np.delete(values, twice + 1)
    if starts.size == 0:
        return starts, starts, values
    changes = (np.diff(starts) != 1) | (values[1:] != values[:-1])
    heads = np.concatenate([[0], np.flatnonzero(changes) + 1])
    tails = np.concatenate([heads[1:], [starts.size]]) - 1
    return starts[heads], starts[tails] + 1, values[heads]
