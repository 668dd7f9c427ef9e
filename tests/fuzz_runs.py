"""Runs that are killed, and pairs of runs on one output; used by ``fuzz.py``."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from tests import fuzz_files
from tests.expected import make

ROOT = Path(__file__).resolve().parents[1]


class Job(NamedTuple):
    """A command, and the option that continues what a killed run has left."""

    name: str
    command: str
    resume: str = ""


_SCAN = "scan m.seqmtl big.fa --organism man --threads 1"
JOBS = [
    Job("train", "train w.tsv.gz --tree t.nwk --features wd:3 -o {out}/m.seqmtl", "--resume"),
    Job(
        "train --mkl",
        "train w.tsv.gz --tree t.nwk --mkl hierarchical --features wd:3 "
        "--tol 1e-6 -o {out}/m.seqmtl",
        "--resume",
    ),
    Job("train-table", "train-table n.csv --method kernel-svc --tune 0.1,1,10 -o {out}/m.seqmtl"),
    *(
        Job(f"scan, {suffix}", f"{_SCAN} -o {{out}}/t.{suffix}", "--resume")
        for suffix in ("bedgraph", "bed", "gff3", "spsc", "bw")
    ),
    Job("dataset", "dataset sim/dataset.toml -o {out}/d --json {out}/d.json"),
    Job(
        "compare",
        "compare w.tsv.gz --tree t.nwk --features wd:2 --methods individual,union,mtl "
        "--splits 2 --per-organism 60 -C 0.1,1 --threads 1 --json {out}/c.json "
        "--table {out}/c.tsv",
    ),
    Job("calibrate", "calibrate raw.seqmtl sim/d -o {out}/m.seqmtl --json {out}/m.json"),
    Job("predict", "predict m.seqmtl w.tsv.gz --split all -o {out}/s.tsv"),
    Job(
        "variants",
        "variants m.seqmtl --vcf v.vcf --fasta big.fa --organism man -o {out}/v.vcf.gz "
        "--tsv {out}/v.tsv",
    ),
    Job(
        "simulate", "simulate --windows 200 --chromosomes 2 --chromosome-length 30000 -o {out}/sim"
    ),
]
#: Keys of JSON, a model's header included, that tell of the clock, the machine and the command.
OF_THE_RUN = frozenset(
    [
        "seconds",
        "command",
        "fingerprint",
        "threads",
        "megabases_per_second",
        "peak_memory_mib",
        "history",
        "output",
        "outputs",
        "files",
        "path",
    ]
)


def kills(folder: Path, n: int, names: Collection[str] = ()) -> dict[str, Counter[str]]:
    """Kill runs at random moments, run them again, and compare what they write with an only run.

    A try is one kill -9; a run may be killed several times before it may finish.

    Parameters
    ----------
    folder : Path
        Folder to make.
    n : int
        Number of kills.
    names : collection of str
        The jobs; default: all.
    """
    folder.mkdir()
    _write_files(folder)
    jobs = [job for job in JOBS if not names or job.name in names]
    wanted, seconds = {}, {}
    for job in jobs:
        out = _fresh(folder)
        for _ in range(2):  # the second is without compilation
            out = _fresh(folder)
            started = time.perf_counter()
            code, said = _finish(_start(folder, job.command, out))
            seconds[job.name] = time.perf_counter() - started
        if code not in (0, 3):
            raise RuntimeError(f"{job.command}: {said}")
        wanted[job.name] = _contents(out)
    counts: dict[str, Counter[str]] = {job.name: Counter() for job in jobs}
    rng = random.Random(0)
    while sum(count["kills"] for count in counts.values()) < n:
        job = rng.choice(jobs)
        out, resume = _fresh(folder), ""
        for _ in range(rng.choice([1, 1, 2, 3])):
            process = _start(folder, f"{job.command} {resume}", out)
            time.sleep(seconds[job.name] * rng.uniform(0.3, 1.05))
            process.kill()
            code, _ = _finish(process)
            counts[job.name]["kills"] += 1
            if code in (0, 3):
                break
            counts[job.name]["in the middle"] += 1
            damage = [path for path in _contents(out) if path not in wanted[job.name]]
            if any(not _is_unfinished(path) for path in damage):
                counts[job.name]["half-written files"] += 1
            resume = job.resume
        else:
            code, said = _finish(_start(folder, f"{job.command} {resume}", out))
            if code not in (0, 3):
                print(f"{job.name}: after a kill: {said}", file=sys.stderr)
                counts[job.name]["cannot go on"] += 1
                continue
        found = _contents(out)
        if found != wanted[job.name]:
            odd = [
                p for p in {*found, *wanted[job.name]} if found.get(p) != wanted[job.name].get(p)
            ]
            print(f"{job.name}: after a kill other: {sorted(odd)}", file=sys.stderr)
        counts[job.name]["same bytes" if found == wanted[job.name] else "other bytes"] += 1
    return counts


def races(
    folder: Path, n: int, suffixes: Collection[str] = ("bedgraph", "bed", "gff3", "spsc", "bw")
) -> dict[str, Counter[str]]:
    """Start two scans, of two genomes, on one output at once, and look what is there."""
    folder.mkdir()
    _write_files(folder)
    counts: dict[str, Counter[str]] = {}
    for suffix in suffixes:
        count = counts[f"two scans, {suffix}"] = Counter()
        commands = [
            f"scan m.seqmtl {genome} --organism man -o {{out}}/t.{suffix}"
            for genome in ("big.fa", "other.fa")
        ]
        wanted = []
        for command in commands:
            out = _fresh(folder)
            _finish(_start(folder, command, out))
            wanted.append(_contents(out))
        for _ in range(n // len(suffixes)):
            out = _fresh(folder)
            ends = [_finish(p) for p in [_start(folder, command, out) for command in commands]]
            codes = [code for code, _ in ends]
            refused = [said for code, said in ends if code == 1]
            found = _contents(out)
            if 0 not in codes or found not in wanted:
                count["wrong"] += 1
            elif codes == [0, 0]:
                count["one after the other"] += 1
            elif "is being written by another run" in refused[0]:
                count["one refused"] += 1
            else:
                count["unclear error"] += 1
    return counts


def table(counts: dict[str, Counter[str]]) -> str:
    """Return counts as a table of text, a row for each name."""
    columns = list(dict.fromkeys(key for count in counts.values() for key in sorted(count)))
    rows = [["", *columns]]
    rows += [[name, *(str(count[key]) for key in columns)] for name, count in counts.items()]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    form = f"{{:<{widths[0]}}}" + "".join(f"  {{:>{width}}}" for width in widths[1:])
    return "\n".join(form.format(*row) for row in rows)


def change_model(data: bytes, rng: random.Random) -> bytes:
    """Change the content of a model file, with a checksum that fits."""
    from tests.mutations import mutations

    ((_, content),) = mutations(data, seed=rng.randrange(1 << 30), n=1)
    return content


def _start(folder: Path, command: str, out: Path) -> subprocess.Popen[str]:
    words = [word.format(out=out.name) for word in command.split()]
    return subprocess.Popen(
        [sys.executable, "-m", "seqmtl", *words, "-q"],
        cwd=folder,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def _finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = process.communicate(timeout=600)
    return process.returncode, said


def _fresh(folder: Path) -> Path:
    """Return an empty folder for the outputs, always the same: some outputs hold its name."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    (folder / "out").mkdir()
    return folder / "out"


def _is_unfinished(path: str) -> bool:
    """Tell whether the name of a file says that it is not finished."""
    return any(part in path for part in (".partial", ".unfinished", ".checkpoint"))


def _contents(folder: Path) -> dict[str, object]:
    """Return the content of every file below a folder, without what tells of the run itself."""
    return {
        str(path.relative_to(folder)): _content(path)
        for path in folder.rglob("*")
        if path.is_file()
    }


def _content(path: Path) -> object:
    data = path.read_bytes()
    if path.suffix == ".seqmtl":
        (size,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + size])
        notes = {name: json.loads(text) for name, text in header.pop("__metadata__").items()}
        arrays = sorted((entry["data_offsets"], name) for name, entry in header.items())
        del header["sha256"]
        ends = [offsets[1] for offsets, name in arrays if name != "sha256"]
        return _without_run(notes), sorted(header), data[8 + size :][: max(ends)]
    return _without_run(json.loads(data)) if path.suffix == ".json" else data


def _without_run(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_run(v) for key, v in value.items() if key not in OF_THE_RUN}
    return [_without_run(v) for v in value] if isinstance(value, list) else value


def _write_files(folder: Path) -> None:
    """Write the inputs of the jobs."""
    with contextlib.chdir(folder), contextlib.redirect_stderr(io.StringIO()):
        fuzz_files.write_files()
        for name, organism in (("big.fa", "man"), ("other.fa", "fly")):
            contigs = Path(f"sim/genomes/{organism}.fa").read_text().split(">")[1:]
            lines = [(f"{c.split()[0]}", "".join(c.split("\n")[1:])) for c in contigs]
            Path(name).write_text("".join(f">{c}\n{letters * 20}\n" for c, letters in lines))
        shutil.copy("sim/windows.tsv.gz", "w.tsv.gz")
        make.run("dataset sim/dataset.toml -q -o sim/d")
        make.run("train sim/d -q --features wd:2 --selection none -o raw.seqmtl")
