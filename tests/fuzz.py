"""Damage one input file at a time, run a command on it, and judge how it ends.

``python tests/fuzz.py --minutes 10`` tries for ten minutes, and prints how often each format was
refused or accepted, and everything else that happened; the exit code then is 1. The number of a
try is its seed: ``--first N`` begins with try N.
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

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from seqmtl.commands.main import main as seqmtl
from tests import fuzz_files, mutations

SECONDS = 60  # of processor time; a try that takes longer hangs
#: What a try should end in: an error that names the file, or a result.
GOOD = ("clear error", "accepted")


class Case(NamedTuple):
    """A format, a good file of it, and a command that reads the file."""

    format: str
    file: str
    command: str


FAST = "--features wd:2 --selection none -C 0.1"
_SCAN = "scan m.seqmtl g.fa --organism man"
_VARIANTS = "variants m.seqmtl --vcf v.vcf --fasta g.fa --organism man -o out/v.vcf"
_ADAPT = "adapt m.seqmtl few.tsv --organism new -o out/m.seqmtl"
_EVALUATE = "evaluate m.seqmtl d --bootstrap 0 --json out/e.json"
_CALIBRATE = "calibrate m.seqmtl d -o out/m.seqmtl"
_TAXONOMY = "similarity --source taxonomy=dump --organisms ape,man,fly -o out/K.tsv"
_REFERENCE = "--reference g.fa --organism man"
_PREDICT = "predict m.seqmtl w.tsv --split all -o out/s.tsv"
CASES = [
    Case("windows, TSV", "w.tsv", _PREDICT),
    Case("windows, TSV", "w.tsv", f"train w.tsv {FAST} -o out/m.seqmtl"),
    Case("windows, TSV.gz", "w.tsv.gz", "predict m.seqmtl w.tsv.gz --split all -o out/s.tsv"),
    Case("windows, CSV", "w.csv", f"train w.csv {FAST} -o out/m.seqmtl"),
    Case("intervals", "r.bed", f"predict m.seqmtl r.bed {_REFERENCE} -o out/s.tsv"),
    Case("windows, FASTA", "w.fa", "predict m.seqmtl w.fa --organism man -o out/s.tsv"),
    Case("few windows", "few.tsv", f"{_ADAPT} --tree t.nwk --like ape"),
    Case("genome", "g.fa", f"{_SCAN} -o out/t.bw"),
    Case("genome, gzip", "g.fa.gz", "scan m.seqmtl g.fa.gz --organism man -o out/t.spsc"),
    Case("index of a genome", "i.fa.fai", "scan m.seqmtl i.fa --organism man -o out/t.bed"),
    Case("regions", "r.bed", f"{_SCAN} --regions r.bed -o out/t.gff3"),
    Case("GFF3", "a.gff3", "dataset gff3.toml -o out/d"),
    Case("GTF", "a.gtf", "dataset gtf.toml -o out/d"),
    Case("BED12", "a.bed12", "dataset bed12.toml -o out/d"),
    Case("splice junctions, STAR", "a.tab", "dataset tab.toml -o out/d"),
    Case("splice junctions, BED12", "j.bed12", "dataset junctions.toml -o out/d"),
    Case("splice junctions, BED6", "j.bed6", "dataset j6.toml -o out/d"),
    Case("splice junctions, hints", "j.hints", "dataset hints.toml -o out/d"),
    Case("configuration", "gff3.toml", "dataset gff3.toml -o out/d"),
    Case("dataset", "d/windows.tsv", f"train d {FAST} -o out/m.seqmtl"),
    Case("dataset", "d/summary.json", f"train d {FAST} -o out/m.seqmtl"),
    *(
        Case("dataset", f"d/{name}.tsv", command)
        for name in ("regions", "sites")
        for command in (_EVALUATE, _CALIBRATE)
    ),
    Case("VCF", "v.vcf", _VARIANTS),
    Case("VCF.gz", "v.vcf.gz", _VARIANTS.replace("v.vcf ", "v.vcf.gz ", 1)),
    Case("Newick", "t.nwk", "similarity --tree t.nwk -o out/K.tsv"),
    Case("Newick", "t.nwk", f"{_ADAPT} --tree t.nwk --like ape"),
    Case("Nexus", "t.nex", "similarity --tree t.nex --similarity hierarchical -o out/K.tsv"),
    Case("distances", "D.tsv", "similarity --source distances=D.tsv -o out/K.tsv"),
    Case("alignment", "aln.fa", "similarity --source alignment=aln.fa -o out/K.tsv"),
    Case("graph", "g.tsv", "similarity --source graph=g.tsv -o out/K.tsv"),
    Case("groups", "groups.tsv", "similarity --source groups=groups.tsv -o out/K.tsv"),
    Case("task kernel", "K.tsv", "similarity --similarity K.tsv -o out/K.tsv"),
    Case("taxonomy", "dump/nodes.dmp", _TAXONOMY),
    Case("taxonomy", "dump/names.dmp", _TAXONOMY),
    Case("model", "m.seqmtl", _PREDICT),
    Case("model", "m.seqmtl", "info m.seqmtl"),
    Case("model, header", "m.seqmtl", _PREDICT),
    Case("model, header", "m.seqmtl", "info m.seqmtl"),
    Case("paired model, header", "pair.seqmtl", "info pair.seqmtl"),
    Case(
        "paired model, header",
        "pair.seqmtl",
        "scan pair.seqmtl g.fa --organism c_elegans --format introns -o out/t.bed",
    ),
]


def main() -> int:
    """Try for the given time and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--first", type=int, default=0, help="number, and seed, of the first try")
    args = parser.parse_args()
    end = time.monotonic() + 60 * args.minutes
    with tempfile.TemporaryDirectory(prefix="seqmtl-fuzz.") as folder:
        tries = Tries(Path(folder))
        for number in itertools.count(args.first):
            if time.monotonic() > end:
                break
            tries.one(number)
    for name, counts in sorted(tries.counts.items()):
        print(name, *(f"{verdict}: {n}" for verdict, n in sorted(counts.items())), sep="\t")
    print(*tries.problems, sep="\n")
    return int(bool(tries.problems))


class Tries:
    """Tries of damaged input, in a folder with a good file of every format.

    Parameters
    ----------
    folder : Path
        An empty folder.
    cases : sequence of Case
        Cases to choose from.

    Attributes
    ----------
    counts : dict of str to Counter
        How the tries of every format ended.
    problems : list of str
        What ended in another way than ``GOOD``.
    """

    def __init__(self, folder: Path, cases: Sequence[Case] = CASES) -> None:
        self.folder, self.cases = folder, cases
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.problems: list[str] = []
        with contextlib.chdir(folder):
            fuzz_files.write_files()
            self.good = {case.file: Path(case.file).read_bytes() for case in cases}
            for case in cases:  # which compiles, too
                verdict, message = run(case)
                if verdict != "accepted":
                    raise RuntimeError(f"{case.command}: {verdict}\n{message}")

    def one(self, number: int) -> None:
        """Try one damaged file."""
        rng = random.Random(number)
        case = rng.choice(self.cases)
        with contextlib.chdir(self.folder):
            path = Path(case.file)
            times = path.stat()
            path.write_bytes(damaged(case, self.good[case.file], rng))
            try:
                verdict, message = run(case)
            finally:
                path.write_bytes(self.good[case.file])
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        self.counts[case.format][verdict] += 1
        if verdict not in GOOD:
            self.problems.append(f"try {number}: {verdict}: {case}\n{message[-1500:]}")


def run(case: Case) -> tuple[str, str]:
    """Run the command of a case, and return the verdict and the messages."""
    shutil.rmtree("out", ignore_errors=True)
    os.mkdir("out")
    messages, printed = io.StringIO(), io.StringIO()
    try:
        with (
            _time_limit(),
            contextlib.redirect_stderr(messages),
            contextlib.redirect_stdout(printed),
            warnings.catch_warnings(),
        ):
            code = seqmtl([*case.command.split(), "-q"])
    except _TimeOut:
        return "hang", case.command
    except SystemExit as error:
        code = error.code
    except BaseException:
        return "traceback", traceback.format_exc()
    text = messages.getvalue()
    if code in (0, 3):
        return _judge_result(printed.getvalue()), text
    if any(Path("out").iterdir()):
        return "leaves files", text
    errors = [line for line in text.splitlines() if "warning: " not in line]
    if code not in (1, 2) or len(errors) > 1 or not "".join(errors).isprintable():
        return "unclear error", text
    inputs = [word for word in case.command.split() if Path(word).exists()]
    is_named = any(Path(path).name in text for path in (case.file, *inputs))
    return ("clear error" if is_named else "error without the file"), text


def _judge_result(printed: str) -> str:
    """Tell whether a result has scores that are no numbers, or characters that steer a terminal."""
    if not printed.isprintable() and re.search(r"[^\n\t -~\u00a0-\uffff]", printed):
        return "unsafe text"
    for path in Path("out").iterdir():
        if path.suffix in (".tsv", ".bed"):
            rows = path.read_text(errors="replace").splitlines()[2:]  # a name may be "nan":
            rows = [row for row in rows if not row.startswith(("#", "\t"))]  # not that of a kernel
            if any(re.search(r"\t-?(nan|inf)(\t|$)", row) for row in rows):
                return "no numbers"
    return "accepted"


class _TimeOut(BaseException):
    pass


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TimeOut

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# -- damage --------------------------------------------------------------------------------------

_PIECES = [
    *(bytes([code]) for code in b"\0\xff\t\n\r >#'\",;()[:-+.=|N"),
    *(b"\r\n", b"  ", b"nan", b"inf", b"-inf", b"-1", b"0", b"1e400", b"0x10", b"9" * 30),
    *(b"-" + b"9" * 30, b"\xc3\xa9", b"\xe2\x80\xae", b"\xef\xbb\xbf", b"\x1b[31m", b"acgt"),
    *(b"true", b"null", b"{}", b"a" * 300),
]
_SEPARATORS = re.compile(rb"([\t,\n;=:() ])")


def damaged(case: Case, data: bytes, rng: random.Random) -> bytes:
    """Return the content of a file with one to three changes."""
    seed = rng.randrange(1 << 30)
    if case.format.endswith("header"):
        ((_, content),) = mutations.mutations(data, seed, n=1)
        return content
    if case.file.endswith(".json") and rng.random() < 0.5:
        ((_, document),) = mutations.documents(json.loads(data), seed, n=1)
        return json.dumps(document).encode()
    is_packed = case.file.endswith(".gz") and rng.random() < 0.6
    data = gzip.decompress(data) if is_packed else data
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        data = rng.choice([_cut, _flip, _insert, _remove, _repeat, _swap, _field])(data, rng)
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
    return data[:place] + rng.choice(_PIECES) * rng.choice([1, 1, 1, 2, 500]) + data[place:]


def _remove(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + data[place + rng.choice([1, 2, 10, 100]) :]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[: place + rng.choice([1, 10, 100, 1000])] + data[place:]


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
    parts[i] = rng.choice([*_PIECES, b"", parts[rng.randrange(0, len(parts), 2)]])
    return b"".join(parts)


if __name__ == "__main__":
    sys.exit(main())
