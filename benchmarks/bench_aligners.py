"""Junctions of minimap2 and miniprot with splice scores, for queries from a relative.

    python benchmarks/bench_aligners.py PROGRAM GENOME ANNOTATION --scores own=own.spsc ...

PROGRAM is minimap2, which aligns transcripts, or miniprot, which aligns proteins. Of each gene it
takes the transcript with introns that is longest, or the longest protein, of the longest reading
frame. Queries diverge: bases are replaced evenly, residues as BLOSUM62 has it, at a rate that
differs between stretches of twelve (beta distributed), with an insertion and a deletion for every
forty replacements each, of three on average. The introns stay. Genes with a copy, to which the
program takes the query as it is, are left out. `annotation` are scores of all annotated sites and
of no others: more than that scores cannot mend.

Prints sensitivity (share of the introns found) and precision (share of the junctions that are
introns), with standard errors of their differences from no scores, over resamples of genes; then
wrong junctions per hundred introns: shifted (both ends within 30 bases of those of an intron), one
end right, skipped (ends of two introns), other, and elsewhere (beside all introns).
"""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import _toy
import numpy as np
from _common import Options, has_program, write_result
from numpy.typing import NDArray

from seqmtl.io import load_genome
from seqmtl.io.annotation import read_annotation
from seqmtl.io.transcripts import Transcript

Junction = tuple[str, int, int]
Counts = NDArray[np.float64]
BASES, RESIDUES = "ACGT", "ARNDCQEGHILKMFPSTWYV"
CODONS = "KNKNTTTTRSRSIIMIQHQHPPPPRRRRLLLLEDEDAAAAGGGGVVVV*Y*YSSSS*CWCLFLF"  # AAA, AAC, ...
BLOSUM62 = """4
-1 5
-2 0 6
-2 -2 1 6
0 -3 -3 -3 9
-1 1 0 0 -3 5
-1 0 0 2 -4 2 5
0 -2 0 -1 -3 -2 -2 6
-2 0 1 -1 -3 0 0 -2 8
-1 -3 -3 -3 -1 -3 -3 -4 -3 4
-1 -2 -3 -4 -1 -2 -3 -4 -3 2 4
-1 2 0 -1 -3 1 1 -2 -1 -3 -2 5
-1 -1 -2 -3 -1 0 -2 -3 -2 1 2 -1 5
-2 -3 -3 -3 -2 -3 -3 -3 -1 0 0 -3 0 6
-1 -2 -2 -1 -3 -1 -1 -2 -2 -3 -3 -1 -2 -4 7
1 -1 1 0 -1 0 0 0 -1 -2 -2 0 -1 -2 -1 4
0 -1 0 -1 -1 -1 -1 -2 -2 -1 -1 -1 -1 -2 -1 1 5
-3 -3 -4 -4 -2 -2 -3 -2 -2 -3 -2 -3 -1 1 -4 -3 -2 11
-2 -2 -2 -3 -2 -1 -2 -3 2 -1 -1 -2 -1 3 -3 -2 -2 2 7
0 -3 -3 -3 -1 -2 -2 -3 -3 3 1 -2 1 -1 -2 -2 0 -3 -1 4"""
STRETCH, NEAR = 12, 30
QUICK = {"program": "", "draws": 1}
KINDS = ("shifted", "one end", "skipped", "other", "elsewhere")


class Query(NamedTuple):
    """Sequence of a gene, and its introns; 0-based half-open."""

    gene: str
    sequence: str
    introns: list[Junction]


def longest_frame(text: str) -> tuple[int, int]:
    """Return start and end of the longest frame from ATG to a stop codon, without the stop."""
    pattern = "(?=(ATG(?:(?!TAA|TAG|TGA)[ACGT]{3})*)(?:TAA|TAG|TGA))"
    spans = [match.span(1) for match in re.finditer(pattern, text)]
    return max(spans, key=lambda span: span[1] - span[0], default=(0, 0))


def make_query(transcript: Transcript, contig: str, *, protein: bool) -> Query:
    """Return the transcript, or the protein of its longest frame with the introns in it."""
    text = "".join(contig[start:end] for start, end in transcript.exons)
    first, last = 0, len(text)
    if transcript.is_reverse:
        text = text[::-1].translate(str.maketrans(BASES, BASES[::-1]))
    if protein:
        first, last = longest_frame(text)
        codes = np.array([BASES.index(base) for base in text[first:last]], dtype=int)
        bounds = (len(text) - last, len(text) - first) if transcript.is_reverse else (first, last)
        text = "".join(CODONS[code] for code in codes.reshape(-1, 3) @ (16, 4, 1))
        first, last = bounds
    introns, done = [], 0
    for (start, end), exon in zip(transcript.introns, transcript.exons, strict=False):
        done += exon[1] - exon[0]
        if first < done < last:
            introns.append((transcript.contig, start, end))
    return Query(transcript.gene, text, introns)


def read_queries(genome: Path, annotation: Path, contigs: list[str], protein: bool) -> list[Query]:
    """Return the longest query with introns of each gene of the contigs (all if none)."""
    letters = np.frombuffer(b"ACGTN", dtype=np.uint8)
    loaded = load_genome(genome, padding=1)
    texts = {name: letters[loaded.contig(name)].tobytes().decode() for name in loaded.names}
    best: dict[str, Query] = {}
    for transcript in read_annotation(annotation).transcripts:
        if transcript.contig not in (contigs or texts) or not transcript.introns:
            continue
        query = make_query(transcript, texts[transcript.contig], protein=protein)
        known = best.get(transcript.gene)
        if query.introns and (known is None or len(query.sequence) > len(known.sequence)):
            best[transcript.gene] = query
    return list(best.values())


def substitutions(protein: bool) -> NDArray[np.float64]:
    """Return the share of each letter among the replacements of each letter."""
    if not protein:
        return (1 - np.eye(4)) / 3
    scores = np.zeros((20, 20))
    for i, line in enumerate(BLOSUM62.splitlines()):
        scores[i, : i + 1] = scores[: i + 1, i] = [float(x) for x in line.split()]
    odds = 2 ** (scores / 2)
    odds *= np.linalg.solve(odds, np.ones(20)) * (1 - np.eye(20))  # frequencies that it implies
    return odds / odds.sum(axis=1, keepdims=True)


def diverge(sequence: str, divergence: float, rng: np.random.Generator, protein: bool) -> str:
    """Replace, insert and delete letters."""
    letters = RESIDUES if protein else BASES
    shares, parts = substitutions(protein), []
    for at in range(0, len(sequence), STRETCH):
        rate = rng.beta(4 * divergence, 4 * (1 - divergence)) if divergence else 0.0
        for letter in sequence[at : at + STRETCH]:
            if letter in letters and rng.random() < rate:
                letter = rng.choice(list(letters), p=shares[letters.index(letter)])
            if rng.random() < rate / 40:
                letter += "".join(rng.choice(list(letters), size=rng.geometric(1 / 3)))
            parts.append(letter)
    keep, start = np.ones(len(parts), dtype=bool), 0
    while (start := start + 1 + int(rng.geometric(min(1.0, divergence / 40 + 1e-9)))) < keep.size:
        keep[start : start + rng.geometric(1 / 3)] = False
    return "".join(part for part, kept in zip(parts, keep, strict=True) if kept)


def junctions_of(printed: str) -> dict[str, set[Junction]]:
    """Return the junctions of each query in PAF of minimap2 or GFF3 of miniprot."""
    found: dict[str, set[Junction]] = defaultdict(set)
    exons: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for line in printed.splitlines():
        fields = line.split("\t")
        cigar = re.search(r"\tcg:Z:(\S+)", line)
        if cigar:
            at = int(fields[7])
            for size, kind in re.findall(r"(\d+)([MDN])", cigar[1]):
                if kind == "N":
                    found[fields[0]].add((fields[5], at, at + int(size)))
                at += int(size)
        elif len(fields) > 8 and fields[2] == "CDS":
            name = re.search(r"Target=(\S+)", fields[8])
            assert name is not None
            exons[name[1], fields[0]].append((int(fields[3]) - 1, int(fields[4])))
    for (query, contig), parts in exons.items():
        for (_, end), (start, _) in pairwise(sorted(parts)):
            found[query].add((contig, end, start))
    return found


def kind_of(junction: Junction, query: Query) -> str:
    """Return what is wrong with a junction."""
    contig, start, end = junction
    own = [intron for intron in query.introns if intron[0] == contig]
    starts, ends = {intron[1] for intron in own}, {intron[2] for intron in own}
    if start in starts and end in ends:
        return "skipped"
    if start in starts or end in ends:
        return "one end"
    if any(abs(start - a) <= NEAR and abs(end - b) <= NEAR for _, a, b in own):
        return "shifted"
    return "other" if any(start < b and a < end for _, a, b in own) else "elsewhere"


def count(queries: list[Query], found: dict[str, set[Junction]], draws: int) -> Counts:
    """Return introns, those found, junctions, and wrong ones by kind, each by gene."""
    table = np.zeros((len(queries), 3 + len(KINDS)))
    for i, query in enumerate(queries):
        for draw in range(draws):
            junctions = found.get(f"{i}.{draw}", set())
            right = len(junctions.intersection(query.introns))
            table[i, :3] += len(query.introns), right, len(junctions)
            for junction in junctions.difference(query.introns):
                table[i, 3 + KINDS.index(kind_of(junction, query))] += 1
    return table


def rates(table: Counts) -> Counts:
    """Return sensitivity, precision, and wrong junctions by kind per hundred introns."""
    introns, right, junctions, *wrong = table
    return np.array(
        [right / introns, right / max(junctions, 1), *(100 * np.array(wrong) / introns)]
    )


def resample(table: Counts, n: int = 500) -> Counts:
    """Return the rates of all genes, then of fixed resamples of them."""
    rng = np.random.default_rng(0)
    weights = rng.multinomial(len(table), np.full(len(table), 1 / len(table)), size=n)
    return np.array([rates(row) for row in np.vstack([np.ones(len(table)), weights]) @ table])


def write_annotated(annotation: Path, target: Path) -> None:
    """Write scores of the annotated sites."""
    lines = set()
    for item in read_annotation(annotation).transcripts:
        strand, letters = ("-", "AD") if item.is_reverse else ("+", "DA")
        for ends in item.introns:
            for end, letter in zip(ends, letters, strict=True):
                lines.add(f"{item.contig}\t{end}\t{strand}\t{letter}\t13\n")
    target.write_text("".join(sorted(lines)))


class Aligner:
    """A program, its options, and a file of queries."""

    def __init__(self, args: Any, folder: Path) -> None:
        self.protein = "miniprot" in Path(args.program).name
        fixed = "-I --gff-only --outn=1" if self.protein else "-c --secondary=no"
        preset = "" if self.protein else "-x splice"
        self.command = [args.program, "-t1", *shlex.split(f"{fixed} {args.options or preset}")]
        self.genome, self.fasta = str(args.genome), folder / "queries.fa"

    def draw(self, queries: list[Query], divergence: float, draws: int) -> None:
        """Write queries, with a fixed seed."""
        self.queries, self.draws = queries, draws
        rng = np.random.default_rng(0)
        with open(self.fasta, "w") as stream:
            for i, query in enumerate(queries):
                for draw in range(draws):
                    text = diverge(query.sequence, divergence, rng, self.protein)
                    stream.write(f">{i}.{draw}\n{text}\n")

    def count(self, *options: str) -> Counts:
        """Align them, and return the counts of :func:`count`."""
        command = [*self.command, *options, self.genome, str(self.fasta)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
        return count(self.queries, junctions_of(done.stdout), self.draws)


def simulate(folder: Path) -> dict[str, Path]:
    """Return a simulated genome and its annotation."""
    _toy.genomes(folder)
    name = _toy.GENOMES[0]
    genome, annotation = folder / "genomes" / f"{name}.fa", folder / "annotation" / f"{name}.gff3"
    return {"genome": genome, "annotation": annotation}


def main() -> None:
    """Run the comparison."""
    parser = Options(__doc__, QUICK, simulate)
    parser.add_argument("program", help="minimap2 or miniprot, with its path")
    parser.add_argument("genome", type=Path)
    parser.add_argument("annotation", type=Path)
    parser.add_argument("--scores", nargs="+", default=[], metavar="NAME=FILE")
    parser.add_argument("--divergence", type=float, nargs="+", default=[0.15])
    parser.add_argument("--contigs", nargs="+", default=[], help="of the genes (default: all)")
    parser.add_argument("--draws", type=int, default=5, help="queries of each gene")
    parser.add_argument("--options", help="of the aligner (default: -x splice for minimap2)")
    parser.add_argument("--with-scores", default="", help="options added if there are scores")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        aligner, annotated = Aligner(args, Path(name)), Path(name) / "annotated.spsc"
        queries = read_queries(args.genome, args.annotation, args.contigs, aligner.protein)
        aligner.draw(queries, 0.0, 1)
        if not has_program(args.program):
            n_introns = sum(len(query.introns) for query in queries)
            write_result(args, [{"genes": len(queries), "introns": n_introns}])
            return
        copied = aligner.count()[:, -1] > 0
        queries = [query for query, out in zip(queries, copied, strict=True) if not out]
        n_introns = sum(len(query.introns) for query in queries)
        print(f"{len(queries)} genes, {n_introns} introns; {copied.sum()} genes left out")
        rows = []
        write_annotated(args.annotation, annotated)
        ways = {"none": ()} | {
            way: (f"--spsc={path}", *shlex.split(args.with_scores))
            for way, path in (
                text.split("=", 1) for text in [*args.scores, f"annotation={annotated}"]
            )
        }
        for divergence in args.divergence:
            base = None
            aligner.draw(queries, divergence, args.draws)
            for way, options in ways.items():
                values = resample(aligner.count(*options))
                base = values if base is None else base
                errors = (values - base)[1:].std(axis=0).tolist()
                names = ("sensitivity", "precision", *KINDS)
                row = {"divergence": divergence, "scores": way}
                row |= dict(zip(names, values[0].tolist(), strict=True))
                row |= {f"{name}, error": errors[k] for k, name in enumerate(names[:2])}
                rows.append(row)
        write_result(args, rows)


if __name__ == "__main__":
    main()
