"""Letters around start codons of many eukaryotes, and how they rank the start codons of others.

    python benchmarks/bench_starts.py G3PO --json OUT.json

G3PO is the folder of bench_genes.py. The start codon of a gene is that of the longest open frame of
its exons, from an ATG to a stop codon; the other ATGs of its sequence are compared. Prints for each
base beside the codon the log ratios of the letters, which are in `seqmtl/splicing/start_codons.py`,
and how often a start codon has more by it than another ATG of its gene, by ratios of the other
folds of families; ties count half.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from _common import Options, write_result
from bench_genes import FOLDS, Gene, read_genes, simulate
from numpy.typing import NDArray

from seqmtl.sequences import encode
from seqmtl.sequences.alphabet import OTHER
from seqmtl.splicing.start_codons import PLACES

COLUMNS = np.arange(len(PLACES))
LEAST = 150  # bases of coding sequence
STOPS = ("TAA", "TAG", "TGA")


def start_of(gene: Gene) -> int | None:
    """Return where the longest open frame of the exons begins, if it ends, and is not short."""
    bounds = [gene.begin, *(place for intron in sorted(gene.introns) for place in intron), gene.end]
    places = [place for begin, end in list(pairwise(bounds))[::2] for place in range(begin, end)]
    letters = "".join(gene.letters[place] for place in places)
    longest, start = LEAST - 1, None
    for frame in range(3):
        first = None
        for at in range(frame, len(letters) - 2, 3):
            codon = letters[at : at + 3]
            if first is None and codon == "ATG":
                first = at
            elif first is not None and codon in STOPS:
                if at - first > longest:
                    longest, start = at - first, places[first]
                first = None
    return start


def windows_of(letters: str, starts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the letters beside ATGs, shape (n, places)."""
    padded = np.pad(encode(letters), -PLACES[0], constant_values=OTHER)
    return padded[starts[:, np.newaxis] - PLACES[0] + PLACES]


def log_ratios(true: NDArray[np.uint8], others: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the log ratios of the shares of letters, shape (places, 5); 0 for other letters.

    One of each letter is added. Those of A and T at a place have the mean of those of C and G, so
    that the share of G and C of a genome counts nothing.
    """
    logs = []
    for windows in (true, others):
        counts = np.array([np.bincount(column, minlength=OTHER + 1) for column in windows.T])
        shares = counts[:, :OTHER] + 1.0
        logs.append(np.log(shares / shares.sum(axis=1, keepdims=True)))
    pairs = (logs[0] - logs[1])[:, [[0, 3], [1, 2]]]
    pairs += pairs.mean(axis=(1, 2), keepdims=True) - pairs.mean(axis=2, keepdims=True)
    return np.pad(pairs.reshape(-1, 4)[:, [0, 2, 3, 1]], ((0, 0), (0, 1)))


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, {}, simulate)
    parser.add_argument("folder", metavar="G3PO", type=Path)
    args = parser.parse_args()
    true, others = defaultdict(list), defaultdict(list)
    for gene in read_genes(args.folder).values():
        start = start_of(gene)
        if start is not None:
            at = np.flatnonzero([gene.letters.startswith("ATG", k) for k in range(gene.end)])
            true[gene.family].append(windows_of(gene.letters, np.array([start])))
            others[gene.family].append(windows_of(gene.letters, at[at != start]))

    def of(families: Any) -> list[NDArray[np.uint8]]:
        nothing = np.zeros((0, len(PLACES)), dtype=np.uint8)
        return [
            np.concatenate([nothing, *(one for family in families for one in parts[family])])
            for parts in (true, others)
        ]

    wins = []
    for families in FOLDS:
        table = log_ratios(*of(true.keys() - {*families}))
        for family in families:
            for start, other in zip(true[family], others[family], strict=True):
                of_start, of_others = table[COLUMNS, start], table[COLUMNS, other]
                of_both = [np.column_stack([of, of.sum(axis=1)]) for of in (of_start, of_others)]
                wins.append((np.sign(np.subtract(*of_both)).mean(axis=0) + 1) / 2)
    *higher, by_all = np.mean(wins, axis=0).tolist()
    table = np.round(log_ratios(*of(true.keys())), 2).tolist()
    rows: list[dict[str, Any]] = [
        {"place": place} | dict(zip("ACGT", ratios, strict=False)) | {"start is higher": share}
        for place, ratios, share in zip(PLACES, table, higher, strict=True)
    ]
    rows.append({"place": "all"} | dict.fromkeys("ACGT", "") | {"start is higher": by_all})
    write_result(args, rows)


if __name__ == "__main__":
    main()
