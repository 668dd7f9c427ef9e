"""Sites of a genome from its annotation, row by row: slow and obvious, and nothing of seqmtl."""

import gzip
import re
from collections import defaultdict

EXONS = {"exon", "noncoding_exon", "pseudogenic_exon"}
PIECES = {"exon", "CDS", "five_prime_UTR", "three_prime_UTR", "5UTR", "start_codon", "stop_codon"}
STOPS = {"TAA", "TAG", "TGA"}
LETTERS = {"donor": {"GT"}, "acceptor": {"AG"}, "start": {"ATG"}, "stop": STOPS}
#: Types of rows whose ends are no starts or ends of transcription.
WITHOUT_ENDS = {"pseudogene", "pseudogenic_transcript", "tRNA", "rRNA", "snRNA", "snoRNA", "miRNA"}
WITHOUT_ENDS |= {"tRNA_gene", "rRNA_gene", "snRNA_gene", "snoRNA_gene"}
LENGTHS = {"donor": 2, "acceptor": 2, "start": 3, "stop": 3, "tss": 1, "polya": 1}


def read_fasta(path):
    contigs, name = {}, None
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt") as lines:
        for line in lines:
            if line.startswith(">"):
                name = line[1:].split()[0]
                contigs[name] = []
            else:
                contigs[name].append(line.strip().upper())
    return {name: "".join(parts) for name, parts in contigs.items()}


def reverse_complement(letters):
    return letters[::-1].translate(str.maketrans("ACGTacgt", "TGCAtgca"))


def read_rows(path):
    """Yield type, contig, strand, start (0-based), end, phase and transcripts of each row."""
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt") as lines:
        for line in lines:
            if line.startswith("##FASTA"):
                return
            if line.startswith("#"):
                continue
            f = line.rstrip("\n").split("\t")
            parents = re.findall(r'transcript_id "([^"]+)"', f[8])
            found = re.search(r"Parent=([^;]+)", f[8])
            if found:
                parents = [p for p in found[1].split(",") if not p.endswith("-Protein")]
            yield f[2], f[0], f[6], int(f[3]) - 1, int(f[4]), f[7], parents


def read_types(path):
    """Return the type of the row of each ID of GFF3."""
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines if line.count("\t") == 8]
    found = ((row[2], re.match("ID=([^;]+)", row[8])) for row in rows)
    return {match[1]: kind for kind, match in found if match}


def sites_of(path, fasta, signal, min_intron=20):
    """Return the set of (contig, start, strand) of a signal, those with its letters alone."""
    parts = defaultdict(lambda: defaultdict(list))
    place = {}
    for kind, contig, strand, start, end, phase, parents in read_rows(path):
        for parent in parents:
            if kind in EXONS or kind == "CDS" or kind.endswith("_UTR") or kind.endswith("_codon"):
                group = "exon" if kind in EXONS else kind
                parts[parent][group].append((start, end, phase))
                place[parent] = contig, strand
    found = set()
    types = read_types(path) if signal in ("tss", "polya") else {}
    for parent, rows in parts.items():
        contig, strand = place[parent]
        if strand not in "+-" or types.get(parent) in WITHOUT_ENDS:
            continue
        sequence = fasta[contig]
        for start in candidates(rows, strand, signal, sequence, min_intron):
            letters = sequence[start : start + LENGTHS[signal]]
            if strand == "-":
                letters = reverse_complement(letters)
            if signal not in LETTERS or letters in LETTERS[signal]:
                found.add((contig, start, strand))
    return found


def candidates(rows, strand, signal, sequence, min_intron):
    exons = sorted(r[:2] for kind in PIECES for r in rows.get(kind, ()))
    covered = sorted({i for start, end in exons for i in (start, end)})
    first, last = covered[0], max(end for _, end in exons)
    coding = sorted(rows.get("CDS", ()))
    if signal in ("donor", "acceptor"):
        reach = exons[0][1]
        for start, end in exons[1:]:  # pieces that touch have no gap
            if start - reach >= min_intron:
                yield reach if (signal == "donor") == (strand == "+") else start - 2
            reach = max(reach, end)
    elif signal in ("tss", "polya"):
        at_start = (signal == "tss") == (strand == "+")
        codons = rows.get("stop_codon", []) if signal == "polya" else []
        edges = [*coding, *codons]
        if at_start and (not coding or min(edges)[0] != first):
            yield first
        elif not at_start and (not coding or max(e[1] for e in edges) != last):
            yield last - 1
    elif coding:
        yield from codons_of(rows, coding, strand, signal, sequence)


def codons_of(rows, coding, strand, signal, sequence):
    stated = rows.get(f"{signal}_codon")
    at_start = (signal == "start") == (strand == "+")
    segments = sorted(stated or coding)
    start, end, phase = segments[0] if at_start else segments[-1]
    if end - start < 3 or (signal == "start" and not stated and phase in "12"):
        return
    begin = start if at_start else end - 3
    if signal == "stop" and not stated:
        first_phase = (coding[0] if strand == "+" else coding[-1])[2]
        if (sum(b - a for a, b, _ in coding) - int(first_phase.replace(".", "0"))) % 3:
            return
    yield begin
