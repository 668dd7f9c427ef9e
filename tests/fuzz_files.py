"""A small good file of every format, for ``fuzz.py``."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import shutil
from itertools import pairwise
from pathlib import Path

import seqmtl
from tests.expected import make

STARTER = Path(seqmtl.__file__).parent / "starter" / "splice.seqmtl"
_CONFIG = """\
signal = "donor"
window = 41
[sites]
consensus = "all"
[split]
valid = 0.3
test = 0.3
block = 1000
[decoys]
clearance = 5
[organisms."man"]
"""


def write_files() -> None:
    """Write a small good file of every format into the current folder."""
    with contextlib.redirect_stderr(io.StringIO()):
        make.prepare()
        rows = gzip.decompress(Path("sim/windows.tsv.gz").read_bytes()).decode().splitlines()
        _write("w.tsv", "\n".join([rows[0], *rows[1::9]]))
        _write("w.csv", "\n".join([rows[0], *rows[1::9]]).replace("\t", ","))
        _write("w.tsv.gz", "\n".join([rows[0], *rows[1::9]]))
        column = rows[0].split("\t").index("sequence")
        _write("w.fa", "\n".join(f">{i}\n{r.split()[column]}" for i, r in enumerate(rows[1:20])))
        contigs = Path("sim/genomes/man.fa").read_text().split(">")[1:]
        letters = ["".join(contig.split("\n")[1:])[:5000] for contig in contigs]
        genome = "".join(f">chr{i}\n{text}\n" for i, text in enumerate(letters, 1))
        for name in ("g.fa", "g.fa.gz"):
            _write(name, genome)
        _write("r.bed", "chr1\t100\t900\tone\t0\t+\nchr2\t50\t300\n")
        _annotation()
        _relations()
        _variants(letters[0])
        _few_windows(letters[0])
        make.run("dataset gff3.toml -q -o d")
        shutil.copy(STARTER, "pair.seqmtl")


def _few_windows(letters: str) -> None:
    """Write a few windows of a new organism."""
    rows = [
        f"new\t{1 if i % 40 else -1}\t{letters[i : i + 20]}{'GT' if i % 40 else 'AC'}"
        f"{letters[i + 22 : i + 41]}"
        for i in range(0, 800, 20)
    ]
    _write("few.tsv", "\n".join(["organism\tlabel\tsequence", *rows]))


def _write(name: str, text: str) -> None:
    data = (text if text.endswith("\n") else f"{text}\n").encode()
    Path(name).write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)


def _annotation() -> None:
    gff3, gtf, bed12 = ["##gff-version 3"], [], []
    star: list[str] = []
    for i, start in enumerate(range(100, 4500, 550)):
        for contig in ("chr1", "chr2"):
            place, strand = f"{contig}\tx\t{{}}\t{{}}\t{{}}\t.", "+-"[i % 2]
            tail = f"\t{strand}\t.\t"
            name = f"{contig}.{i}"
            exons = [(start, start + 120), (start + 200, start + 300), (start + 380, start + 480)]
            whole = (start, start + 480)
            gff3 += [
                f"{place.format('gene', *whole)}{tail}ID=g{name}",
                f"{place.format('mRNA', *whole)}{tail}ID=t{name};Parent=g{name}",
                *(f"{place.format('exon', *e)}{tail}Parent=t{name}" for e in exons),
            ]
            ids = f'gene_id "g{name}"; transcript_id "t{name}";'
            gtf += [f"{place.format('exon', *e)}{tail}{ids}" for e in exons]
            star += [
                f"{contig}\t{left[1] + 1}\t{right[0] - 1}\t{i % 3}\t0\t0\t9\t1\t30"
                for left, right in pairwise(exons)
            ]
            sizes = ",".join(str(e - s + 1) for s, e in exons)
            places = ",".join(str(s - start) for s, _ in exons)
            bed12.append(
                f"{contig}\t{start - 1}\t{start + 480}\tt{name}\t0\t{strand}\t{start - 1}\t"
                f"{start + 480}\t0\t3\t{sizes}\t{places}"
            )
    for name, lines in (("gff3", gff3), ("gtf", gtf), ("bed12", bed12)):
        _write(f"a.{name}", "\n".join(lines))
        _write(f"{name}.toml", f"{_CONFIG}genome = 'g.fa'\nannotation = 'a.{name}'")
    _write("a.tab", "\n".join(star))
    _write("j.bed12", "\n".join(bed12))
    bed6 = [f"chr1\t{i}\t{i + 60}\tj{i}\t{i % 7}\t{'+-'[i % 2]}" for i in range(200, 4500, 150)]
    _write("j.bed6", "\n".join(bed6))
    hints = [f"{row.replace('exon', 'intron').rpartition(chr(9))[0]}\tmult=3;src=E" for row in gtf]
    _write("j.hints", "\n".join(hints))
    junctions = {"tab": "a.tab", "junctions": "j.bed12", "j6": "j.bed6", "hints": "j.hints"}
    for name, path in junctions.items():
        rules = "[junctions]\nmin_reads = 1\n"
        config = _CONFIG.replace("[split]", f"{rules}[split]")
        _write(f"{name}.toml", f"{config}genome = 'g.fa'\njunctions = '{path}'")


def _relations() -> None:
    _write("t.nwk", "((ape:0.2,man:0.2)'the primates':0.8,fly:1.0,'a b':2)[all];")
    _write(
        "t.nex",
        "#NEXUS\nBEGIN TREES;\n  TRANSLATE 1 ape, 2 man, 3 fly;\n"
        "  TREE one = [&R] ((1:0.2,2:0.2):0.8,3:1.0);\nEND;",
    )
    _write("D.tsv", "name\tape\tman\tfly\nape\t0\t0.4\t2\nman\t0.4\t0\t2\nfly\t2\t2\t0")
    _write("aln.fa", ">ape x\nACGTACGTAC\n>man\nACGTAC-TAG\n>fly\nTCGAACGTTN")
    _write("g.tsv", "ape\tman\t1\nman\tfly\t0.5")
    _write("groups.tsv", "ape\tprimates\nman\tprimates\t2\nape\tall\nman\tall\nfly\tall")
    _write("K.tsv", "name\tfly\tape\tman\nfly\t1\t.2\t.3\nape\t.2\t1\t.7\nman\t.3\t.7\t1")
    os.mkdir("dump")
    ups = {1: 1, 2: 1, 3: 2, 4: 2, 5: 1}
    names = {1: "root", 2: "primates", 3: "ape", 4: "man", 5: "fly"}
    _write("dump/nodes.dmp", "\n".join(f"{i}\t|\t{up}\t|\trank\t|" for i, up in ups.items()))
    form = "{}\t|\t{}\t|\t\t|\tscientific name\t|"
    _write("dump/names.dmp", "\n".join(form.format(*pair) for pair in names.items()))


def _variants(letters: str) -> None:
    lines = [
        "##fileformat=VCFv4.2",
        "##contig=<ID=chr1,length=5000>",
        '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">',
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tme",
    ]
    for i in range(60, 1500, 90):
        ref, alt = letters[i : i + 1 + i % 3], "ACGT"[i % 4] + "TG" * (i % 2)
        lines.append(f"chr1\t{i + 1}\tv{i}\t{ref}\t{alt},<DEL>\t30\tPASS\tDP=8\tGT\t0/1")
    _write("v.vcf", "\n".join(lines))
    _write("v.vcf.gz", "\n".join(lines))
    _write("chr.tsv", "chr1\tchr1\n2\tchr2")
