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


@pytest.fixture
def own_finder(case):
    """The same, whose layer a test may replace."""
    return seqmtl.load(case / "splice").predictor("a").finder()


def _alone(length):
    """A contig without GT and AG but those of an intron at its base 150, and that intron."""
    letters, end = list(np.random.default_rng(1).choice(list("ACT"), 400)), 150 + length
    letters[150:152], letters[end - 2 : end] = "GT", "AG"
    return ContigPiece("x", 0, encode("".join(letters))), [IntronChain("x", "+", ((150, end),))]


def _displaced(contig, chains):
    """Chains whose first intron begins at the next place with the letters of a donor."""
    text = contig.codes.tobytes()
    for own in chains:
        (start, end), *rest = own.introns
        place = text.index(bytes(encode("GT" if own.strand == "+" else "CT")), start + 1)
        yield own._replace(introns=((place, end), *rest)), (start, end)


def _probabilities(judged):
    """Return the probabilities by strand and intron."""
    return {
        (one.chain.strand, *intron): p
        for one in judged
        for intron, p in zip(one.chain.introns, one.probabilities.tolist(), strict=True)
    }


def test_an_intron_without_alternatives_by_hand(own_finder):
    finder, (contig, chains) = own_finder, _alone(140)
    layer = finder.layer._replace(coding_scale=0.0, switch=-100.0, ceiling=1.0, least=(-99, -99))
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


def test_displaced_introns_are_doubtful_and_have_an_alternative(finder, contig, chains):
    moved = {own.introns[0]: (own, intron) for own, intron in _displaced(contig, chains)}
    true = _probabilities(judge_introns(finder, contig, chains))
    judged = [*judge_introns(finder, contig, [own for own, _ in moved.values()])]
    displaced = [p for key, p in _probabilities(judged).items() if key not in true]
    assert len(displaced) >= 10
    assert np.median([*true.values()]) > 0.9
    assert np.median(displaced) < 0.1
    agree = []
    for one in judged:
        place, _ = one.chain.introns[0]
        start, end = moved[one.chain.introns[0]][1]
        if one.chain.strand == "+" and place - start < 100 and one.probabilities[0] < 0.1:
            agree.append(one.alternatives[0] == (start, end))
    assert len(agree) > 5
    assert np.mean(agree) > 0.8


def test_introns_shorter_than_those_of_the_model(own_finder):
    finder, (contig, chains) = own_finder, _alone(60)
    assert finder.layer.shortest > 60
    finder.layer = finder.layer._replace(shift=5.0, coding_shift=5.0, least=(-99, -99))
    (judged,) = judge_introns(finder, contig, chains)
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


def test_genes_get_an_attribute_in_reading_direction(case, tmp_path, seqmtl):
    annotation = case / "sim/annotation/a.gff3"
    _judge(seqmtl, case, annotation, "", tmp_path / "out")
    _, *rows = rows_of(tmp_path / "out/introns.tsv")
    of_intron = {(row[0], row[3], int(row[1]) - 1, int(row[2])): row[8] for row in rows}
    chains = {own.transcript: own for own in read_intron_chains(annotation)[0]}
    _, *rows = rows_of(tmp_path / "out/transcripts.tsv")
    lowest, n_with = {row[0]: float(row[6]) for row in rows}, 0
    after = (tmp_path / "out/a.gff3").read_text().splitlines()
    for old, new in zip(annotation.read_text().splitlines(), after, strict=True):
        plain, _, values = new.partition(";intron_probability=")
        assert plain == old
        if values:
            n_with += 1
            own = chains[old.partition("ID=")[2].partition(";")[0]]
            introns = own.introns if own.strand == "+" else own.introns[::-1]
            keys = [(own.contig, own.strand, *intron) for intron in introns]
            assert values.split(",") == [of_intron[key] for key in keys]
            assert min(map(float, values.split(","))) == lowest[own.transcript]
    assert n_with == len(rows) == sum(bool(own.introns) for own in chains.values())


def _gtf(path, transcript, contig, introns, strand, kinds=("exon",)):
    """Append a transcript with exons between introns, and of 60 bases beside them."""
    ends = [introns[0][0] - 60, *(end for intron in introns for end in intron), introns[-1][1] + 60]
    bounds = [*zip(ends[::2], ends[1::2], strict=True)]
    rows = [("transcript", ends[0], ends[-1])] * ("transcript" in kinds)
    rows += [("exon", *pair) for pair in bounds]
    names = f'gene_id "g"; transcript_id "{transcript}";'
    lines = [
        "\t".join(map(str, (contig, "x", kind, first + 1, last, ".", strand, ".", names)))
        for kind, first, last in rows
    ]
    with open(path, "a") as stream:
        stream.write("\n".join(lines) + "\n")


def _written(case, path, seqmtl):
    """Judge GTF, and return its rows as they were, and the values of the attribute."""
    _judge(seqmtl, case, path, "", path.parent / "out")
    lines = (path.parent / "out" / path.name).read_text().splitlines()
    parts = [line.partition(' intron_probability "') for line in lines]
    return [old.rstrip() for old, *_ in parts], [values.rstrip('";') for *_, values in parts]


def test_transcripts_of_gtf_without_rows_of_their_own(case, chains, tmp_path, seqmtl):
    path = tmp_path / "x.gtf"
    for own in chains:
        _gtf(path, own.transcript, "chr1", own.introns, own.strand)
    rows, values = _written(case, path, seqmtl)
    assert rows == path.read_text().splitlines()
    sizes = [value.count(",") + 1 for value in values if value]
    assert sizes == [len(own.introns) for own in chains]


def test_one_name_on_two_contigs(case, tmp_path, seqmtl):
    chains = read_intron_chains(case / "sim/annotation/a.gff3")[0]
    keys = []
    for contig, shift in (("chr1", 0), ("chr3", 1)):  # the second is without its letters
        own = next(own for own in chains if own.contig == contig and own.introns)
        start, end = own.introns[0]
        keys.append((contig, start - shift, end))
        _gtf(tmp_path / "x.gtf", "t1", contig, [keys[-1][1:]], own.strand, ("transcript", "exon"))
    _, values = _written(case, tmp_path / "x.gtf", seqmtl)
    _, *table = rows_of(tmp_path / "out/introns.tsv")
    p_of = {(row[0], int(row[1]) - 1, int(row[2])): row[8] for row in table}
    assert values[::3] == [p_of[key] for key in keys]
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
    content = ("\n".join(rows) + "\n").encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    _judge(seqmtl, case, tmp_path / name, "--min-probability 0.1", tmp_path / "out")
    _, *table = rows_of(tmp_path / "out/introns.tsv")
    found = {(int(row[1]) - 1, int(row[2]), row[3]): (row[8], row[10]) for row in table}
    assert [found[key][1] for key in true] == [str(k + 1) for k in range(len(true))]
    raw = (tmp_path / "out" / name).read_bytes()
    written = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode().splitlines()
    p_of_rows = [found[key][0] for key in (*true, *false)]
    passing = [row for row, p in zip(rows, p_of_rows, strict=True) if p == "." or float(p) >= 0.1]
    assert len(true) // 2 < len(passing) <= len(true)
    if name in ("x.hints", "x.gff3"):
        assert [line.rpartition(";intron_probability=")[0] for line in written] == passing
    else:
        assert written == passing


def test_what_cannot_be_judged(case, tmp_path, seqmtl):
    genes = case / "sim/annotation/a.gff3"
    rows = [line.split("\t") for line in genes.read_text().splitlines() if "\t" in line]
    for row in rows:
        row[3] = str(int(row[3]) + 1)
    files = {
        "other.bed": "chrQ\t10\t90\tj\t5\t+\nchrQ\t20\t90\tj\t7\t+\n",
        "longer.bed": "chr1\t10\t90\tj\t5\t+\nchr1\t20\t99999999\tj\t7\t+\n",
        "shifted.gff3": "".join("\t".join(row) + "\n" for row in rows),
        "empty.gff3": "",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    formats = "introns must be GFF3, GTF, BED12, BED6, SJ.out.tab or hints (GFF)"
    for model, path, options, code, message in (
        ("donor", genes, "", 2, "model of seqmtl pair"),
        ("splice", genes, "--min-probability 0.1", 2, "transcripts.tsv"),
        ("splice", tmp_path / "other.bed", "", 1, "chrQ"),
        ("splice", tmp_path / "longer.bed", "", 1, "right genome"),
        ("splice", tmp_path / "shifted.gff3", "", 1, "without the letters of a site"),
        ("splice", tmp_path / "empty.gff3", "", 1, formats),
    ):
        command = f"introns {case}/{model} {case}/sim/genomes/a.fa {path} --organism a {options}"
        assert message in seqmtl(f"{command} -o {tmp_path}/out", code).err
    assert not (tmp_path / "out").exists()
