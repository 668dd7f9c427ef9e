"""``seqmtl scan --genomes``: many genomes and models in one call."""

from __future__ import annotations

import argparse
import copy
import functools
import json
import logging
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from seqmtl.cli import _scan_setup as setup
from seqmtl.exceptions import InputFormatError, ScanInterrupted, SeqmtlError

logger = logging.getLogger("seqmtl")

_COLUMNS = ("genome", "organism", "like", "name", "model")
_PACKED = ("bed", "bedgraph", "gff3", "introns")
_ENDINGS = (".gz", ".bgz", ".fasta", ".fna", ".fas", ".fa")
_OF_ONE = {
    "contigs": None, "regions": None, "json": None, "resume": False,
}  # fmt: skip


class _Row(NamedTuple):
    """A line of the table."""

    line: int
    genome: str
    organism: str
    like: str
    name: str
    model: str


class _Scan(NamedTuple):
    """A genome to scan with a model: the arguments of the command, and whether it is complete."""

    name: str
    args: argparse.Namespace
    is_complete: bool


def scan_genomes(args: argparse.Namespace) -> int:
    """Scan the genomes of a table with all models."""
    from seqmtl.cluster import Piece, connect
    from seqmtl.files.atomic import make_folder

    for name, default in _OF_ONE.items():
        if getattr(args, name) != default:
            raise SeqmtlError(
                f"--{name} is for one genome, not for --genomes, which writes a summary of every "
                "scan and goes on where it was stopped; leave it out"
            )
    scans = _plan(args)
    make_folder(args.output)
    todo = [scan for scan in scans if not scan.is_complete]
    if len(todo) < len(scans):
        logger.info("%d of %d scans are complete", len(scans) - len(todo), len(scans))
    todo.sort(key=lambda scan: -os.path.getsize(scan.args.genome))  # the last ones end together
    pieces = [Piece(scan.name, (scan.args,), _files(scan.args)) for scan in todo]
    told = _Progress([os.path.getsize(scan.args.genome) for scan in todo])
    faults = []
    try:
        with connect(args.dask if todo else None) as workers:
            for number, result, worker in workers.map(scan_genome, pieces):
                told(number, todo[number].name, result, worker)
                faults += [result] * isinstance(result, str)
    except KeyboardInterrupt as error:
        raise ScanInterrupted("interrupted; repeat the command to go on") from error
    if faults:
        raise SeqmtlError(
            f"{len(faults)} of {len(scans)} scans failed, the first with: {faults[0]}; repeat the "
            "command when this is solved: it does what is not complete"
        )
    logger.info("%s: %d scans", args.output, len(scans))
    return 0


def scan_genome(args: argparse.Namespace) -> dict[str, Any] | str:
    """Do one scan, unless it is complete; return its entry in the JSON summary, or what failed."""
    from seqmtl._messages import messages_from
    from seqmtl.cli._console import message_of
    from seqmtl.cli._output import claims_of_a_command
    from seqmtl.cli._scan_single import scan_single
    from seqmtl.exceptions import OutputInUseError
    from seqmtl.files.resumable import Journal, partial_path
    from seqmtl.files.whole import read_json

    is_told = False
    while True:
        try:
            with messages_from(logging.WARNING), claims_of_a_command():
                if not _is_complete(args):
                    args = copy.copy(args)
                    journal = Journal(partial_path(args.output, "journal"), args.fingerprint)
                    args.resume = journal.read()[:1] == [args.fingerprint]
                    scan_single(args)
                (entry,) = read_json(args.json)["scans"]
                return dict(entry)
        except ScanInterrupted:
            raise
        except OutputInUseError as error:  # perhaps by a worker that is taken for dead
            if not is_told:
                logger.warning("%s", error)
            is_told = True
            time.sleep(0.5)
        except (SeqmtlError, ValueError, OSError, MemoryError) as error:
            return message_of(error)


class _Progress:
    """Tell of each finished scan, and the time left by the sizes of the genomes."""

    def __init__(self, sizes: list[int]) -> None:
        self._sizes, self._left, self._n_done = sizes, sum(sizes), 0
        self._all, self._started = self._left, time.monotonic()

    def __call__(self, number: int, name: str, result: dict[str, Any] | str, worker: str) -> None:
        self._n_done += 1
        self._left -= self._sizes[number]
        passed = time.monotonic() - self._started
        left = passed * self._left / max(self._all - self._left, 1)
        where = f" by worker {worker}" if worker else ""
        state = f"{self._n_done} of {len(self._sizes)} done, about {left:.0f} s left"
        if isinstance(result, str):
            logger.error("%s failed%s: %s; %s", name, where, result, state)
            return
        fields = {**result, "worker": worker, "n_done": self._n_done, "seconds_left": round(left)}
        logger.info(
            "%s: %d sites in %.1f s%s; %s", name, result["n_reported"], result["seconds"], where,
            state, extra={"fields": fields},
        )  # fmt: skip


def _plan(args: argparse.Namespace) -> list[_Scan]:
    """Check all rows with all models.

    Raises
    ------
    SeqmtlError
        If anything is wrong; all of it is named.
    """
    from seqmtl.files.whole import sha256_of

    rows = _read(args.genomes)
    models = [args.model, *([args.genome] if args.genome else []), *args.more]
    digest, load = functools.cache(sha256_of), functools.cache(_load)
    told: set[tuple[str, str]] = set()
    taken: dict[str, str] = {}
    scans, faults = [], []
    for row in rows:
        for model in [_place(args.genomes, row.model)] if row.model else models:
            own, name = _arguments(args, row, model, len(models) > 1 and not row.model)
            is_name = os.path.basename(name) == name and not name.startswith(".")
            found = "" if is_name else f"{name!r} is no name of a file"
            found = found or _fault(own, load(own.model), digest, told)
            found = found or _clash(own, load(own.model), f"line {row.line} with {model}", taken)
            if found:
                faults.append(f"line {row.line}: {found}")
            else:
                scans.append(_Scan(name, own, _is_complete(own)))
    if faults:
        raise SeqmtlError(f"{args.genomes}: {'; '.join(dict.fromkeys(faults))}")
    return scans


def _read(path: str) -> list[_Row]:
    """Read a table of genomes.

    Raises
    ------
    InputFormatError
        If it has no column of genomes, another column than known, no row, or a ragged one.
    """
    from seqmtl.files.whole import read_text

    lines = [
        (number, [cell.strip() for cell in line.split("\t")])
        for number, line in enumerate(read_text(path, "a table of genomes").splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    header, rows = lines[0][1] if lines else [], []
    if "genome" not in header or len({*header}) < len(header) or not {*header} <= {*_COLUMNS}:
        raise InputFormatError(
            "the first line of a table of genomes must name its columns, genome and any of "
            f"{', '.join(_COLUMNS[1:])}, separated by tabs, got {', '.join(header) or 'nothing'}",
            path=path,
        )
    for number, cells in lines[1:]:
        if len(cells) != len(header):
            raise InputFormatError(
                f"a row must have {len(header)} fields like the header, got {len(cells)}; correct "
                "the line", path=path, line=number,
            )  # fmt: skip
        found = dict.fromkeys(_COLUMNS, "") | dict(zip(header, cells, strict=True))
        rows.append(_Row(number, **found))
    if not rows:
        raise InputFormatError("the table must have a row for every genome, got none", path=path)
    return rows


def _place(table: str, path: str) -> str:
    """Return the absolute path of a file that is given relative to the table."""
    from seqmtl.files.catalogue import STARTER

    is_shipped = path.startswith(STARTER)
    return path if is_shipped else os.path.abspath(os.path.join(os.path.dirname(table), path))


def _arguments(
    args: argparse.Namespace, row: _Row, model: str, is_named: bool
) -> tuple[argparse.Namespace, str]:
    """Return the arguments of the single command for a row and a model, and a name."""
    from seqmtl.scan.writers import SUFFIXES

    name = row.name or _stem(row.genome)
    if is_named:
        name += f".{_stem(model.rpartition(':')[2])}"
    kind = args.file_format or "bed"
    suffix = SUFFIXES.get(kind, (".bed",))[0] + (".gz" if kind in _PACKED else "")
    stem = os.path.join(os.path.abspath(args.output), name)
    own = argparse.Namespace(**vars(args))
    if args.tree and os.path.exists(args.tree):
        own.tree = os.path.abspath(args.tree)
    if row.organism or row.like:
        own.organism, own.like = row.organism or None, row.like or None
    own.__dict__.update(
        model=_place("", model), genome=_place(args.genomes, row.genome), output=stem + suffix,
        json=f"{stem}.json", file_format=kind, quiet=True, genomes=None, more=[], dask=None,
        run=None, threads=1 if args.dask else args.threads,
    )  # fmt: skip
    return own, name


def _stem(path: str) -> str:
    """Return the name of a genome or model file without its endings."""
    name = os.path.basename(path).removesuffix(".seqmtl")
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name


def _load(path: str) -> Any:
    """Return a model, or what is wrong with it."""
    from seqmtl.models.saved import load_model

    try:
        return load_model(path, only=("weights", "pairs"))
    except (SeqmtlError, OSError) as error:
        return str(error)


def _fault(
    own: argparse.Namespace,
    model: Any,
    digest: Callable[[str], str],
    told: set[tuple[str, str]],
) -> str:
    """Return what hinders a scan, or else "" and set what the output depends on.

    `told` holds the models and organisms of which it was told how good their probabilities are.
    """
    from seqmtl.cli._scan_single import outputs_of
    from seqmtl.cli._scoring import with_relatives

    if isinstance(model, str):
        return model
    if not os.path.isfile(own.genome) or not os.access(own.genome, os.R_OK):
        return f"{own.genome} is not there, or cannot be read"
    if own.organism == "all" and "all" not in model.tasks:
        return "give every organism a row of its own, in the place of all"
    if not own.organism and not own.like and len(model.tasks) > 1:
        return (
            f"the model has {len(model.tasks)} organisms; name one in the column organism or like"
        )
    chosen = copy.copy(own)
    try:
        model = with_relatives(model, chosen)
        (organism,) = outputs_of(model, chosen)
        if not chosen.from_relatives:
            model.match(organism)
        setup.check_options(model, chosen, own.file_format)
        if model.structure != "pairs":
            model.log_odds_of(organism)
            if (own.model, organism) not in told:
                told.add((own.model, organism))
                setup.tell_of_probabilities(model, organism, own.file_format, chosen)
    except (SeqmtlError, ValueError) as error:
        return str(error)
    found = setup.fingerprint_of(organism, chosen, digest)
    own.fingerprint = json.loads(json.dumps(found))  # as it is read from a file
    return ""


def _clash(own: argparse.Namespace, model: Any, scan: str, taken: dict[str, str]) -> str:
    """Return which output another scan writes, or else "" and take the outputs."""
    from seqmtl.files.inputs import note_input, note_output

    paths = [own.json, *setup.paths_of(model, own.output, own.file_format, own)]
    note_input(own.genome)
    for path in paths:
        note_output(path)
        other = taken.get(path.lower())
        if other is not None:
            name = os.path.basename(path)
            return f"{name} is also written for {other}; give the row another name, or the model"
    taken.update(dict.fromkeys(map(str.lower, paths), scan))
    return ""


def _is_complete(args: argparse.Namespace) -> bool:
    """Tell whether a scan was made, of the same files and options."""
    from seqmtl.files.whole import read_json

    try:
        summary = read_json(args.json)
        folder, sizes = os.path.dirname(args.output), summary["bytes"]
        is_whole = all(
            os.path.getsize(os.path.join(folder, name)) == size for name, size in sizes.items()
        )
        return is_whole and summary["fingerprint"] == args.fingerprint
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _files(args: argparse.Namespace) -> tuple[str, ...]:
    """Return what a worker must see to scan."""
    from seqmtl.files.catalogue import model_path

    tree = (args.tree,) if args.tree and os.path.exists(args.tree) else ()
    return args.genome, model_path(args.model), os.path.dirname(args.output), *tree
