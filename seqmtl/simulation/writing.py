"""Write the files of a simulation: genomes, annotation, windows, tree and summary."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from seqmtl.files.names import safe_names
from seqmtl.files.streams import first_bytes
from seqmtl.files.write import atomic_folder, atomic_gzip, atomic_write, write_lines
from seqmtl.simulation.simulation import SimulatedGenome, Simulation

#: Files beside the folders of genomes and annotation.
FILES = ("windows.tsv.gz", "dataset.toml", "tree.nwk", "summary.json")
_CONFIG = "dataset.toml"
_MARK = "# genomes of seqmtl simulate\n"  # first line of this file; it identifies the folder
_LINE = 60
_ROWS = 20_000
_STRANDS = {1: "+", -1: "-"}
_FOLDERS = {"genomes": ".fa", "annotation": ".gff3"}
#: All that is in the folder of a simulation.
NAMES = (*FILES, *_FOLDERS)


def write_simulation(simulation: Simulation, directory: str | os.PathLike[str]) -> None:
    """Write a simulation as files.

    The files are written atomically, see :func:`seqmtl.files.write.atomic_folder`; files of the
    same names are replaced.

    ============================== ===========================================================
    ``windows.tsv.gz``             organism, label (1, -1), split (train, test), contig, strand,
                                   position (0-based first base of the site), sequence
    ``genomes/<organism>.fa``      60 columns; repeats in lower case, N as N
    ``annotation/<organism>.gff3`` genes, mRNA, exons and CDS of all genes
    ``dataset.toml``               configuration with these files for ``seqmtl dataset``
    ``tree.nwk``                   the tree
    ``summary.json``               seed, parameters, files and counts
    ============================== ===========================================================

    Parameters
    ----------
    simulation : Simulation
        Result of :func:`seqmtl.simulation.simulate`.
    directory : path
        Created if it does not exist.

    Raises
    ------
    ValueError
        See :func:`check_folder`.
    SeqmtlError
        If it cannot be written.
    """
    check_folder(directory, simulation.settings.organisms)
    stems = safe_names(simulation.settings.organisms)
    with atomic_folder(directory, first=_CONFIG, last="summary.json", folders=_FOLDERS) as scratch:
        for genome in simulation.genomes:
            stem = stems[genome.organism]
            _write_fasta(genome, scratch / "genomes" / f"{stem}.fa")
            write_lines(scratch / "annotation" / f"{stem}.gff3", _gff_lines(genome))
        _write_windows(simulation, scratch / "windows.tsv.gz")
        write_lines(scratch / _CONFIG, _toml_lines(simulation, stems))
        write_lines(scratch / "tree.nwk", [simulation.newick])
        summary = json.dumps(_summary(simulation, stems), indent=2, ensure_ascii=False)
        write_lines(scratch / "summary.json", [summary + "\n"])


def check_folder(directory: str | os.PathLike[str], organisms: Iterable[str]) -> None:
    """Check that a simulation can be written into a folder, before it is made.

    Parameters
    ----------
    directory : path
        Need not exist.
    organisms : iterable of str
        Organisms of the simulation.

    Raises
    ------
    ValueError
        If it has files of these names that are not of a simulation, or files of another simulation
        would remain beside the new ones.
    """
    target = Path(directory)
    stems = safe_names(organisms).values()
    new_names = {f"{folder}/{stem}{end}" for folder, end in _FOLDERS.items() for stem in stems}
    is_replaced = is_of_simulation(target / _CONFIG)
    for path in sorted(map(Path, existing_files(directory))):
        if not is_replaced or path.relative_to(target).as_posix() not in {*FILES, *new_names}:
            what = "files of another simulation" if is_replaced else "other files of these names"
            raise ValueError(
                f"directory must hold no {what}, got {path}; remove it or choose another directory"
            )


def existing_files(directory: str | os.PathLike[str]) -> list[str]:
    """Return the files of a folder that have the names of files of a simulation."""
    paths = [Path(directory, name) for name in FILES]
    for folder, end in _FOLDERS.items():
        paths += Path(directory, folder).glob(f"*{end}")
    return [str(path) for path in paths if os.path.lexists(path)]


def is_of_simulation(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is, or was made from, the configuration of a simulation."""
    return os.path.isfile(path) and first_bytes(path).startswith(_MARK.encode())


def _write_fasta(genome: SimulatedGenome, path: Path) -> None:
    """Write the chromosomes of a genome as FASTA of 60 columns."""
    with atomic_write(path, "wb") as handle:
        for number, contig in enumerate(genome.contigs):
            letters = genome.letters[genome.offsets[number] : genome.offsets[number + 1]]
            full = letters.size // _LINE * _LINE
            lines = np.full((full // _LINE, _LINE + 1), ord("\n"), dtype=np.uint8)
            lines[:, :_LINE] = letters[:full].reshape(-1, _LINE)
            handle.write(f">{contig}\n".encode())
            handle.write(lines.tobytes())
            if full < letters.size:
                handle.write(letters[full:].tobytes() + b"\n")


def _gff_lines(genome: SimulatedGenome) -> Iterator[str]:
    """Yield all genes as GFF3 lines, 1-based closed; a TSS is the first base of its mRNA."""
    yield "##gff-version 3\n"
    for contig, length in zip(genome.contigs, np.diff(genome.offsets).tolist(), strict=True):
        yield f"##sequence-region {contig} 1 {length}\n"
    number = 0
    for contig, genes in zip(genome.contigs, genome.genes, strict=True):
        columns = genes.exon_start, genes.exon_end, genes.coding_start, genes.coding_end
        exons = list(zip(*(column.tolist() for column in columns), strict=True))
        spans = zip(*(edge.tolist() for edge in genes.spans()), strict=True)
        for gene, (start, end) in enumerate(spans):
            number += 1
            name, sign = f"g{number:05d}", _STRANDS[int(genes.strand[gene])]
            where = f"{start + 1}\t{end}\t.\t{sign}\t."
            yield f"{contig}\tseqmtl\tgene\t{where}\tID={name}\n"
            yield f"{contig}\tseqmtl\tmRNA\t{where}\tID={name}.m;Parent={name}\n"
            its_exons = exons[genes.first_exon[gene] : genes.first_exon[gene + 1]]
            for row in _exon_lines(its_exons, name, sign):
                yield f"{contig}\tseqmtl\t{row}\n"


def _exon_lines(exons: list[tuple[int, int, int, int]], name: str, sign: str) -> Iterator[str]:
    """Yield the exons of a gene and their coding parts, from the third column on."""
    n_coding = 0
    for order, (start, end, coding_start, coding_end) in enumerate(exons, start=1):
        yield f"exon\t{start + 1}\t{end}\t.\t{sign}\t.\tID={name}.e{order};Parent={name}.m"
        where = f"{coding_start + 1}\t{coding_end}\t.\t{sign}\t{-n_coding % 3}"
        yield f"CDS\t{where}\tID={name}.c;Parent={name}.m"
        n_coding += coding_end - coding_start


def _write_windows(simulation: Simulation, path: Path) -> None:
    """Write all labelled windows."""
    with atomic_gzip(path) as handle:
        handle.write(b"organism\tlabel\tsplit\tcontig\tstrand\tposition\tsequence\n")
        for genome in simulation.genomes:
            for first in range(0, len(genome.sites), _ROWS):
                rows = slice(first, first + _ROWS)
                handle.write("".join(_window_lines(simulation, genome, rows)).encode())


def _window_lines(simulation: Simulation, genome: SimulatedGenome, rows: slice) -> Iterator[str]:
    text = simulation.windows(genome, rows).tobytes().decode("ascii")
    width, sites = simulation.settings.window, genome.sites.take(rows)
    contig, is_test = genome.contig_index()[rows], genome.is_test()[rows]
    starts = sites.starts - genome.offsets[contig]
    columns = sites["labels"], is_test, contig, sites.is_reverse, starts
    for row, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        label, is_of_test, number, is_reverse, start = values
        yield (
            f"{genome.organism}\t{label}\t{'test' if is_of_test else 'train'}\t"
            f"{genome.contigs[number]}\t{'-' if is_reverse else '+'}\t{start}\t"
            f"{text[row * width : (row + 1) * width]}\n"
        )


def _toml_lines(simulation: Simulation, stems: dict[str, str]) -> Iterator[str]:
    """Yield the configuration for ``seqmtl dataset``; JSON strings are TOML strings."""
    yield _MARK
    yield f'signal = "{simulation.settings.signal}"\n'
    for organism, stem in stems.items():
        yield f"\n[organisms.{json.dumps(organism, ensure_ascii=False)}]\n"
        for key, folder in (("genome", "genomes"), ("annotation", "annotation")):
            path = json.dumps(f"{folder}/{stem}{_FOLDERS[folder]}", ensure_ascii=False)
            yield f"{key} = {path}\n"


def _summary(simulation: Simulation, stems: dict[str, str]) -> dict[str, object]:
    """Collect parameters and counts."""
    settings = vars(simulation.settings)
    organisms = {}
    for genome in simulation.genomes:
        is_test, is_true = genome.is_test(), genome.sites["labels"] > 0
        upper = genome.letters & 0xDF
        bases = {letter: int(np.count_nonzero(upper == ord(letter))) for letter in "ACGTN"}
        n_acgt = sum(bases.values()) - bases["N"]
        organisms[genome.organism] = {
            "file_name": stems[genome.organism],
            "bases": genome.letters.size,
            "unknown_bases": bases["N"],
            "masked_bases": int(np.count_nonzero(genome.letters & 0x20)),
            "gc": round((bases["C"] + bases["G"]) / n_acgt, 4),
            "genes": sum(genes.strand.size for genes in genome.genes),
            "introns": sum(genes.exon_start.size - genes.strand.size for genes in genome.genes),
            "windows": {
                split: {
                    "true": int(np.count_nonzero(chosen & is_true)),
                    "decoy": int(np.count_nonzero(chosen & ~is_true)),
                }
                for split, chosen in (("train", ~is_test), ("test", is_test))
            },
        }
    parameters = {name: value for name, value in settings.items() if name != "organisms"}
    return {"parameters": parameters, "tree": simulation.newick.strip(), "organisms": organisms}
