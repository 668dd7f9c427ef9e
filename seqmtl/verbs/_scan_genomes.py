"""Scan many genomes with many models."""

from __future__ import annotations

import functools
import json
import logging
import os
import time
from typing import Any, NamedTuple

from seqmtl._messages import message_of, messages_from
from seqmtl.cluster import Piece, connect
from seqmtl.exceptions import InputFormatError, OutputInUseError, ScanInterrupted, SeqmtlError
from seqmtl.files.atomic import make_folder
from seqmtl.files.catalogue import STARTER, model_path
from seqmtl.files.inputs import note_input, note_output
from seqmtl.files.outputs import files_of_a_run
from seqmtl.files.resumable import Journal, partial_path
from seqmtl.files.streams import read_json, sha256_of
from seqmtl.io.rows import read_rows
from seqmtl.models.saved import load_model
from seqmtl.scan.writers import SINKS
from seqmtl.verbs._scan_one import Plan, scan_one
from seqmtl.verbs._scan_options import ScanOptions

logger = logging.getLogger("seqmtl")

_COLUMNS = ("genome", "organism", "like", "name", "model")
_ENDINGS = (".seqmtl", ".gz", ".bgz", ".fasta", ".fna", ".fas", ".fa")
_OF_ONE = ("contigs", "regions", "json", "resume")


class _Planned(NamedTuple):
    """A genome to scan with a model, on what the output depends, and whether it is complete."""

    name: str
    request: ScanOptions
    fingerprint: dict[str, Any]
    is_complete: bool


def scan_genomes(request: ScanOptions) -> list[dict[str, Any]]:
    """Scan the genomes of a table with all models; return the entry of each in its summary."""
    for name in _OF_ONE:
        if getattr(request, name):
            raise SeqmtlError(
                f"--{name} is for one genome, not for --genomes, which writes a summary of every "
                "scan and goes on where it was stopped; leave it out"
            )
    scans = _plan(request)
    make_folder(request.output)
    todo = [scan for scan in scans if not scan.is_complete]
    if len(todo) < len(scans):
        logger.info("%d of %d scans are complete", len(scans) - len(todo), len(scans))
    sizes = {scan.name: os.path.getsize(str(scan.request.genome)) for scan in todo}
    todo.sort(key=lambda scan: -sizes[scan.name])  # the last ones end together
    pieces = [Piece(scan.name, scan[1:3], _files(scan.request)) for scan in todo]
    told = _Progress([sizes[scan.name] for scan in todo])
    faults = []
    try:
        with connect(request.dask if todo else None) as workers:
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
    logger.info("%s: %d scans", request.output, len(scans))
    return [read_json(str(scan.request.json))["scans"][0] for scan in scans]


def scan_genome(request: ScanOptions, fingerprint: dict[str, Any]) -> dict[str, Any] | str:
    """Do one scan, unless it is complete; return its entry in the JSON summary, or what failed."""
    is_told = False
    while True:
        try:
            with messages_from(logging.WARNING), files_of_a_run():
                if not _is_complete(request, fingerprint):
                    journal = Journal(partial_path(request.output, "journal"), fingerprint)
                    is_begun = journal.read()[:1] == [fingerprint]
                    scan_one(request.changed(resume=is_begun), fingerprint)
                (entry,) = read_json(str(request.json))["scans"]
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
            "%s: %d sites in %.1f s%s; %s",
            name,
            result["n_reported"],
            result["seconds"],
            where,
            state,
            extra={"fields": fields},
        )


def _plan(request: ScanOptions) -> list[_Planned]:
    """Check all rows with all models.

    Raises
    ------
    SeqmtlError
        If anything is wrong; all of it is named.
    """
    table = str(request.genomes)
    models = [path for path in (request.model, request.genome, *request.more) if path]
    digest, load = functools.cache(sha256_of), functools.cache(_load)
    told: set[tuple[str, str]] = set()  # of which probabilities are how good
    taken: dict[str, str] = {}
    scans, faults = [], []
    for line, row in _read(table).items():
        for path in [_place(table, row["model"])] if row["model"] else models:
            own, name = _single(request, row, path, len(models) > 1 and not row["model"])
            try:
                if os.path.basename(name) != name or name.startswith("."):
                    raise SeqmtlError(f"{name!r} is no name of a file")
                plan = _plan_one(own, load(own.model))
                (organism,) = plan.outputs
                if (own.model, organism) not in told:
                    told.add((own.model, organism))
                    plan.tell_of_probabilities(organism)
                found = json.loads(json.dumps(plan.fingerprint(organism, digest)))  # as in a file
                _take(plan, f"line {line} with {path}", taken)
            except (SeqmtlError, ValueError) as error:
                faults.append(f"line {line}: {error}")
            else:
                scans.append(_Planned(name, own, found, _is_complete(own, found)))
    if faults:
        raise SeqmtlError(f"{table}: {'; '.join(dict.fromkeys(faults))}")
    return scans


def _read(path: str) -> dict[int, dict[str, str]]:
    """Read a table of genomes: its cells by line and column.

    Raises
    ------
    InputFormatError
        If it has no column of genomes, another column than known, no row, or a ragged one.
    """
    rows = [row._replace(fields=[*map(str.strip, row.fields)]) for row in read_rows(path)]
    header = rows[0].fields if rows else []
    if "genome" not in header or len({*header}) < len(header) or not {*header} <= {*_COLUMNS}:
        raise InputFormatError(
            "the first line of a table of genomes must name its columns, genome and any of "
            f"{', '.join(_COLUMNS[1:])}, separated by tabs, got {', '.join(header) or 'nothing'}",
            path=path,
        )
    for row in rows[1:]:
        if len(row.fields) != len(header):
            n = len(row.fields)
            row.refuse(f"a row must have {len(header)} fields like the header, got {n}; correct it")
    if not rows[1:]:
        raise InputFormatError("the table must have a row for every genome, got none", path=path)
    empty = dict.fromkeys(_COLUMNS, "")
    return {row.line: empty | dict(zip(header, row.fields, strict=True)) for row in rows[1:]}


def _place(table: str, path: str) -> str:
    """Return the absolute path of a file that is given relative to the table."""
    is_shipped = path.startswith(STARTER)
    return path if is_shipped else os.path.abspath(os.path.join(os.path.dirname(table), path))


def _single(
    request: ScanOptions, row: dict[str, str], model: str, is_named: bool
) -> tuple[ScanOptions, str]:
    """Return the request of a single scan for a row and a model, and a name."""
    name = row["name"] or _stem(row["genome"])
    if is_named:
        name += f".{_stem(model.rpartition(':')[2])}"
    kind = request.format or "bed"
    suffix = (*SINKS[kind].suffixes, ".bed")[0] + (".gz" if SINKS[kind].preset else "")
    stem = os.path.join(os.path.abspath(request.output), name)
    changes: dict[str, Any] = {}
    if row["organism"] or row["like"]:
        changes = {what: row[what] or None for what in ("organism", "like")}
    if request.tree and os.path.exists(request.tree):
        changes["tree"] = os.path.abspath(request.tree)
    own = request.changed(
        model=_place("", model),
        genome=_place(str(request.genomes), row["genome"]),
        more=(),
        genomes=None,
        output=stem + suffix,
        json=f"{stem}.json",
        format=kind,
        dask=None,
        threads=1 if request.dask else request.threads,
        **changes,
    )
    return own, name


def _stem(path: str) -> str:
    """Return the name of a genome or model file without its endings."""
    name = os.path.basename(path)
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name


def _load(path: str) -> Any:
    """Return a model, or what is wrong with it."""
    try:
        return load_model(path, only=("weights", "pairs"))
    except (SeqmtlError, OSError) as error:
        return str(error)


def _plan_one(own: ScanOptions, model: Any) -> Plan:
    """Return the plan of a scan.

    Raises
    ------
    SeqmtlError
        If anything hinders it.
    """
    if isinstance(model, str):
        raise SeqmtlError(model)
    if not os.path.isfile(str(own.genome)) or not os.access(str(own.genome), os.R_OK):
        raise SeqmtlError(f"{own.genome} is not there, or cannot be read")
    if own.organism == "all" and "all" not in model.tasks:
        raise SeqmtlError("give every organism a row of its own, in the place of all")
    if not own.organism and not own.like and len(model.tasks) > 1:
        raise SeqmtlError(
            f"the model has {len(model.tasks)} organisms; name one in the column organism or like"
        )
    return Plan(own, model)


def _take(plan: Plan, scan: str, taken: dict[str, str]) -> None:
    """Take the outputs of a scan.

    Raises
    ------
    SeqmtlError
        If another scan writes one of them.
    """
    request = plan.request
    files = [
        str(request.json),
        *(file for own in plan.outputs.items() for file in plan.files(*own)),
    ]
    note_input(str(request.genome))
    for path in files:
        note_output(path)
        other = taken.get(path.lower())
        if other is not None:
            name = os.path.basename(path)
            raise SeqmtlError(
                f"{name} is also written for {other}; give the row another name, or the model"
            )
    taken.update((path.lower(), scan) for path in files)


def _is_complete(request: ScanOptions, fingerprint: dict[str, Any]) -> bool:
    """Tell whether a scan was made, of the same files and options."""
    try:
        summary = read_json(str(request.json))
        folder, sizes = os.path.dirname(request.output), summary["bytes"]
        is_whole = all(
            os.path.getsize(os.path.join(folder, name)) == size for name, size in sizes.items()
        )
        return is_whole and summary["fingerprint"] == fingerprint
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _files(request: ScanOptions) -> tuple[str, ...]:
    """Return what a worker must see to scan."""
    tree = (request.tree,) if request.tree and os.path.exists(request.tree) else ()
    return str(request.genome), model_path(request.model), os.path.dirname(request.output), *tree
