"""Given introns are judged: by hand, against displaced ones, and in every format."""

import gzip

import numpy as np
import pytest
from numpy.testing import assert_allclose

import seqmtl
from seqmtl.io.genome import ContigPiece, read_contigs
from seqmtl.io.intron_chains import IntronChain, read_intron_chains
from seqmtl.sequences import encode
from seqmtl.sequences.alphabet import reverse_complement
from seqmtl.splicing.judging import judge_introns
from tests.invocation import rows_of


@pytest.fixture(scope="module")
def finder(case):
    """The finder of the introns of organism a."""
    return seqmtl.load(case / "splice").predictor("a").finder()


@pytest.fixture(scope="module")
def contig(case):
    """chr1 of organism a."""
    return next(iter(read_contigs(case / "sim/genomes/a.fa")))


@pytest.fixture(scope="module")
def chains(case, contig):
    """Transcripts of chr1 with introns."""
    chains = read_intron_chains(case / "sim/annotation/a.gff3")[0]
    return [own for own in chains if own.contig == contig.name and own.introns]


def _probabilities(judged):
    """Return the probabilities by strand and intron."""
    return {
        (one.chain.strand, *intron): p
        for one in judged
        for intron, p in zip(one.chain.introns, one.probabilities.tolist(), strict=True)
    }


def test_an_intron_without_alternatives_by_hand(case):
    finder = seqmtl.load(case / "splice").predictor("a").finder()
    layer = finder.layer._replace(coding_scale=0.0, switch=-100.0, ceiling=1.0, least=(-99, -99))
    letters = list(np.random.default_rng(1).choice(list("ACT"), 400))  # no GT, no AG
    letters[150:152], letters[288:290] = "GT", "AG"
    contig = ContigPiece("x", 0, encode("".join(letters)))
    chains = [IntronChain("x", "+", ((150, 290),))]
    (judged,) = judge_introns(finder, contig, chains)
    log_weight = layer.scale * judged.log_odds.sum() + layer.introns[140 - layer.shortest] + 6
    for weight in (0.01, 0.3, 2.0):
        shift = float(np.log(weight) - log_weight)  # the same outside and inside coding sequence
        finder.layer = layer._replace(shift=shift, coding_shift=shift)
        (judged,) = judge_introns(finder, contig, chains)
        # no coding sequence, or coding in six frames; of its own strand, or none, around the intron
        p = 4 * weight / (7 + 4 * weight)
        assert_allclose(judged.probabilities, [20 * p / (20 * p + 1 - p)], rtol=1e-6)
    assert judged.letters == ("GT-AG",)


def test_log_odds_are_those_of_the_site_models(case, finder, contig, chains):
    sites = {}
    for signal in ("donor", "acceptor"):
        rows = seqmtl.load(case / signal).predictor("a")(contig.codes).sites
        sites[signal] = {(row["strand"], row["start"]): row["log_odds"] for row in rows}
    for one in judge_introns(finder, contig, chains):
        for (start, end), log_odds in zip(one.chain.introns, one.log_odds, strict=True):
            ends = (start, end - 2) if one.chain.strand == "+" else (end - 2, start)
            for signal, place, value in zip(("donor", "acceptor"), ends, log_odds, strict=True):
                alone = sites[signal].get((one.chain.strand, place), np.nan)
                assert_allclose(value, alone, atol=1e-5)


def test_strands_are_alike(finder, contig, chains):
    n = contig.codes.size
    mirrored = ContigPiece("chr1", 0, reverse_complement(contig.codes))
    turned = [
        own._replace(
            strand="+-"[own.strand == "+"],
            introns=tuple((n - end, n - start) for start, end in own.introns[::-1]),
        )
        for own in chains
    ]
    plain = _probabilities(judge_introns(finder, contig, chains))
    other = _probabilities(judge_introns(finder, mirrored, turned))
    assert len(plain) > 20
    for (strand, start, end), p in plain.items():
        assert_allclose(other["+-"[strand == "+"], n - end, n - start], p, rtol=1e-6)


def test_displaced_introns_are_doubtful(finder, contig, chains):
    text = contig.codes.tobytes()
    moved = []
    for own in chains:
        letters = bytes(encode("GT") if own.strand == "+" else encode("CT"))
        (start, end), *rest = own.introns
        place = text.index(letters, start + 1)
        moved.append(own._replace(introns=((place, end), *rest)))
    true = _probabilities(judge_introns(finder, contig, chains))
    false = _probabilities(judge_introns(finder, contig, moved))
    displaced = [p for key, p in false.items() if key not in true]
    assert len(displaced) >= 10
    assert np.median([*true.values()]) > 0.9
    assert np.median(displaced) < 0.1


def test_a_doubtful_intron_has_an_alternative(finder, contig, chains):
    text, moved = contig.codes.tobytes(), {}
    for own in chains:
        if own.strand == "+":
            (start, end), *rest = own.introns
            place = text.index(bytes(encode("GT")), start + 1)
            if place - start < 100 and place < end - 2:
                moved[place, end] = (own._replace(introns=((place, end), *rest)), (start, end))
    assert len(moved) > 5
    judged = judge_introns(finder, contig, [one for one, _ in moved.values()])
    found = {one.chain.introns[0]: (one.probabilities[0], one.alternatives[0]) for one in judged}
    agree = [found[key][1] == intron for key, (_, intron) in moved.items() if found[key][0] < 0.1]
    assert len(agree) > 5
    assert np.mean(agree) > 0.8


def test_introns_shorter_than_those_of_the_model(case, contig):
    finder = seqmtl.load(case / "splice").predictor("a").finder()
    first, length = finder.layer.shortest, 60
    assert first > length
    letters = list(np.random.default_rng(1).choice(list("ACT"), 400))
    letters[150:152], letters[208:210] = "GT", "AG"
    short = ContigPiece("x", 0, encode("".join(letters)))
    finder.layer = finder.layer._replace(shift=5.0, coding_shift=5.0, least=(-99, -99))
    (judged,) = judge_introns(finder, short, [IntronChain("x", "+", ((150, 210),))])
    assert 0 < judged.probabilities[0] <= 1


def test_results_do_not_depend_on_how_a_contig_is_cut(finder, contig, chains, monkeypatch):
    together = _probabilities(judge_introns(finder, contig, chains))
    monkeypatch.setattr("seqmtl.splicing.judging.LOCUS", 2_000)
    assert _probabilities(judge_introns(finder, contig, chains)) == together


def test_a_chain_is_judged_alone(finder, contig, chains):
    together = [*judge_introns(finder, contig, chains)]
    for one in together[::5]:
        (alone,) = judge_introns(finder, contig, [one.chain])
        assert_allclose(alone.probabilities, one.probabilities, rtol=1e-6)


def test_ends_that_cannot_be_sites(finder, contig):
    n = contig.codes.size
    chains = [IntronChain("chr1", "+", bounds) for bounds in (((5, 700),), ((700, n - 5),))]
    text = contig.codes.tobytes()
    start = text.index(bytes(encode("CC")), 500)
    chains.append(IntronChain("chr1", "+", ((start, start + 90),)))
    judged = _probabilities(judge_introns(finder, contig, chains))
    assert np.isnan(judged["+", 5, 700])
    assert np.isnan(judged["+", 700, n - 5])
    assert judged["+", start, start + 90] == 0


def test_a_strand_is_found_by_the_sites(finder, contig, chains):
    unknown = [IntronChain("chr1", ".", (intron,)) for own in chains for intron in own.introns[:1]]
    judged = {
        one.chain.introns[0]: one.chain.strand for one in judge_introns(finder, contig, unknown)
    }
    agree = [judged[own.introns[0]] == own.strand for own in chains]
    assert np.mean(agree) > 0.9


def _judge(seqmtl, case, path, options, folder):
    genome = case / "sim/genomes/a.fa"
    return seqmtl(f"introns {case}/splice {genome} {path} --organism a -o {folder} {options}")


def test_genes_get_an_attribute(case, tmp_path, seqmtl):
    annotation = case / "sim/annotation/a.gff3"
    _judge(seqmtl, case, annotation, f"--json {tmp_path}/n.json", tmp_path / "out")
    before = annotation.read_text().splitlines()
    after = (tmp_path / "out/a.gff3").read_text().splitlines()
    assert len(before) == len(after)
    chains = {own.transcript: own for own in read_intron_chains(annotation)[0]}
    _, *rows = rows_of(tmp_path / "out/transcripts.tsv")
    lowest = {row[0]: row[6] for row in rows}
    n_with = 0
    for old, new in zip(before, after, strict=True):
        plain, _, values = new.partition(";intron_probability=")
        assert plain == old
        if values:
            n_with += 1
            name = old.partition("ID=")[2].partition(";")[0]
            assert len(values.split(",")) == len(chains[name].introns)
            assert min(map(float, values.split(","))) == float(lowest[name])
    assert n_with == len(rows) == sum(bool(own.introns) for own in chains.values())


def test_attributes_are_in_reading_direction(case, tmp_path, seqmtl):
    _judge(seqmtl, case, case / "sim/annotation/a.gff3", "", tmp_path / "out")
    _, *rows = rows_of(tmp_path / "out/introns.tsv")
    of_intron = {(row[0], row[3], int(row[1]) - 1, int(row[2])): row[8] for row in rows}
    chains = {own.transcript: own for own in read_intron_chains(case / "sim/annotation/a.gff3")[0]}
    for line in (tmp_path / "out/a.gff3").read_text().splitlines():
        plain, _, values = line.partition(";intron_probability=")
        if values:
            own = chains[plain.partition("ID=")[2].partition(";")[0]]
            introns = own.introns if own.strand == "+" else own.introns[::-1]
            keys = [(own.contig, own.strand, *intron) for intron in introns]
            assert values.split(",") == [of_intron[key] for key in keys]


def test_transcripts_of_gtf_without_rows_of_their_own(case, contig, chains, tmp_path, seqmtl):
    rows = []
    for own in chains:
        ends = [own.introns[0][0] - 60, *(end for intron in own.introns for end in intron)]
        ends.append(own.introns[-1][1] + 60)
        for first, last in zip(ends[::2], ends[1::2], strict=True):
            columns = ("chr1", "x", "exon", first + 1, last, ".", own.strand, ".")
            names = f'gene_id "g"; transcript_id "{own.transcript}";'
            rows.append("\t".join(map(str, columns)) + f"\t{names}")
    (tmp_path / "x.gtf").write_text("\n".join(rows) + "\n")
    _judge(seqmtl, case, tmp_path / "x.gtf", "", tmp_path / "out")
    lines = (tmp_path / "out/x.gtf").read_text().splitlines()
    assert [line.partition(" intron_probability ")[0].rstrip() for line in lines] == rows
    values = [line.partition(' intron_probability "')[2].rstrip('";') for line in lines]
    assert [value.count(",") + 1 for value in values if value] == [
        len(own.introns) for own in chains
    ]


def _exon_rows(contig, start, end, strand):
    """Return rows of GTF: a transcript, and its exons before and behind an intron."""
    names = 'gene_id "g1"; transcript_id "t1";'
    bounds = [("transcript", start - 49, end + 50), ("exon", start - 49, start)]
    return [
        "\t".join(map(str, (contig, "x", kind, a, b, ".", strand, ".", names)))
        for kind, a, b in [*bounds, ("exon", end + 1, end + 50)]
    ]


def test_one_name_on_two_contigs(case, tmp_path, seqmtl):
    chains = read_intron_chains(case / "sim/annotation/a.gff3")[0]
    introns = []
    for contig in ("chr1", "chr3"):
        own = next(own for own in chains if own.contig == contig and own.introns)
        introns.append((contig, *own.introns[0], own.strand))
    introns[1] = introns[1][0], introns[1][1] - 1, *introns[1][2:]  # without its letters
    rows = [row for intron in introns for row in _exon_rows(*intron)]
    (tmp_path / "x.gtf").write_text("\n".join(rows) + "\n")
    _judge(seqmtl, case, tmp_path / "x.gtf", "", tmp_path / "out")
    _, *table = rows_of(tmp_path / "out/introns.tsv")
    p_of = {(row[0], int(row[1]) - 1, int(row[2])): row[8] for row in table}
    written = (tmp_path / "out/x.gtf").read_text().splitlines()
    values = [line.partition('intron_probability "')[2].rstrip('";') for line in written]
    assert values[::3] == [p_of[intron[:3]] for intron in introns]
    assert float(values[0]) > float(values[3]) == 0
    assert not any(values[1::3] + values[2::3])


def test_rows_without_a_strand_add_their_reads(case, chains, tmp_path, seqmtl):
    start, end = chains[0].introns[0]
    strands = chains[0].strand, "."
    rows = [f"chr1\t{start}\t{end}\tj\t{7 + k}\t{strand}" for k, strand in enumerate(strands)]
    rows.append(f"chr1\t3\t{end}\tj\t5\t.")  # too near to the end of the contig
    (tmp_path / "out").mkdir()
    (tmp_path / "out/transcripts.tsv").write_text("of an earlier run\n")
    (tmp_path / "x.bed").write_text("\n".join(rows) + "\n")
    _judge(seqmtl, case, tmp_path / "x.bed", "--min-probability 0.1", tmp_path / "out")
    _, *table = rows_of(tmp_path / "out/introns.tsv")
    assert {(row[1], row[10]) for row in table} == {(str(start + 1), "15"), ("4", "5")}
    assert (tmp_path / "out/x.bed").read_text().splitlines() == rows
    assert not (tmp_path / "out/transcripts.tsv").exists()


@pytest.mark.parametrize(
    "name", ["x.bed", "x12.bed", "SJ.out.tab", "x.hints", "x.bed.gz", "x.gff3"]
)
def test_rows_of_introns_are_filtered(case, contig, chains, finder, tmp_path, seqmtl, name):
    true = sorted({(*intron, own.strand) for own in chains for intron in own.introns})
    text = contig.codes.tobytes()
    moved = [(text.index(bytes(encode("CC")), start), end, strand) for start, end, strand in true]
    false = [own for own in moved if own[0] < own[1] - 2]
    rows = []
    for k, (start, end, strand) in enumerate([*true, *false]):
        reads = k + 1
        blocks = (start - 9, end + 9, 0, 2, "9,9", f"0,{end + 9 - start}")
        hint = ("chr1", "b2h", "intron", start + 1, end, 0, strand, ".")
        columns = {
            "x.bed": ("chr1", start, end, f"j{k}", reads, strand),
            "x12.bed": ("chr1", start - 9, end + 9, f"j{k}", reads, strand, *blocks),
            "SJ.out.tab": ("chr1", start + 1, end, 1 + (strand == "-"), 1, 0, reads, 0, 30),
            "x.hints": (*hint, f"mult={reads};pri=4;src=E"),
            "x.gff3": (*hint[:5], reads, *hint[6:], f"ID=i{k}"),
        }[name.removesuffix(".gz")]
        rows.append("\t".join(map(str, columns)))
    content = "\n".join(rows) + "\n"
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(content.encode()))
    else:
        (tmp_path / name).write_text(content)
    _judge(seqmtl, case, tmp_path / name, "--min-probability 0.1", tmp_path / "out")
    _, *table = rows_of(tmp_path / "out/introns.tsv")
    reads_of = {(int(row[1]) - 1, int(row[2]), row[3]): row[10] for row in table}
    p_of = {(int(row[1]) - 1, int(row[2]), row[3]): row[8] for row in table}
    assert [reads_of[key] for key in true] == [str(k + 1) for k in range(len(true))]
    raw = (tmp_path / "out" / name).read_bytes()
    written = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode().splitlines()
    passing = [
        row
        for row, key in zip(rows, [*true, *false], strict=True)
        if p_of[key] == "." or float(p_of[key]) >= 0.1
    ]
    assert len(true) // 2 < len(passing) <= len(true)
    if name in ("x.hints", "x.gff3"):
        assert [line.rpartition(";intron_probability=")[0] for line in written] == passing
    else:
        assert written == passing


def test_what_cannot_be_judged(case, tmp_path, seqmtl):
    def refused(command, code=2):
        return seqmtl(command, code).err

    annotation, genome = case / "sim/annotation/a.gff3", case / "sim/genomes/a.fa"
    end = f"-o {tmp_path}/out"
    message = refused(f"introns {case}/donor {genome} {annotation} --organism a {end}")
    assert "model of seqmtl pair" in message
    message = refused(
        f"introns {case}/splice {genome} {annotation} --organism a --min-probability 0.1 {end}"
    )
    assert "transcripts.tsv" in message
    (tmp_path / "x.bed").write_text("chrQ\t10\t90\tj\t5\t+\nchrQ\t20\t90\tj\t7\t+\n")
    assert "chrQ" in refused(
        f"introns {case}/splice {genome} {tmp_path}/x.bed --organism a {end}", 1
    )
    (tmp_path / "x.bed").write_text("chr1\t10\t90\tj\t5\t+\nchr1\t20\t99999999\tj\t7\t+\n")
    message = refused(f"introns {case}/splice {genome} {tmp_path}/x.bed --organism a {end}", 1)
    assert "right genome" in message
    genes = annotation.read_text().splitlines()
    shifted = [line.split("\t") for line in genes if "\t" in line]
    for row in shifted:
        row[3] = str(int(row[3]) + 1)
    (tmp_path / "x.gff3").write_text("".join("\t".join(row) + "\n" for row in shifted))
    message = refused(f"introns {case}/splice {genome} {tmp_path}/x.gff3 --organism a {end}", 1)
    assert "without the letters of a site" in message
    (tmp_path / "x.gff3").write_text("")
    message = refused(f"introns {case}/splice {genome} {tmp_path}/x.gff3 --organism a {end}", 1)
    assert "introns must be GFF3, GTF, BED12, BED6, SJ.out.tab or hints (GFF)" in message
    assert not (tmp_path / "out").exists()
