"""Speed, exactness and memory of the scan on a simulated AT-rich genome.

    python benchmarks/bench_scan.py [--length 140] [--degree 6] [--genome 20] [--threads 1]

Prints positions per second and strand of

- the scan (arrays of scores),
- a plain scan: one table of 4**D rows of L floats, one row added per position,
- separate lookups for every window, position by position,
- a roofline that only reads the rows the scan needs, one number per cache line,
- k-mers that need no position (spectrum:1-6,gapped:8/6), windows of the same length and of four
  times as many bases,

all on the same genome in the same run (best of the repeats; the compiling call is not timed), and
the largest difference from a sum in double precision. Before that, measures in separate processes
the peak memory of writing a BED file for a genome of the given and of double length.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _common import Options, peak_mib, run_alone, write_result
from numpy.typing import NDArray

from seqmtl import KmerCounts, use_threads
from seqmtl._jit import njit, prefetch
from seqmtl.io.genome import ContigPiece
from seqmtl.scanning import Scanner, SiteFinder, write_scan
from seqmtl.scanning.scanner import SlidingScanner

QUICK = {"length": 30, "degree": 3, "genome": 0.02, "repeats": 1}
SEED = 20
CONTIG = 1 << 22


@njit
def simulate_bases(draws, cumulative, state, codes):
    """Draw bases from a Markov chain of order 2; return the state after the last."""
    for p in range(draws.size):
        code = 0
        while code < 3 and draws[p] > cumulative[state, code]:
            code += 1
        codes[p] = code
        state = ((state << 2) | code) & 15
    return state


@njit
def add_float_rows(table, length, rows, scores):
    """Add one row of floats to `length` scores per position."""
    for p in range(rows.size):
        row = table[rows[p]]
        part = scores[p : p + length]
        for m in range(length):
            part[m] += row[m]


@njit
def look_up_windows(by_position, length, numbers, scores):
    """Score every window separately."""
    for s in range(scores.size):
        total = 0.0
        for l in range(length):
            total += by_position[l, numbers[s + l]]
        scores[s] = total


@njit
def read_rows(table, stride, rows):
    """Touch every cache line of every row."""
    total = 0
    for p in range(rows.size - 8):
        ahead = np.int64(rows[p + 8]) * stride
        here = np.int64(rows[p]) * stride
        for j in range(0, stride, 16):
            prefetch(table, ahead + j)
            total += table[here + j]
    return total


class SimulatedGenome:
    """An endless AT-rich genome, drawn while it is read."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(SEED)
        base = np.array([0.33, 0.17, 0.17, 0.33])
        self.cumulative = np.cumsum(self.rng.dirichlet(40 * base, size=16), axis=1)
        self.state = 0

    def draw(self, n: int) -> NDArray[np.uint8]:
        """Return the next n bases as codes."""
        codes = np.empty(n, dtype=np.uint8)
        self.state = simulate_bases(self.rng.random(n), self.cumulative, self.state, codes)
        return codes

    def contigs(self, n: int) -> Iterator[ContigPiece]:
        """Yield n bases in contigs of 4 Mb."""
        for start in range(0, n, CONTIG):
            yield ContigPiece(f"contig{start}", 0, self.draw(min(CONTIG, n - start)))


def simulate_model(length: int, degree: int) -> list[NDArray[np.float32]]:
    """Return weights that shrink with the degree, like trained ones."""
    rng = np.random.default_rng(SEED)
    return [
        (4 * 0.5**d * rng.standard_normal((length, 4**d))).astype(np.float32)
        for d in range(1, degree + 1)
    ]


def fold_floats(weights: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the folded table in single precision, shape (L, 4**D)."""
    length = weights[0].shape[0]
    table = np.zeros((length, 1), dtype=np.float32)
    for d, w in enumerate(weights, start=1):
        table = np.repeat(table, 4, axis=1)
        table[: length - d + 1] += w[: length - d + 1]
    return table


def number_words(codes: NDArray[np.uint8], degree: int) -> NDArray[np.int64]:
    """Return the base-4 code of the k-mer (k = `degree`) at every position."""
    padded = np.concatenate([codes, np.zeros(degree, dtype=np.uint8)]).astype(np.int64)
    numbers = np.zeros(codes.size, dtype=np.int64)
    for k in range(degree):
        numbers = numbers << 2 | padded[k : k + codes.size]
    return numbers


def largest_error(
    scores: NDArray[np.float32],
    codes: NDArray[np.uint8],
    weights: list[NDArray[np.float32]],
) -> float:
    """Compare 2,000 random windows with sums in double precision."""
    length = weights[0].shape[0]
    starts = np.random.default_rng(0).integers(0, scores.size, 2000)
    windows = codes[starts[:, None] + np.arange(length)]
    total = np.zeros(starts.size)
    for d, w in enumerate(weights, start=1):
        numbers = np.zeros((starts.size, length - d + 1), dtype=np.int64)
        for k in range(d):
            numbers = numbers << 2 | windows[:, k : length - d + 1 + k]
        total += w[np.arange(length - d + 1), numbers].sum(axis=1, dtype=np.float64)
    return float(np.abs(total - scores[starts]).max())


def best_time(work: Callable[[], object], repeats: int) -> float:
    """Return the shortest wall time of several calls in seconds, after an untimed one."""
    work()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def measure_speed(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return positions per second of all ways to scan, and the error of the scan."""
    length, degree = arguments.length, arguments.degree
    n = int(arguments.genome * 1e6)
    codes = SimulatedGenome().draw(n)
    weights = simulate_model(length, degree)
    scanner = Scanner(weights)
    rows = number_words(codes, degree)
    by_position = fold_floats(weights)
    by_word = np.ascontiguousarray(by_position[::-1].T)
    sums = np.zeros(n + length, dtype=np.float32)
    few = np.zeros(min(200_000, n - length), dtype=np.float64)
    stride = -(-length // 16) * 16  # numbers of 32 bits, in whole cache lines
    table = np.ones(4**degree * stride, dtype=np.int32)

    free = KmerCounts("spectrum:1-6,gapped:8/6")
    w = np.random.default_rng(SEED).standard_normal(free.n_features())
    (levels,) = zip(*free.position_weights(w, length, 0, 1), strict=True)
    at_middle = {"site_offset": length // 2, "site_length": 1}
    short = SlidingScanner(levels, 0.0, length, **at_middle)
    long = SlidingScanner(levels, 0.0, 4 * length, **at_middle)

    ways = {
        "scan, plus strand": (lambda: scanner.scan_contig(codes, "+"), n),
        "scan, minus strand": (lambda: scanner.scan_contig(codes, "-"), n),
        "one table of floats": (lambda: add_float_rows(by_word, length, rows, sums), n),
        "look up each window": (lambda: look_up_windows(by_position, length, rows, few), few.size),
        "roofline: read the rows": (lambda: read_rows(table, stride, rows), n),
        "no positions": (lambda: short.scan_contig(codes), n),
        "no positions, windows four times as long": (lambda: long.scan_contig(codes), n),
    }
    speeds = {
        name: size / best_time(work, arguments.repeats) / 1e6 for name, (work, size) in ways.items()
    }
    error = largest_error(scanner.scan_contig(codes), codes, weights)
    return [
        {
            "way": name,
            "million positions a second": speed,
            "largest error": error if name.startswith("scan") else "",
            "bound": scanner.max_error if name.startswith("scan") else "",
        }
        for name, speed in speeds.items()
    ]


def write_once(arguments: argparse.Namespace) -> None:
    """Write a BED file of a simulated genome and print this process's time and peak memory."""
    weights = simulate_model(arguments.length, arguments.degree)
    scanner = Scanner(
        weights,
        site_offset=arguments.length // 2 - 1,
        site_length=2,
    )
    finder = SiteFinder(scanner, consensus="AG")
    n = int(arguments.genome * 1e6)
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        summary = write_scan(Path(folder) / "sites.bed", SimulatedGenome().contigs(n), finder)
    seconds = time.perf_counter() - begin
    print(json.dumps({"records": summary.n_records, "seconds": seconds, "peak_mib": peak_mib()}))


def measure_memory(arguments: argparse.Namespace) -> None:
    """Print the peak memory of scans of one and two genome lengths to BED."""
    for factor in (1, 2):
        size = arguments.genome * factor
        names = ("length", "degree", "threads")
        options = [f"--{name}={getattr(arguments, name)}" for name in names]
        result = run_alone(__file__, "--write-once", "--genome", size, *options)
        print(
            f"{size:g} Mb, both strands, AG, to BED: {result['records']:,} records in "
            f"{result['seconds']:.1f} s, peak {result['peak_mib']:.0f} MiB"
        )


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK)
    parser.add_argument("--length", type=int, default=140, help="window length")
    parser.add_argument("--degree", type=int, default=6)
    parser.add_argument("--genome", type=float, default=20, help="megabases")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write-once", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write_once:
        with use_threads(arguments.threads):
            write_once(arguments)
        return
    with use_threads(arguments.threads):
        measure_memory(arguments)  # first: on Linux a child's peak is at least its parent's
        write_result(arguments, measure_speed(arguments))


if __name__ == "__main__":
    main()
