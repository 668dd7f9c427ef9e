"""Try damaged input, runs that are killed, and two runs on one output; count what happens.

``python tests/fuzz.py --minutes 60`` does so for an hour and prints tables of counts and the first
examples of everything that is not as promised; the exit code then is 1. The seed of every try
is its number, so ``--first N`` repeats one. All tries run in one process, within ``--memory``.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import fuzz_files, fuzz_runs, mutations  # noqa: E402

SECONDS = 60  # of processor time; a try that takes longer hangs

#: What tries should end in: an error that names the file, or a result.
GOOD = ("clear error", "accepted")

_POOL = (
    b"\0",
    b"\xff",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n",
    b" ",
    b"  ",
    b">",
    b"#",
    b"'",
    b'"',
    b",",
    b";",
    b"(",
    b")",
    b"[",
    b":",
    b"-",
    b"+",
    b".",
    b"=",
    b"|",
    b"nan",
    b"inf",
    b"-inf",
    b"-1",
    b"0",
    b"1e400",
    b"9" * 30,
    b"-" + b"9" * 30,
    b"0x10",
    b"\xc3\xa9",
    b"\xe2\x80\xae",
    b"\xef\xbb\xbf",
    b"\x1b[31m",
    b"N",
    b"acgt",
    b"true",
    b"null",
    b"{}",
    b"a" * 300,
)
_SEPARATORS = re.compile(rb"([\t,\n;=:() ])")


class Case(NamedTuple):
    """A format, a file of it, and a command that reads it.

    A file ``left/NAME/...`` is of what an interrupted run has left, which is in ``out`` when the
    command begins.
    """

    format: str
    file: str
    command: str


_ADAPT = "adapt m.seqmtl few.tsv --organism new --split all -o out/m.seqmtl"
CASES = [
    Case("windows, TSV", "w.tsv", "predict m.seqmtl w.tsv --split all -o out/s.tsv"),
    Case("windows, TSV", "w.tsv", "train w.tsv {fast} -o out/m.seqmtl"),
    Case("windows, TSV.gz", "w.tsv.gz", "predict m.seqmtl w.tsv.gz --split all -o out/s.tsv"),
    Case("windows, FASTA", "w.fa", "predict m.seqmtl w.fa --organism man -o out/s.tsv"),
    Case("genome", "g.fa", "scan m.seqmtl g.fa --organism man -o out/t.bedgraph"),
    Case("genome", "g.fa", "scan m.seqmtl g.fa --organism man -o out/t.bw"),
    Case("genome, gzip", "g.fa.gz", "scan m.seqmtl g.fa.gz --organism man -o out/t.spsc"),
    Case(
        "index of a genome",
        "i.fa.fai",
        "scan m.seqmtl i.fa --organism man --contigs chr2 -o out/t.bed",
    ),
    Case("regions", "r.bed", "scan m.seqmtl g.fa --organism man --regions r.bed -o out/t.gff3"),
    Case(
        "sites",
        "s.bed",
        "predict m.seqmtl --genome man=g.fa --sites man=s.bed --split all -o out/s.tsv",
    ),
    Case("GFF3", "a.gff3", "dataset gff3.toml -o out/d"),
    Case("GTF", "a.gtf", "dataset gtf.toml -o out/d"),
    Case("BED12", "a.bed12", "dataset bed12.toml -o out/d"),
    Case("splice junctions, STAR", "a.tab", "dataset tab.toml -o out/d"),
    Case("splice junctions, BED12", "j.bed12", "dataset junctions.toml -o out/d"),
    Case("configuration", "gff3.toml", "dataset gff3.toml -o out/d"),
    Case("dataset", "d/windows.tsv", "train d {fast} -o out/m.seqmtl"),
    Case("dataset", "d/summary.json", "train d {fast} -o out/m.seqmtl"),
    Case("dataset", "d/regions.tsv", "evaluate m.seqmtl d --bootstrap 0 --json out/e.json"),
    Case("dataset", "d/sites.tsv", "evaluate m.seqmtl d --bootstrap 0 --json out/e.json"),
    Case("VCF", "v.vcf", "variants m.seqmtl --vcf v.vcf --fasta g.fa --organism man -o out/v.vcf"),
    Case(
        "VCF.gz",
        "v.vcf.gz",
        "variants m.seqmtl --vcf v.vcf.gz --fasta g.fa --organism man -o out/v.vcf",
    ),
    Case(
        "names of contigs",
        "chr.tsv",
        "variants m.seqmtl --vcf v.vcf --fasta g.fa --organism man --chrom-map chr.tsv "
        "-o out/v.vcf",
    ),
    Case("Newick", "t.nwk", "similarity --tree t.nwk -o out/K.tsv"),
    Case(
        "Newick",
        "t.nwk",
        "simulate --tree t.nwk --windows 20 --window 20 --chromosomes 2 "
        "--chromosome-length 9000 -o out/sim",
    ),
    Case("Nexus", "t.nex", "similarity --tree t.nex --similarity hierarchical -o out/K.tsv"),
    Case("distances", "D.tsv", "similarity --distances D.tsv -o out/K.tsv"),
    Case("alignment", "aln.fa", "similarity --alignment aln.fa -o out/K.tsv"),
    Case("graph", "g.tsv", "similarity --graph g.tsv -o out/K.tsv"),
    Case("groups", "groups.tsv", "similarity --groups groups.tsv -o out/K.tsv"),
    Case("task kernel", "K.tsv", "similarity --similarity K.tsv -o out/K.tsv"),
    Case(
        "taxonomy",
        "dump/nodes.dmp",
        "similarity --taxonomy dump --organisms ape,man,fly -o out/K.tsv",
    ),
    Case(
        "taxonomy",
        "dump/names.dmp",
        "similarity --taxonomy dump --organisms ape,man,fly -o out/K.tsv",
    ),
    Case("numbers, CSV", "n.csv", "train-table n.csv --method kernel-svc -o out/m.seqmtl"),
    Case("numbers, CSV", "n.csv", "predict n.seqmtl n.csv -o out/s.tsv"),
    Case("model", "m.seqmtl", "predict m.seqmtl w.tsv --split all -o out/s.tsv"),
    Case("model", "m.seqmtl", "info m.seqmtl"),
    Case("model, header", "m.seqmtl", "predict m.seqmtl w.tsv --split all -o out/s.tsv"),
    Case("model, header", "m.seqmtl", "info m.seqmtl"),
    Case("kernel model", "n.seqmtl", "predict n.seqmtl n.csv -o out/s.tsv"),
    Case("kernel model, header", "n.seqmtl", "predict n.seqmtl n.csv -o out/s.tsv"),
    Case("kernel model, header", "n.seqmtl", "info n.seqmtl"),
    Case("paired model", "pair.seqmtl", "info pair.seqmtl"),
    Case("paired model, header", "pair.seqmtl", "info pair.seqmtl"),
    Case(
        "paired model, header",
        "pair.seqmtl",
        "scan pair.seqmtl g.fa --organism man --format introns -o out/t.bed",
    ),
    Case(
        "paired model, header",
        "pair.seqmtl",
        "evaluate pair.seqmtl sim/don sim/acc --split all --bootstrap 0 --json out/e.json",
    ),
    Case(
        "paired model, header",
        "pair.seqmtl",
        "variants pair.seqmtl --vcf v.vcf --fasta g.fa --organism man -o out/v.vcf",
    ),
    *(
        Case(
            "dataset of a pair",
            f"sim/{end}/{name}",
            "pair don.seqmtl acc.seqmtl sim/don sim/acc -o out/p.seqmtl",
        )
        for end in ("don", "acc")
        for name in ("sites.tsv", "regions.tsv", "summary.json")
    ),
    Case("few windows", "few.tsv", f"{_ADAPT} --tree t.nwk --like ape"),
    Case(
        "few windows", "few.fa", "adapt m.seqmtl few.fa --organism new --like ape -o out/m.seqmtl"
    ),
    Case("tree of a new organism", "t.nwk", f"{_ADAPT} --tree t.nwk --like ape"),
    Case(
        "tree of a new organism",
        "t.nwk",
        "scan m.seqmtl g.fa --organism new --like primates --tree t2.nwk -o out/t.bed",
    ),
    Case(
        "tree of a new organism",
        "t2.nwk",
        "scan m.seqmtl g.fa --organism new --like primates --tree t2.nwk -o out/t.bed",
    ),
    Case(
        "tree of a new organism",
        "dump/nodes.dmp",
        "scan m.seqmtl g.fa --like primates --tree dump -o out/t.bed",
    ),
    Case(
        "adapted model, header",
        "a.seqmtl",
        "adapt a.seqmtl few.tsv --organism new --split all -o out/m.seqmtl",
    ),
    Case("table of genomes", "genomes.tsv", "scan m.seqmtl --genomes genomes.tsv -o out/t"),
    Case("genome of a table", "g.fa", "scan m.seqmtl --genomes genomes.tsv -o out/t"),
    Case("splice junctions, BED6", "j.bed6", "dataset j6.toml -o out/d"),
    Case("calibration", "d/sites.tsv", "calibrate m.seqmtl d --split test -o out/m.seqmtl"),
    Case("calibration", "d/regions.tsv", "calibrate m.seqmtl d --split test -o out/m.seqmtl"),
    Case(
        "calibration",
        "w.tsv",
        "calibrate m.seqmtl w.tsv --split all --prevalence .01 -o out/m.seqmtl",
    ),
    Case("windows to explain", "w.tsv", "explain m.seqmtl w.tsv --split all -o out/e"),
    Case("numbers, CSV", "n.csv", "train-table n.csv --method minimax -o out/m.seqmtl"),
    Case("numbers, CSV", "n.csv", "train-table n.csv --method partial-mkl -o out/m.seqmtl"),
    Case("peptides", "p.tsv", f"{fuzz_files.PEPTIDES} -o out/m.seqmtl"),
    Case("peptides", "p.tsv", "predict p.seqmtl p.tsv -o out/s.tsv"),
    *(
        Case("results for a report", f"results/{name}.json", "report results -o out/r.html")
        for name in ("e", "c", "s")
    ),
    *(
        Case(kind, f"left/{name}", fuzz_files.RESUMED[name.split("/")[0]] + more)
        for kind, name, more in (
            ("checkpoint", "train/m.seqmtl.checkpoint", " --resume"),
            ("checkpoint, header", "train/m.seqmtl.checkpoint", " --resume"),
            ("checkpoint of a selection", "selection/m.seqmtl.checkpoint", " --resume"),
            ("checkpoint of a selection, header", "selection/m.seqmtl.checkpoint", " --resume"),
            ("window store", "store/m.seqmtl.windows/store.json", " --resume"),
            ("window store", "store/m.seqmtl.windows/00000.windows", " --resume"),
            ("window store, header", "store/m.seqmtl.windows/00000.windows", " --resume"),
            ("window store, header", "store/m.seqmtl.windows/state", " --resume"),
            ("journal", "scan/t.bed.partial.journal", " --resume"),
            ("journal", "bigwig/t.bw.partial.journal", " --resume"),
            ("journal", "genomes/t/one.bed.gz.partial.journal", ""),
            ("journal", "compare/c.json.partial", ""),
        )
    ),
]
#: About how much longer these commands take than others.
COSTS = {
    "report": 60,
    "explain": 200,
    "pair": 60,
    "compare": 8,
    "simulate": 5,
    "train-table": 3,
    "train": 3,
    "dataset": 3,
    "scan": 2,
    "calibrate": 2,
    "adapt": 5,
}


def main(argv: list[str] | None = None) -> int:
    """Run for the given time and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--first", type=int, default=0, help="number, and seed, of the first try")
    parser.add_argument("--tries", type=int, help="of damaged input; default: as time permits")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--races", type=int, default=50)
    parser.add_argument("--memory", type=int, default=6000, help="MB of address space")
    args = parser.parse_args(argv)
    resource.setrlimit(resource.RLIMIT_AS, (args.memory * 10**6,) * 2)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:4])  # a thread reserves 64 MB or more
    end = time.monotonic() + 60 * args.minutes
    with tempfile.TemporaryDirectory(prefix="seqmtl-fuzz.") as folder, contextlib.chdir(folder):
        for what, n in ((fuzz_runs.races, args.races), (fuzz_runs.kills, args.kills)):
            if n:
                print(fuzz_runs.table(what(Path(what.__name__), n)), flush=True)
        tries = Tries(Path("tries").resolve())
        numbers = itertools.count(args.first)
        for number in numbers if args.tries is None else itertools.islice(numbers, args.tries):
            if time.monotonic() > end:
                break
            tries.one(number)
    print(tries.report())
    return int(bool(tries.examples))


class Tries:
    """Tries of damaged input, in a folder with a good file of every format.

    Parameters
    ----------
    folder : Path
        Where to make it.
    cases : sequence of Case
        Cases to choose from.
    """

    def __init__(self, folder: Path, cases: Sequence[Case] = CASES) -> None:
        self.folder, self.cases = folder, cases
        folder.mkdir()
        with contextlib.chdir(folder):
            fuzz_files.write_files()
            if any(case.file.startswith("left/") for case in cases):
                fuzz_files.write_left()
            self.good = {case.file: Path(case.file).read_bytes() for case in cases}
            self.counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
            self.examples: dict[tuple[str, str, str], list[str]] = defaultdict(list)
            for case in cases:  # which compiles, too
                verdict, said = run(case)
                if verdict != "accepted":
                    raise RuntimeError(f"{case.command}: {verdict}\n{said}")

    def one(self, number: int) -> str:
        """Try one damaged file, and return the verdict."""
        rng = random.Random(number)
        case = rng.choices(
            self.cases, [1 / COSTS.get(c.command.split()[0], 1) for c in self.cases]
        )[0]
        with contextlib.chdir(self.folder):
            path = Path(case.file)
            times = path.stat()
            path.write_bytes(damaged(case, self.good[case.file], rng))
            try:
                verdict, said = run(case)
            finally:
                path.write_bytes(self.good[case.file])
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        key = (case.format, case.command.split()[0])
        self.counts[key][verdict] += 1
        if verdict not in GOOD:
            self.examples[*key, verdict].append(f"try {number}: {said[-1500:]}")
            print(f"try {number}: {verdict}: {case.file}, {case.command}", file=sys.stderr)
        return verdict

    def report(self) -> str:
        """Return the counts as a table, and the first examples of what is wrong."""
        rows = [(f"{key[0]} ({key[1]})", count) for key, count in sorted(self.counts.items())]
        text = [fuzz_runs.table(dict([*rows, ("all", sum(self.counts.values(), Counter()))]))]
        for (name, command, verdict), found in sorted(self.examples.items()):
            text.append(f"\n{name} ({command}): {verdict}, {len(found)} times")
            text += found[:3]
        return "\n".join(text)


def run(case: Case) -> tuple[str, str]:
    """Run the command of a case, and return the verdict and what was said."""
    from seqmtl.cli.main import main as seqmtl

    shutil.rmtree("out", ignore_errors=True)
    left = Path(*Path(case.file).parts[:2]) if case.file.startswith("left/") else None
    shutil.copytree(left, "out") if left else os.mkdir("out")
    before = {*Path("out").iterdir()}
    said, printed = io.StringIO(), io.StringIO()
    words = [*case.command.format(fast=fuzz_files.FAST).split(), "-q"]
    try:
        with (
            _limit(),
            contextlib.redirect_stderr(said),
            contextlib.redirect_stdout(printed),
            warnings.catch_warnings(),
        ):
            code = seqmtl(words)
    except _TooLong:
        return "hang", case.command
    except SystemExit as error:
        code = error.code
    except MemoryError:
        return "out of memory", traceback.format_exc()
    except BaseException:
        return "traceback", traceback.format_exc()
    text = said.getvalue()
    if code in (0, 3):
        return _check_result(printed.getvalue()), text
    has_several = "--genomes" in case.command  # of which the others are done
    if not has_several and {*Path("out").iterdir()} - before:
        return "leaves files", text
    errors = [line for line in text.splitlines() if "warning: " not in line]
    is_missing = code == 2 and "--organisms: task" in text  # the file no longer has its name
    is_plain = len(errors) <= 1 + has_several and "".join(errors).isprintable()
    if not (code == 1 or is_missing) or not is_plain:
        return "unclear error", text
    of_command = [word for word in case.command.split() if Path(word).exists()]
    is_named = any(
        Path(path).name in text for path in (case.file, *of_command, *Path(case.file).parts[2:])
    )
    return ("clear error" if is_named else "error without the file"), text


def _check_result(printed: str) -> str:
    """Tell whether a result has scores that are no numbers, or characters that steer a terminal."""
    if not printed.isprintable() and re.search(r"[^\n\t -~\u00a0-\uffff]", printed):
        return "unsafe text"
    for path in Path("out").iterdir():
        if path.suffix in (".tsv", ".bed", ".bedgraph"):
            rows = path.read_text(errors="replace").splitlines()[2:]  # a name may be "nan":
            rows = [row for row in rows if not row.startswith(("#", "\t"))]  # not that of a kernel
            if any(re.search(r"\t-?(nan|inf)(\t|$)", row) for row in rows):
                return "no numbers"
    return "accepted"


class _TooLong(BaseException):
    pass


@contextlib.contextmanager
def _limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooLong

    before = [signal.signal(kind, stop) for kind in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(20 * SECONDS)  # waiting for nothing; others may use the processors, too
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for kind, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(kind, handler)


# -- damage --------------------------------------------------------------------------------------


def damaged(case: Case, data: bytes, rng: random.Random) -> bytes:
    """Return the content of a file with one to three changes."""
    if case.format.endswith("header"):
        return fuzz_runs.change_model(data, rng)
    if case.file.endswith(".json") and rng.random() < 0.5:
        ((_, document),) = mutations.documents(json.loads(data), rng.randrange(1 << 30), 1)
        return json.dumps(document).encode()
    is_packed = case.file.endswith(".gz") and rng.random() < 0.6
    data = gzip.decompress(data) if is_packed else data
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        data = rng.choice([_cut, _cut, _flip, _insert, _remove, _repeat, _swap, _field, _field])(
            data, rng
        )
    return gzip.compress(data, 1, mtime=0) if is_packed else data


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 4, 16])):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _insert(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(_POOL) * rng.choice([1, 1, 1, 2, 500]) + data[place:]


def _remove(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + data[place + rng.choice([1, 2, 10, 100]) :]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    size = rng.choice([1, 10, 100, 1000])
    return data[: place + size] + data[place:]


def _swap(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) > 1:
        i, j = rng.sample(range(len(lines)), 2)
        lines[i], lines[j] = lines[j], lines[i]
    return b"".join(lines)


def _field(data: bytes, rng: random.Random) -> bytes:
    """Replace a field by something that does not belong there, or by another field."""
    parts = _SEPARATORS.split(data)
    i = rng.randrange(0, len(parts), 2)
    parts[i] = rng.choice([*_POOL, b"", parts[rng.randrange(0, len(parts), 2)]])
    return b"".join(parts)


if __name__ == "__main__":
    sys.exit(main())
