"""Accuracy over genomes: sites alone and in pairs, with and without homologues in training.

    python benchmarks/bench_genomes.py first.toml second.toml --tree six_eukaryotes --json OUT.json

Each TOML file, of `seqmtl dataset`, is one split of the same genomes. Donors and acceptors are made
into datasets, trained with the defaults, calibrated, paired and evaluated on the test regions, each
step a process of its own. With `--no-homologues` all of it is repeated without the sites of train
that have a homologue in valid or test; the test regions are the same. Prints AUPRC over every
candidate (mean over the splits), its difference without homologues, and the share of test sites
with a homologue in train. `--edge start stop` pairs with models of these edges of genes, too, which
all annotations must have. Files stay in `--folder`, and are not made again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from _common import add_result_option, make_parser, write_result

from seqmtl.dataset import read_config, write_dataset

SIGNALS = ("donor", "acceptor")


def seqmtl(*arguments: object) -> None:
    """Run a command, if its output (after -o or --json) does not exist."""
    words = [*map(str, arguments)]
    output = next(b for a, b in pairwise(words) if a in ("-o", "--json"))
    if not Path(output).exists():
        subprocess.run(
            [sys.executable, "-m", "seqmtl", *words, "-q"], check=True, stdout=subprocess.DEVNULL
        )


def evaluate(
    config: Path, folder: Path, tree: str, *, homologues: bool = True, edges: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return what `evaluate` says of the paired model of one split."""
    ends, names = "" if homologues else ".distinct", []
    for signal in (*SIGNALS, *edges):
        whole, data = (folder / f"{config.stem}.{signal}{end}" for end in ("", ends))
        seqmtl("dataset", config, "--signal", signal, "-o", whole)
        if not data.exists():
            stated = read_config(config, signal=signal)
            write_dataset(replace(stated, split=replace(stated.split, homologues=False)), data)
        seqmtl("train", data, "--tree", tree, "-o", f"{data}.raw")
        seqmtl("calibrate", f"{data}.raw", data, "-o", f"{data}.seqmtl")
        names.append((f"{data}.seqmtl", data, whole))
    models, data, whole = zip(*names[:2], strict=True)
    pair = folder / f"{config.stem}.{'genes' if edges else 'pair'}{ends}.seqmtl"
    options = [word for model, *_ in names[2:] for word in ("--edge", model)]
    seqmtl("pair", *models, *data, *options, "-o", pair)
    seqmtl("evaluate", pair, *whole, "--json", f"{pair}.json")
    found: dict[str, Any] = json.loads(Path(f"{pair}.json").read_text())["signals"]
    for signal, folder_ in zip(SIGNALS, whole, strict=True):
        summary = json.loads((folder_ / "summary.json").read_text())
        found[signal]["leakage"] = summary["leakage"]
    return found


def auprc(splits: list[dict[str, Any]], signal: str, way: str, organism: str) -> float:
    """Return the mean AUPRC (genome) over the splits."""
    return float(
        np.mean([split[signal][way]["tasks"][organism]["auprc_genome"] for split in splits])
    )


def main() -> None:
    """Run the benchmark."""
    parser = make_parser(__doc__)
    parser.add_argument("configs", type=Path, nargs="+")
    parser.add_argument("--tree", required=True)
    parser.add_argument("--folder", type=Path, default=Path("genomes"))
    parser.add_argument("--no-homologues", action="store_true")
    parser.add_argument("--edge", nargs="+", default=(), help="signals such as start stop")
    add_result_option(parser)
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)

    def run(**options: Any) -> list[dict[str, Any]]:
        return [
            evaluate(config, arguments.folder, arguments.tree, **options)
            for config in arguments.configs
        ]

    usual = run()
    genes = run(edges=tuple(arguments.edge)) if arguments.edge else None
    distinct = run(homologues=False) if arguments.no_homologues else None
    rows: list[dict[str, Any]] = []
    for signal in SIGNALS:
        organisms = list(usual[0][signal]["alone"]["tasks"])
        for organism in organisms:
            row: dict[str, Any] = {"signal": signal, "organism": organism}
            for way in ("alone", "paired"):
                row[way] = auprc(usual, signal, way, organism)
                if distinct:
                    row[f"{way}, difference"] = auprc(distinct, signal, way, organism) - row[way]
            if genes:
                row["with edges"] = auprc(genes, signal, "paired", organism)
            with_homologue, compared = (
                sum(split[signal]["leakage"][f"test_sites_{name}"][organism] for split in usual)
                for name in ("with_homologue_in_train", "compared")
            )
            row["with a homologue, %"] = 100 * with_homologue / max(1, compared)
            rows.append(row)
        own = [row for row in rows if row["signal"] == signal]
        mean = {key: float(np.mean([row[key] for row in own])) for key in [*own[0]][2:]}
        rows.append({"signal": signal, "organism": "mean", **mean})
    write_result(arguments, rows)


if __name__ == "__main__":
    main()
