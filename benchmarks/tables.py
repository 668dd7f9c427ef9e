"""Fill the tables of the README and of docs/benchmarks.md from recorded results.

    python benchmarks/tables.py [--check]

`benchmarks/results` has what the programs here and `seqmtl compare` wrote with `--json`. In the
documents a table stands between ``<!-- table NAME -->`` and ``<!-- end -->``, and is written anew
from the function of that name below. `--check` changes nothing, and fails if a document is not what
would be written.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "docs/benchmarks.md")
NAMES = {
    "p_falciparum": "P. falciparum",
    "a_thaliana": "A. thaliana",
    "c_elegans": "C. elegans",
    "d_melanogaster": "D. melanogaster",
    "s_cerevisiae": "S. cerevisiae",
}
_BLOCK = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def read(name: str) -> Any:
    """Return a recorded result."""
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text("utf-8"))


def share(value: float, digits: int = 3, sign: str = "") -> str:
    """Format a number between -1 and 1 without the zero before the point."""
    return f"{value:{sign}.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"


def lay_out(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in lines)


def homologues() -> str:
    """List sites alone and paired, with and without homologues in training."""
    rows = [
        [
            f"{row['signal']}s, {NAMES.get(row['organism'], row['organism'])}",
            f"{row['with a homologue, %']:.1f} %",
            *(
                text
                for way in ("alone", "paired")
                for text in (share(row[way]), share(row[f"{way}, difference"], sign="+"))
            ),
        ]
        for row in read("genomes")["rows"]
    ]
    return lay_out(
        ["", "test sites with a homologue", "alone", "without", "paired", "without"], rows
    )


def few_labels() -> str:
    """List individual, union, tree and default by organism and number of labels."""
    rows = []
    for row in read("few_labels")["rows"]:
        values = [
            row[name] for name in row if name not in ("labels", "method", "deviation", "mean")
        ]
        mean = f"{share(row['mean'])} ± {share(row['deviation'])}"
        rows.append([f"{row['labels']:,}", row["method"], *map(share, values), mean])
    head = ["windows of each", "", "A. thal.", "C. eleg.", "D. mel.", "human", "P. falc.", "yeast"]
    return lay_out([*head, "mean"], rows)


def minisplice() -> str:
    """List minisplice, the site alone and pairs on the same candidates."""
    names = {"minisplice": "minisplice, trained on the other chromosomes",
             "seqmtl": "seqmtl, trained on seven of them, site alone",
             "paired": "`seqmtl pair`"}  # fmt: skip
    found = {(row["program"], row["signal"]): row for row in read("minisplice")["rows"]}
    rows = []
    for program, name in names.items():
        both = [found[program, signal] for signal in ("donor", "acceptor")]
        values = [f"{share(row['AUPRC'])} ({row['interval']})".replace("0.", ".") for row in both]
        above = " / ".join(row["minus minisplice"].replace("0.", ".") for row in both).strip(" /")
        seconds = f"{both[0]['scan of both signals, s']:.1f}"
        rows.append([name, *values, above, seconds])
    head = ["P. falciparum, every GT and AG of three held-out chromosomes", "AUPRC (genome) donors"]
    return lay_out([*head, "acceptors", "minus minisplice", "scan, s"], rows)


def comparison() -> str:
    """Compare with others, for the README."""
    few = {row["method"]: row["mean"] for row in read("few_labels")["rows"] if row["labels"] == 100}
    peer = {(row["program"], row["signal"]): row for row in read("minisplice")["rows"]}
    genomes = {(row["signal"], row["organism"]): row for row in read("genomes")["rows"]}
    worm = {(row["program"], row["windows"]): row["AUPRC"] for row in read("worm")["rows"]}
    adapt = {row["method"]: row for row in read("adapt")["rows"] if row["labels"] == 100}
    # of the same draws, of which there are fewer: by the paired difference
    joint = adapt["adapt"]["mean"] - float(adapt["joint"]["another minus it"].split()[1])
    once = {row["program"].split(",")[0]: row for row in read("liblinear")["rows"]}
    large = read("large")["rows"][0]
    signals = ("donor", "acceptor")

    def both(program: str) -> str:
        return " / ".join(share(peer[program, signal]["AUPRC"]) for signal in signals)

    def mean(way: str) -> str:
        return " / ".join(share(genomes[signal, "mean"][way]) for signal in signals)

    def of_worm(*programs: str) -> str:
        best = [max(worm[p, n] for p in programs if (p, n) in worm) for n in (1_000, 50_000)]
        return " / ".join(map(share, best))

    def cost(name: str) -> str:
        return f"{once[name]['CPU s']:.1f}, {once[name]['MB']:,.0f}"

    rows = [
        (
            "mean AUPRC (windows) of six organisms, acceptors, 100 windows each",
            share(few["default"]),
            ", ".join(f"{name} {share(few[name])}" for name in ("individual", "union", "tree")),
        ),
        (
            "P. falciparum, every GT / AG of held-out chromosomes, AUPRC (genome); paired",
            f"{both('seqmtl')}; {both('paired')}",
            f"minisplice {both('minisplice')}",
        ),
        (
            "splice scores for these 3.3 Mb, both signals and strands, s",
            f"{peer['paired', 'donor']['scan of both signals, s']:.1f}",
            f"minisplice {peer['minisplice', 'donor']['scan of both signals, s']:.1f}",
        ),
        (
            "five genomes, mean AUPRC (genome) of donors / acceptors, paired",
            mean("paired"),
            f"the site alone {mean('alone')}",
        ),
        (
            "C. elegans acceptors, AUPRC (windows) after 1,000 / 50,000 windows",
            of_worm("default"),
            f"minisplice {of_worm('minisplice', 'minisplice -m16 -e50')}",
        ),
        (
            "a new organism, 100 labels and a model of five others: mean AUPRC (windows) of "
            "acceptors, CPU s",
            f"{share(adapt['adapt']['mean'])}, {adapt['adapt']['CPU s']:.2f}",
            f"labels alone {share(adapt['own']['mean'])}; all data again {share(joint)}, "
            f"{adapt['joint']['CPU s']:.1f}",
        ),
        (
            "training once on 50,000 windows with `wd:8`, CPU s and MB",
            cost("seqmtl"),
            f"LinearSVC on explicit features, same objective {cost('LinearSVC')}",
        ),
        (
            "training once on 1.38 million windows of four organisms, hashed `wd:8`, CPU s",
            f"{large['CPU s']:.0f} (simulated)",
            f"Widmer et al. 2012 {large['published s']:,} (their sites, one core of 2012)",
        ),
    ]
    return lay_out(["", "seqmtl, default", "compared with"], [[*row] for row in rows])


TABLES: dict[str, Callable[[], str]] = {
    table.__name__.replace("_", "-"): table
    for table in (homologues, few_labels, minisplice, comparison)
}


def fill(text: str) -> str:
    """Return a document with its tables written anew."""
    return _BLOCK.sub(lambda block: block[1] + TABLES[block[2]]() + block[3], text)


def main() -> None:
    """Fill the tables."""
    stale = []
    for name in DOCUMENTS:
        path = ROOT / name
        text = path.read_text("utf-8")
        if fill(text) != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(fill(text), "utf-8")
    if "--check" in sys.argv and stale:
        raise SystemExit(f"not of benchmarks/results: {', '.join(stale)}; run benchmarks/tables.py")


if __name__ == "__main__":
    main()
