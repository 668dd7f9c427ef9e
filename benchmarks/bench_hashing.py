"""Accuracy, memory and time of hashed features by the number of bits.

    python benchmarks/bench_hashing.py DATA [--features wd:8] [--bits 12 14 16 18 20 22 0]
        [--options "--selection none -C 1"]

DATA is a table of windows with a split column, or the folder of a dataset. For every number of bits
(0: exact indices) one `seqmtl train` and one `seqmtl evaluate` of the test windows run as whole
processes on one thread. Prints the mean AUPRC (windows) over organisms, its mean difference from
the last row, paired by organism, with its standard error over organisms; CPU seconds and peak
memory of training; and the size of the model.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import _toy
import numpy as np
from _common import Options, seqmtl, write_result

QUICK = {"features": "wd:3", "bits": [6, 0]}


def main() -> None:
    """Run the benchmark."""
    parser = Options(__doc__, QUICK, _toy.windows)
    parser.add_argument("data")
    parser.add_argument("--features", default="wd:8")
    parser.add_argument("--bits", type=int, nargs="+", default=[12, 14, 16, 18, 20, 22, 0])
    parser.add_argument("--options", default="--selection none -C 1", help="of seqmtl train")
    arguments = parser.parse_args()
    options, found = [*arguments.options.split(), "--threads", 1], []
    with tempfile.TemporaryDirectory() as folder:
        model, metrics = Path(folder) / "model.seqmtl", Path(folder) / "metrics.json"
        for bits in arguments.bits:
            features = f"{arguments.features},hash:{bits}" if bits else arguments.features
            train = ["train", arguments.data, "--features", features, *options]
            cpu, _, mb = seqmtl(*train, "-o", model)
            seqmtl("evaluate", model, arguments.data, "--json", metrics)
            tasks = json.loads(metrics.read_text())["tasks"]
            auprc = np.array([own["auprc_windows"] for own in tasks.values()])
            found.append((bits, auprc, cpu, mb, model.stat().st_size / 1e6))
    rows = []
    for bits, auprc, cpu, mb, size in found:
        change = auprc - found[-1][1]
        several = change.size > 1
        rows.append(
            {
                "bits": bits or "exact",
                "AUPRC": float(auprc.mean()),
                "difference": float(change.mean()),
                "error": float(change.std(ddof=1) / change.size**0.5) if several else "",
                "CPU s": cpu,
                "peak MB": mb,
                "model MB": size,
            }
        )
    write_result(arguments, rows)


if __name__ == "__main__":
    main()
