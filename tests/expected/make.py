"""What users get on a small simulated case, and the files that say what it should be.

``python tests/expected/make.py`` writes anew those of the files beside this one that have changed.
A file whose numbers agree within the tolerance stays as it is, so that the diff of a commit shows
what was meant to change, and not the last digits of another processor.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import importlib
import io
import itertools
import json
import re
import struct
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import seqmtl
from seqmtl.commands.main import main as seqmtl_main
from seqmtl.comparison import Comparison, run_comparison
from seqmtl.comparison.protocol import count_split, drawn_parts
from seqmtl.comparison.results import make_document, to_markdown
from seqmtl.features.positional_kmers import PositionalKmers
from seqmtl.relations import TaskKernel
from seqmtl.relations.kinds import KINDS, PLAIN
from seqmtl.scanning.writers.formats import SUFFIXES
from seqmtl.simulation import simulate, write_simulation
from seqmtl.training.settings import Settings

FOLDER = Path(__file__).resolve().parent
SMALL = {"n_chromosomes": 2, "chromosome_length": 30_000}
TREE = "((ape:0.2,man:0.2):0.8,fly:1.0);"

#: What tells of the version, the clock, the machine, or how the solver came to its optimum.
EXCLUDED = frozenset(
    [
        "folder",
        "version",
        "seqmtl_version",
        "seconds",
        "threads",
        "megabases_per_second",
        "peak_memory_mib",
        "work",
        "history",
        "n_epochs",
        "epochs",
        "duality_gap",
        "n_support",
    ]
)
#: Columns of whole numbers that are rounded scores, of which the last bits depend on the processor.
ROUNDED = {
    "scan/man.bed": 4,
    "scan/man.spsc": 4,
    "scan/man.plus.bw.tsv": 3,
    "scan/man.minus.bw.tsv": 3,
}

_RTOL = 1e-4
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
_MAX_DIGITS = 9  # of repr, which writes as many as it takes

Outputs = dict[str, str]


def run(command: str) -> str:
    """Run a command in this process, and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = seqmtl_main(command.split())
    if code:
        raise RuntimeError(f"seqmtl {command}: exit code {code}")
    return printed.getvalue()


def train_in_double_precision(command: str) -> None:
    """Train far beyond the usual tolerance, so that the optimum is one on every processor."""
    module = importlib.import_module("seqmtl.commands.train")
    usual = module._settings

    def settings(request: Any) -> Any:
        return replace(usual(request), dtype="float64", tol=1e-8)

    with mock.patch.object(module, "_settings", settings):
        run(f"train {command}")


def read(path: str | Path) -> str:
    """Return the text of a file, without the version."""
    data = Path(path).read_bytes()
    text = (gzip.decompress(data) if str(path).endswith(".gz") else data).decode()
    return text.replace(seqmtl.__version__, "VERSION")


def as_json(content: Any) -> str:
    """Return JSON without what is left out, and with numbers of six digits."""
    return _dump(_shorten(content))


def _dump(content: Any) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def read_json(path: str | Path) -> str:
    """Return a file of JSON as it is compared."""
    return as_json(json.loads(read(path)))


def _shorten(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shorten(v) for key, v in value.items() if key not in EXCLUDED}
    if isinstance(value, list):
        return [_shorten(v) for v in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def digests(*paths: Path) -> str:
    """Return digests, numbers of lines and first lines of files of letters and integers."""
    found = {}
    for path in sorted(paths):
        text = read(path)
        digest = hashlib.sha256(text.encode()).hexdigest()
        lines = text.splitlines()
        found[path.as_posix()] = {"sha256": digest, "lines": len(lines), "first": lines[0][:100]}
    return as_json(found)


def describe_model(path: str) -> str:
    """Return the names, types and shapes of the arrays of a model file, and the keys of its header.

    The file is read as its format says: the size of the header, the header, the arrays.
    """
    data = Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__")
    found = {"metadata": {name: _keys(json.loads(text)) for name, text in metadata.items()}}
    for name, entry in header.items():
        shape = entry["shape"]
        if "rows" in header and name in ("rows", "W"):  # features of support vectors
            shape = ["used", *shape[1:]]
        found[name] = {"dtype": entry["dtype"], "shape": shape}
    return _dump(found)


def _keys(value: Any) -> Any:
    """Return the tree of keys, those of a list's first item for the whole list."""
    if isinstance(value, dict):
        return {key: _keys(value[key]) for key in sorted(value)}
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return [_keys(value[0])]
    return type(value).__name__


def simulate_signals() -> Outputs:
    """Simulate a little of every signal."""
    outputs = {}
    for signal in ("acceptor", "donor"):
        simulated = simulate(seed=3, signal=signal, n_windows=40, window=60, **SMALL)
        write_simulation(simulated, signal)
        paths = [path for path in Path(signal).rglob("*") if path.is_file()]
        outputs[f"simulate/{signal}.json"] = digests(*paths)
    return outputs


def prepare() -> None:
    """Write the case that the other steps work on: sim/, and the model m.seqmtl."""
    Path("tree.nwk").write_text(TREE + "\n")
    simulated = simulate("tree.nwk", seed=7, signal="donor", n_windows=300, window=60, **SMALL)
    write_simulation(simulated, "sim")
    train_in_double_precision(
        "sim/windows.tsv.gz -q --tree sim/tree.nwk --window 41 --features wd:3 --selection none "
        "-o m.seqmtl"
    )


def training() -> Outputs:
    """Tell what training says of itself, and train models of other kinds."""
    rest = "sim/windows.tsv.gz -q --tree tree.nwk --window 41 --features wd:2"
    run(f"train {rest} -o default.seqmtl")
    run(f"train {rest} --mkl hierarchical -o mkl.seqmtl")
    outputs = {
        f"train/{name}.json": describe_model(f"{name}.seqmtl") for name in ("m", "default", "mkl")
    }
    outputs["train/info.json"] = as_json(json.loads(run("info m.seqmtl --json -")))
    lines = run("info m.seqmtl").splitlines(keepends=True)
    outputs["train/info.txt"] = "".join(
        line for line in lines if not line.startswith(("duality gap", "support"))
    )
    return outputs


def dataset() -> Outputs:
    """Make a data set, and calibrate and evaluate on its regions."""
    config = Path("sim/dataset.toml").read_text()
    extra = "window = 41\n[decoys]\nclearance = 41\n[split]\nblock = 3000\n"
    Path("sim/small.toml").write_text(config.replace("\n\n", f"\n{extra}\n", 1))
    run("dataset sim/small.toml -q -o ds")
    train_in_double_precision(
        "ds -q --tree tree.nwk --features wd:2 --selection none -o raw.seqmtl"
    )
    run("calibrate raw.seqmtl ds -q -o calibrated.seqmtl --json calibrated.json")
    run("evaluate calibrated.seqmtl ds -q --bootstrap 0 --json regions.json")
    return {
        "dataset/digests.json": digests(Path("ds/windows.tsv"), Path("ds/sites.tsv")),
        "dataset/regions.tsv": read("ds/regions.tsv"),
        "dataset/excluded.tsv": read("ds/excluded.tsv"),
        "dataset/files.json": as_json(sorted(path.name for path in Path("ds").iterdir())),
        "dataset/summary.json": read_json("ds/summary.json"),
        "dataset/calibrated.json": read_json("calibrated.json"),
        "dataset/evaluated.json": read_json("regions.json"),
        "dataset/model.json": describe_model("calibrated.seqmtl"),
    }


def scan() -> Outputs:
    """Scan a genome into every format."""
    suffixes = [suffixes[0] for suffixes in SUFFIXES.values()]
    for name in (f"man{suffix}" for suffix in suffixes):
        run(
            f"scan m.seqmtl sim/genomes/man.fa -q --organism man --top 40 -o {name} "
            f"--json {name}.json"
        )
    names = [f"man{'.bw.json' if suffix == '.bw' else suffix}" for suffix in suffixes]
    outputs = {
        f"scan/{name}": read_json(name) if name.endswith("json") else read(name) for name in names
    }
    for strand in ("plus", "minus"):
        outputs[f"scan/man.{strand}.bw.tsv"] = _bigwig_text(f"man.{strand}.bw")
    return outputs


def _bigwig_text(path: str) -> str:
    """Return the intervals of a track, with values in the steps that scores are rounded to."""
    import pyBigWig

    with contextlib.closing(pyBigWig.open(path)) as track:
        lengths, levels = track.chroms(), track.header()["nLevels"]
        found = {contig: track.intervals(contig) or () for contig in lengths}
    steps = max(row[2].as_integer_ratio()[1] for rows in found.values() for row in rows)
    lines = [f"# {levels} zoom levels, values in 1/{steps}\n"]
    for contig, length in lengths.items():
        lines.append(f"# {contig} {length}\n")
        rows = found[contig]
        lines += [f"{contig}\t{row[0]}\t{row[1]}\t{row[2] * steps:.0f}\n" for row in rows]
    return "".join(lines)


def predict() -> Outputs:
    """Score and judge windows."""
    run("predict m.seqmtl sim/windows.tsv.gz -q -o scores.tsv")
    printed = run("evaluate m.seqmtl sim/windows.tsv.gz -q --bootstrap 30 --json metrics.json")
    return {
        "predict/scores.tsv": read("scores.tsv"),
        "evaluate/metrics.json": read_json("metrics.json"),
        "evaluate/printed.txt": printed,
    }


def similarity() -> Outputs:
    """Tell every kind of similarity, and one of a tree that is shipped."""
    organisms = "--organisms human,mouse,c_elegans,fruit_fly"
    outputs = {"similarity/metazoa.txt": run(f"similarity -q --tree metazoa {organisms}")}
    for kind in KINDS:
        source = "" if kind in PLAIN else "--tree tree.nwk"
        names = "" if source else "--organisms ape,man,fly"
        command = f"similarity -q {source} {names} --similarity {kind}"
        run(f"{command} -o K.tsv")
        outputs[f"similarity/{kind}.tsv"] = read("K.tsv")
        outputs[f"similarity/{kind}.txt"] = run(command)
    return outputs


def compare() -> Outputs:
    """Compare three methods."""
    windows = seqmtl.read_windows("sim/windows.tsv.gz", window=41)
    comparison = Comparison(
        windows,
        PositionalKmers("wd:2"),
        Settings(tol=1e-8),
        C=(0.1, 1.0),
        kernel=TaskKernel.from_tree("tree.nwk", windows.task_names),
        train_size=60,
    )
    jobs = [(split, method) for split in (0, 1) for method in ("individual", "union", "mtl")]
    results = run_comparison(comparison, jobs)
    sizes = count_split(windows, comparison.draw(0))
    drawn = drawn_parts(windows, comparison.train_size)
    document = make_document(results, {"command": "compare"}, sizes, drawn)
    return {
        "compare/comparison.json": as_json(document),
        "compare/printed.txt": to_markdown(document),
    }


def variants() -> Outputs:
    """Annotate substitutions, insertions and deletions at and between GTs."""
    genome = "".join(Path("sim/genomes/ape.fa").read_text().split(">")[1].split("\n")[1:])
    lines = [
        "##fileformat=VCFv4.2",
        f"##contig=<ID=chr1,length={len(genome)}>",
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO",
    ]
    position = 100
    for number in range(16):
        position = genome.index("GT", position) - number % 2
        word = genome[position : position + 3]
        ref, alt = (word[0], "ACGT"[("ACGT".index(word[0]) + 1 + number % 3) % 4])
        if number % 4 == 0:
            ref, alt = word, f"{word[0]},{word[0]}TT{word[1:]}"
        info = "DP=3" if number % 3 else "."
        lines.append(f"chr1\t{position + 1}\tv{number}\t{ref}\t{alt}\t.\tPASS\t{info}")
        position += 300
    lines.append(f"chr1\t{position}\tv\t{genome[position - 1]}\t<DEL>\t.\tPASS\t.")
    Path("in.vcf").write_text("\n".join(lines) + "\n")
    files = {"vcf": "in.vcf", "fasta": "sim/genomes/ape.fa", "tsv": "effects.tsv"}
    counts = seqmtl.variants("m.seqmtl", organism="ape", output="out.vcf", **files)
    return {
        "variants/out.vcf": read("out.vcf"),
        "variants/effects.tsv": read("effects.tsv"),
        "variants/counts.json": as_json(counts),
    }


def explain() -> Outputs:
    """Explain one organism, in tables."""
    options = "--organism fly --max-order 3 --n-windows 1"
    with mock.patch("seqmtl.explanation.folder.TOP", 5):
        run(f"explain m.seqmtl sim/windows.tsv.gz -q {options} -o explained")
    outputs = {
        f"explain/{path.name}": read(path) for path in sorted(Path("explained").glob("*.tsv"))
    }
    outputs["explain/summary.json"] = read_json("explained/summary.json")
    return outputs


STEPS: dict[str, Callable[[], Outputs]] = {
    step.__name__: step
    for step in (
        simulate_signals,
        training,
        dataset,
        scan,
        predict,
        similarity,
        compare,
        variants,
        explain,
    )
}
#: Folders of the expected files of each step.
WRITES = {
    "simulate_signals": ("simulate",),
    "training": ("train",),
    "predict": ("predict", "evaluate"),
}


def expected(step: str) -> Outputs:
    """Return the expected texts of a step by the names of their files."""
    found = {}
    for folder in WRITES.get(step, (step,)):
        for path in sorted((FOLDER / folder).glob("*")):
            found[path.relative_to(FOLDER).as_posix()] = path.read_text(encoding="utf-8")
    return found


def differences(name: str, old: str, new: str) -> list[str]:
    """Return the lines that differ by more than the last digits of numbers.

    Letters, spaces and whole numbers must be the same; other numbers to four digits, or to the last
    that is written, and the longest number of a text must have as many digits.
    """
    found = []
    for a, b in itertools.zip_longest(old.split("\n"), new.split("\n")):
        if a is None or b is None or not _same_line(a, b, ROUNDED.get(name)):
            found.append(f"- {a}\n+ {b}")
    if not found and not name.endswith(".json") and _most_digits(old) != _most_digits(new):
        found.append(f"- numbers of {_most_digits(old)} digits\n+ of {_most_digits(new)}")
    return found


def _same_line(old: str, new: str, rounded: int | None) -> bool:
    before, after = old.split("\t"), new.split("\t")
    if len(before) != len(after):
        return False
    return all(
        _same_text(a, b, slack=int(place == rounded))
        for place, (a, b) in enumerate(zip(before, after, strict=True))
    )


def _same_text(old: str, new: str, slack: int) -> bool:
    if old == new:
        return True
    if _NUMBER.sub("#", old) != _NUMBER.sub("#", new):
        return False
    pairs = zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True)
    return all(_same_number(a, b, slack) for a, b in pairs)


def _same_number(old: str, new: str, slack: int) -> bool:
    if old.lstrip("+-").isdigit() and new.lstrip("+-").isdigit():
        return abs(int(old) - int(new)) <= slack
    a, b = float(old), float(new)
    decimals = max(len(text.partition(".")[2].partition("e")[0]) for text in (old, new))
    last = min(1.01 * 10.0**-decimals, 1e-4)
    return abs(a - b) <= max(_RTOL * abs(a), last, 1e-9)


def _most_digits(text: str) -> int:
    numbers = (number for number in _NUMBER.findall(text) if "." in number)
    digits = (re.sub(r"[eE].*|\D", "", number).lstrip("0") for number in numbers)
    return min(_MAX_DIGITS, max(map(len, digits), default=0))


@contextlib.contextmanager
def working_folder(folder: str | Path) -> Iterator[None]:
    """Work in a folder that has what the steps need; all paths in outputs are relative to it."""
    with contextlib.chdir(folder):
        prepare()
        yield


def write_expected(step: str, outputs: Outputs) -> None:
    """Write the expected files of a step where they differ, and remove those of no output."""
    before = expected(step)
    for name in before.keys() - outputs.keys():
        (FOLDER / name).unlink()
        print("removed", name)
    for name, text in outputs.items():
        if name not in before or differences(name, before[name], text):
            (FOLDER / name).parent.mkdir(exist_ok=True)
            (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
            print("wrote", name)


def main() -> None:
    """Write the expected files anew."""
    with tempfile.TemporaryDirectory() as folder, working_folder(folder):
        for step, function in STEPS.items():
            write_expected(step, function())


if __name__ == "__main__":
    main()
