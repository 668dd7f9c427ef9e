"""VCF in, VCF out: nothing but INFO changes, and what is wrong is told."""

import gzip
import io
import random
import re

import numpy as np
import pytest

import seqmtl as package
from seqmtl import MultiTaskModel, PositionalKmers, TaskKernel
from seqmtl.core.weights import TaskWeights
from seqmtl.files.bgzip import BGZIP_END, bgzip
from seqmtl.io import load_genome
from seqmtl.io.vcf import escape
from seqmtl.linear_model.site import Site
from seqmtl.variant_effects import EffectScorer, score_variants
from tests.oracles.annotation import reverse_complement
from tests.summaries import training_summary

LENGTH = 21
HEADER = (
    "##fileformat=VCFv4.2\n##contig=<ID=I,length=600>\n##contig=<ID=II,length=300>\n"
    '##INFO=<ID=AF,Number=A,Type=Float,Description="Frequency">\n'
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
)
COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
rng = np.random.default_rng(8)
I, II = ("".join(rng.choice(list("ACGT"), n)) for n in (600, 300))
I = I[:299] + "GTAAGT" + I[305:]


def make_model(site=None, names=("worm", "fruit fly|x=1,2;y")):
    draw = np.random.default_rng(1)
    features = PositionalKmers("wd:2")
    W = draw.normal(size=(features.n_features(LENGTH), 2))
    return MultiTaskModel(
        features,
        LENGTH,
        names,
        TaskKernel(list(names), np.eye(2), "none"),
        TaskWeights.of(W, features.view_columns(LENGTH)),
        np.array([-0.3, 0.1]),
        np.array([[2.0, 0.3], [1.0, 0.0]]),
        site or Site(9, 2, "GT", "donor"),
        training_summary(names, "float64"),
    )


def record(pos, ref, alt, contig="I", info=".", rest=""):
    return f"{contig}\t{pos}\t.\t{ref}\t{alt}\t30\tPASS\t{info}{rest}\n"


RECORDS = [
    record(20, I[19], "ACGT"["ACGT".index(I[19]) - 1], info="AF=0.5"),
    record(300, "GT", "GA", info="DB;AF=0.1"),
    record(301, "T", "A,C,TAAG"),
    record(301, "t", "g"),
    record(310, I[309:315], I[309]),
    record(10, II[9], "<DEL>", "II", info="END=40"),
    record(12, II[11], "*,A", "II"),
    record(14, II[13], "<NON_REF>", "II", info="END=50"),
    record(14, II[13], ".", "II"),
    record(15, "ACGT"["ACGT".index(II[14]) - 1], "N", "II"),
    record(16, II[15], f"{II[15]}[II:30[", "II"),
    record(17, II[16], "AR,<NON_REF>", "II"),
    record(300, II[299] + "A", "A", "II"),
    record(0, "N", "A", "II"),
    record(5, "A", "C", "III"),
]
SKIPPED = {
    5: "symbolic",
    6: "overlapping_deletion",
    9: "ref_mismatch",
    10: "breakend",
    11: "alt_letters",
    12: "outside_contig",
    13: "outside_contig",
    14: "unknown_contig",
}
SCORED = [0, 1, 2, 3, 4, 6]


@pytest.fixture
def genome_path(write):
    return write(f">I first\n{I}\n>II\n{II}\n>other\nACGT\n", "genome.fa")


@pytest.fixture
def model_path(tmp_path):
    path = tmp_path / "donor.seqmtl"
    make_model().save(path)
    return path


@pytest.fixture
def vcf_path(write):
    return write(HEADER + COLUMNS + "\n" + "".join(RECORDS), "in.vcf")


@pytest.fixture
def run(tmp_path, model_path, genome_path, seqmtl):
    """Return a function that runs the command and returns the output and the messages."""

    def run_command(vcf, *options, model=model_path, organism="worm", output="out.vcf", code=0):
        files = ["--vcf", vcf, "--fasta", genome_path, "-o", tmp_path / output]
        told = seqmtl(["variants", model, *files, "--organism", organism, *options], code).err
        return tmp_path / output, told

    return run_command


def read_records(path):
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [line for line in text.decode().splitlines(keepends=True) if not line.startswith("#")]


def records(done):
    """Return the records that a command has written."""
    return read_records(done[0])


def entries_of(lines):
    """Return the fields of every record and of each of its entries of donors."""
    return [
        (line.split("\t"), entry.split("|"))
        for line in lines
        for entry in info_of(line).get("SeqMTL_donor", "").split(",")
        if entry
    ]


def info_of(line):
    entries = line.rstrip("\n").split("\t")[7].split(";")
    return dict(entry.partition("=")[::2] for entry in entries)


def without_info(line):
    return [field for i, field in enumerate(line.split("\t")) if i != 7]


class TestLines:
    def test_all_lines_pass_and_only_info_grows(self, run, vcf_path):
        lines = records(run(vcf_path))
        assert len(lines) == len(RECORDS)
        for i, (before, after) in enumerate(zip(RECORDS, lines, strict=True)):
            assert without_info(before) == without_info(after)
            old, new = before.rstrip("\n").split("\t")[7], after.rstrip("\n").split("\t")[7]
            assert new == old or (
                new.startswith("SeqMTL_") if old == "." else new.startswith(old + ";")
            )
            assert info_of(after).get("SeqMTL_donor_skipped") == SKIPPED.get(i)
            assert ("SeqMTL_donor" in info_of(after)) == (i in SCORED)
        assert lines[7] == RECORDS[7]  # a gVCF block
        assert lines[8] == RECORDS[8]

    @pytest.mark.parametrize(
        ("info", "start"), [("AF=0.5;", "AF=0.5;SeqMTL_"), (";", "SeqMTL_"), ("", "SeqMTL_")]
    )
    def test_a_semicolon_at_the_end_of_info_is_not_doubled(self, run, write, info, start):
        """Some callers write one; two in a row are an empty entry."""
        (line,) = records(run(write(HEADER + COLUMNS + "\n" + record(301, "T", "A", info=info))))
        assert line.split("\t")[7].startswith(start)

    def test_the_numbers_are_those_of_score_variants(self, run, vcf_path, genome_path):
        entries = entries_of(records(run(vcf_path)))
        genome, model = load_genome(genome_path, padding=1), make_model()
        for (contig, pos, _, ref, *_), (alt, organism, *columns) in entries:
            found = score_variants(model, genome, [(contig, int(pos) - 1, ref, alt)], "worm")
            assert organism == "worm"
            for c in (0, 1):
                strand = found.strands[0, c]
                assert columns[c] == f"{found.changes[0, c]:.4f}"
                if strand < 0:
                    assert columns[2 + c] == columns[4 + c] == "."
                    continue
                assert int(columns[2 + c]) == found.positions[0, c] - (int(pos) - 1)
                assert columns[4 + c] == "+-"[strand]
                change = np.diff(found.scores[0, c])[0]
                assert columns[6 + c] == ("." if np.isnan(change) else f"{change:.4f}")
        assert len(entries) == 8
        alt, _, *columns = next(entry for row, entry in entries if row[1] == "300")
        assert (alt, columns[3], columns[5], columns[7]) == ("GA", "0", "+", ".")  # broken at POS

    def test_genotypes_and_odd_bytes_pass(self, run, write):
        rest = "\tGT:AD\t0/1:3,4\t./.:."
        lines = [
            record(20, I[19], "N", info="X=\u00e4;;Y", rest=rest).encode(),
            record(21, I[20], "N", info="", rest=rest).encode().replace(b"PASS", b"\xff"),
        ]
        columns = f"{COLUMNS}\tFORMAT\tone\ttwo\n"
        output, _ = run(write((HEADER + columns).encode() + b"".join(lines), "in.vcf"))
        got = output.read_bytes().splitlines(keepends=True)[-2:]
        assert got[0].startswith(lines[0].split(b"Y")[0] + b"Y;SeqMTL_donor=N|")
        assert got[0].endswith(rest.encode() + b"\n")
        assert b"\xff\tSeqMTL_donor=N|" in got[1]

    def test_header(self, run, vcf_path):
        output, _ = run(vcf_path)
        header = [line for line in output.read_text().splitlines() if line.startswith("#")]
        assert header[:5] == HEADER.splitlines()
        assert header[5].startswith("##INFO=<ID=SeqMTL_donor,Number=.,Type=String,Description=")
        assert header[5].endswith(
            'Format: ALLELE|ORGANISM|DS_DG|DS_DL|DP_DG|DP_DL|ST_DG|ST_DL|RS_DG|RS_DL">'
        )
        assert header[6].startswith("##INFO=<ID=SeqMTL_donor_skipped,Number=.,Type=String,")
        assert header[7].startswith('##seqmtl=<Version="')
        assert header[8:] == [COLUMNS]

    def test_how_lines_are_written_does_not_matter(self, run, vcf_path, write):
        """Without the first line, with blank lines, and with the line ends of Windows."""
        whole = run(vcf_path)[0].read_bytes()
        header, lines = HEADER + COLUMNS + "\n", "".join(RECORDS)
        blank = HEADER + "\n" + COLUMNS + "\n \n" + "\n\n".join(RECORDS) + "\n\n"
        for text in (header.partition("\n")[2] + lines, header + lines, blank):
            for line_end in ("\n", "\r\n"):
                output, _ = run(write(text.replace("\n", line_end), "in.vcf"))
                assert output.read_bytes() == whole

    def test_header_only(self, run, write):
        assert records(run(write(HEADER + COLUMNS, "empty.vcf"), output="out.vcf.gz")) == []

    def test_batches_and_threads_change_nothing(self, run, vcf_path, monkeypatch):
        wanted = records(run(vcf_path))
        monkeypatch.setattr(EffectScorer, "n_records", 2)
        for threads in (1, 3):
            assert records(run(vcf_path, "--threads", threads)) == wanted

    def test_streams(self, run, vcf_path, monkeypatch, model_path, genome_path, seqmtl):
        wanted = records(run(vcf_path))
        standard_input = io.TextIOWrapper(io.BytesIO(vcf_path.read_bytes()))
        monkeypatch.setattr("sys.stdin", standard_input)
        files = f"--vcf - --fasta {genome_path} -o -"
        shown = seqmtl(f"variants {model_path} {files} --organism worm").out
        lines = shown.splitlines(keepends=True)
        assert [line for line in lines if not line.startswith("#")] == wanted


class TestCounts:
    def test_python_and_messages(self, run, vcf_path, genome_path, model_path, tmp_path):
        output, told = run(vcf_path)
        there = tmp_path / "python.vcf"
        found = package.variants(
            model_path, vcf=vcf_path, fasta=genome_path, organism="worm", output=there
        )
        assert read_records(there) == read_records(output)
        assert found["organism"] == "worm"
        assert (found["n_records"], found["n_without_alleles"]) == (15, 2)
        assert (found["n_alleles"], found["n_scored"]) == (16, 8)
        assert sum(found["not_scored"].values()) == 8
        assert found["not_scored"] == {
            "symbolic": 1,
            "overlapping_deletion": 1,
            "ref_mismatch": 1,
            "breakend": 1,
            "alt_letters": 1,
            "outside_contig": 2,
            "unknown_contig": 1,
        }
        assert found["examples"]["unknown_contig"] == "III:5 A>C"
        assert found["is_sorted"] is False
        assert "1 of 16 alleles were not scored: REF differs from the genome" in told
        assert "2 records have no allele to score" in told

    def test_the_wrong_assembly(self, run, write):
        lines = [record(p, "ACGT"["ACGT".index(I[p - 1]) - 1], "N") for p in range(20, 30)]
        _, told = run(write(HEADER + COLUMNS + "\n" + "".join(lines), "in.vcf"))
        assert "10 of 10 alleles were not scored: REF differs" in told
        assert "is it the right assembly?" in told

    def test_table(self, run, vcf_path, tmp_path):
        output, _ = run(vcf_path, "--tsv", tmp_path / "t.tsv.gz")
        header, *rows = gzip.open(tmp_path / "t.tsv.gz", "rt").read().splitlines()
        rows = [dict(zip(header.split("\t"), row.split("\t"), strict=True)) for row in rows]
        entries = entries_of(read_records(output))
        assert len(rows) == len(entries) == 8
        for row, (fields, entry) in zip(rows, entries, strict=True):
            assert [row["contig"], row["pos"], row["ref"]] == [fields[0], fields[1], fields[3]]
            assert (row["alt"], row["organism"], row["kind"]) == (entry[0], "worm", "donor")
            for c, name in enumerate(("gain", "loss")):
                assert f"{float(row[name]):.4f}" == entry[2 + c]
                assert [row[f"{name}_offset"], row[f"{name}_strand"]] == entry[4 + c : 8 : 2]
                if row[f"{name}_strand"] == ".":
                    continue
                place = int(row[f"{name}_pos"])
                assert place - int(row["pos"]) == int(entry[4 + c])
                before, after = (float(row[f"{name}_{h}_probability"]) for h in ("ref", "alt"))
                assert (after - before) * (1 - 2 * c) == pytest.approx(float(row[name]), abs=1e-5)
                if name == "loss":  # a lost site is in the genome, on the strand that is told
                    contig = {"I": I, "II": II}[row["contig"]]
                    site = contig[place - 1 : place + 1]
                    if row["loss_strand"] == "-":
                        site = reverse_complement(contig[place - 2 : place])
                    assert site == "GT"


class TestContigs:
    def renamed(self, write):
        lines = "".join(RECORDS[:5]).replace("I\t", "chromosome1\t")
        return write(HEADER + COLUMNS + "\n" + lines, "renamed.vcf")

    def test_no_known_contig_is_an_error_that_lists_both_sides(self, run, write):
        output, told = run(self.renamed(write), code=1)
        assert not output.exists()
        assert "contig must be one of the genome's (I, II, other), got 'chromosome1'" in told

    def test_chr_is_suggested(self, run, write):
        text = HEADER + COLUMNS + "\n" + record(5, "A", "C", "chrI")
        _, told = run(write(text, "in.vcf"), code=1)
        assert (
            "'chr' is removed from those asked for: rename one side, such as with bcftools" in told
        )


class TestSeveralSignals:
    def test_a_second_model_adds_a_second_entry(self, run, vcf_path, tmp_path):
        make_model(Site(9, 2, "AG", "")).save(tmp_path / "acceptor.seqmtl")
        first, _ = run(vcf_path, output="first.vcf")
        second, _ = run(first, model=tmp_path / "acceptor.seqmtl", output="second.vcf")
        text = second.read_text()
        assert text.count("##seqmtl=<") == 2
        assert "ALLELE|ORGANISM|DS_AG|DS_AL|DP_AG|DP_AL|ST_AG|ST_AL|RS_AG|RS_AL" in text
        for before, after in zip(read_records(first), read_records(second), strict=True):
            assert after.split("\t")[7].rstrip("\n").startswith(before.split("\t")[7].rstrip("\n"))
            assert ("SeqMTL_acceptor" in info_of(after)) == ("SeqMTL_donor" in info_of(before))

    def test_the_same_entry_twice_is_refused(self, run, vcf_path):
        first, _ = run(vcf_path, output="first.vcf")
        second, told = run(first, output="second.vcf", code=1)
        assert not second.exists()
        assert "first.vcf: the file has INFO/SeqMTL_donor already; remove it with: bcftools" in told

    @pytest.mark.parametrize(
        ("kind", "letters"), [("tss", "T"), ("polya", ""), ("", ""), ("start", "")]
    )
    def test_columns_of_other_signals(self, run, vcf_path, tmp_path, kind, letters):
        make_model(Site(10, 1, "", kind)).save(tmp_path / "other.seqmtl")
        text = run(vcf_path, model=tmp_path / "other.seqmtl")[0].read_text()
        assert f"##INFO=<ID=SeqMTL_{kind or 'site'}," in text
        assert f"|DS_{letters}G|DS_{letters}L|DP_{letters}G|" in text

    def test_names_of_organisms_are_escaped(self, run, vcf_path):
        ((_, entry), *_) = entries_of(records(run(vcf_path, organism="fruit fly|x=1,2;y")))
        assert entry[1] == "fruit%20fly%7Cx%3D1%2C2%3By"
        assert escape("a%b\u00e9") == "a%25b%C3%A9"


TABS, HEAD = "separated by tabs as the header says", f"{HEADER}{COLUMNS}\n"
SAMPLES = f"{HEADER}{COLUMNS}\tFORMAT\tone\ttwo\n"
BAD = {
    "no columns": (HEADER + record(5, "A", "C"), "bad.vcf:6: the header of a VCF file must be"),
    "header only in ##": (HEADER, "must have a line that begins with #CHROM"),
    "empty": ("", "must have a line that begins with #CHROM"),
    "blanks": (HEADER + COLUMNS.replace("\t", " "), "separated by tabs, got '#CHROM POS"),
    "few columns": (f"{HEAD}{RECORDS[0]}I\t5\t.\tA\n", f"bad.vcf:8: .* 8 columns {TABS}, got 4"),
    "many columns": (HEAD + record(5, "A", "C", rest="\tGT"), f"vcf:7: .* 8 columns {TABS}, got 9"),
    "samples missing": (
        SAMPLES + record(5, "A", "C", rest="\tGT\t0"),
        f" 11 columns {TABS}, got 10",
    ),
    "tabs alone": (HEAD + "\t" * 7 + "\n", "bad.vcf:7: POS must be a whole"),
    "after a blank line": (f"{HEAD}\nI\t5\t.\tA\n", f"bad.vcf:8: .* 8 columns {TABS}, got 4"),
    "POS": (HEAD + record("x1", "A", "C"), "bad.vcf:7: POS must be a whole"),
    "POS below 0": (HEAD + record(-1, "A", "C"), "POS must be a whole number"),
    "long POS": (HEAD + record("9" * 5000, "A", "C"), "POS must be .*, got '9{60}'; correct the"),
    "no REF": (HEAD + record(5, "", "C"), "bad.vcf:7: REF and the entries"),
    "no ALT": (HEAD + record(5, "A", "C,"), "entries of ALT must not be empty"),
    "BCF": (bgzip(b"BCF\2\2\0\0\0\0##file") + BGZIP_END, "the file is BCF, .*: bcftools view -Oz"),
    "truncated": (gzip.compress((HEAD + RECORDS[0] * 999).encode())[:-20], "file is truncated"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_files_are_refused(run, write, tmp_path, what):
    content, message = BAD[what]
    path = write(content, "bad.vcf")
    before = {*tmp_path.iterdir()}
    assert re.search(message, run(path, "--tsv", tmp_path / "t.tsv", code=1)[1])
    assert {*tmp_path.iterdir()} <= before


def test_a_bad_record_is_refused_before_effects_are_written(seqmtl, model_path, genome_path, write):
    path = write(HEADER + COLUMNS + "\n" + RECORDS[0] * 5000 + record("x1", "A", "C"), "bad.vcf")
    command = ["variants", model_path, "--vcf", path, "--fasta", genome_path, "--organism", "worm"]
    done = seqmtl([*command, "-o", "-"], 1)
    assert "bad.vcf:5007: POS must be a whole" in done.err
    assert done.out == ""


@pytest.mark.parametrize(
    ("code", "options", "message"),
    [
        (2, ["-o", "out.bcf"], "-o must end in .vcf or .vcf.gz"),
        (1, ["--tsv", "no/out.tsv"], "no folder no; create it first"),
        (2, ["-o", "-", "--tsv", "-"], "only one output can go to standard output"),
        (2, ["--organism", "mouse"], "task 'mouse'"),
    ],
)
def test_bad_options(run, vcf_path, tmp_path, monkeypatch, code, options, message):
    monkeypatch.chdir(tmp_path)
    assert message in run(vcf_path, *options, code=code)[1]


def test_relatives(run, vcf_path, tmp_path):
    names = ("worm", "fly", "moth")
    kernel = np.array([[1, 0.5, 0.4], [0.5, 1, 0.8], [0.4, 0.8, 1]])
    model = make_model(names=names[:2])
    model.kernel = TaskKernel(list(names), kernel, "none")
    model.save(tmp_path / "tree.seqmtl")
    options = {"model": tmp_path / "tree.seqmtl", "organism": "moth"}
    out, told = run(vcf_path, **options)
    assert len(records((out, told))) == len(RECORDS)
    line = "moth: no training data, scored from its relatives, of which fly counts most"
    assert told.count(line) == 1


def test_an_organism_must_be_named(model_path, vcf_path, genome_path, tmp_path, seqmtl):
    files = f"--vcf {vcf_path} --fasta {genome_path} -o {tmp_path}/out.vcf"
    told = seqmtl(f"variants {model_path} {files}", 2).err
    assert "--organism must be one of worm, fruit fly" in told


class TestOtherTools:
    """pysam carries bcftools and tabix."""

    @pytest.fixture
    def pysam(self):
        pysam = pytest.importorskip("pysam")
        pytest.importorskip("pysam.bcftools")
        return pysam

    @pytest.fixture
    def many(self, write):
        draw = random.Random(4)
        lines = []
        for name, contig in (("I", I), ("II", II)):
            for p in sorted(draw.sample(range(len(contig) - 8), 60)):
                ref = contig[p : p + draw.choice([1, 1, 1, 4])]
                alts = {draw.choice("ACGT"), ref[0] + "GTA", "*"} - {ref}
                lines.append(record(p + 1, ref, ",".join(sorted(alts)), name))
        header = HEADER + '##ALT=<ID=NON_REF,Description="Any">\n'
        return write(header + COLUMNS + "\n" + "".join(lines), "many.vcf")

    def test_bcftools_tabix_and_pysam_read_the_output(self, pysam, run, many):
        output, _ = run(many, output="out.vcf.gz")
        lines = read_records(output)
        index = output.with_name("out.vcf.gz.tbi")
        assert index.exists()
        viewed = pysam.bcftools.view("-H", "--no-version", str(output), "II")
        assert viewed == "".join(line for line in lines if line.startswith("II\t"))
        stats = pysam.bcftools.stats(str(output))
        assert f"number of records:\t{len(lines)}" in stats
        asked = pysam.bcftools.query("-f", "%POS\t%INFO/SeqMTL_donor\n", str(output))
        rows = [line.split("\t") for line in asked.splitlines()]
        assert [row[1] for row in rows] == [info_of(line)["SeqMTL_donor"] for line in lines]
        with pysam.TabixFile(str(output)) as table:
            assert list(table.fetch("I", 100, 300)) == [
                line.rstrip("\n")
                for line in lines
                if line.startswith("I\t")
                and int(line.split("\t")[1]) - 1 < 300
                and int(line.split("\t")[1]) - 1 + len(line.split("\t")[3]) > 100
            ]
        with pysam.VariantFile(str(output)) as variants:
            for found, line in zip(variants, lines, strict=True):
                entries = found.info["SeqMTL_donor"]
                assert ",".join(entries) == info_of(line)["SeqMTL_donor"]
                assert [entry.split("|")[0] for entry in entries] == [
                    alt for alt in found.alts if alt != "*"
                ]

    @pytest.mark.parametrize(("pos", "index"), [(2**29 - 5, "tbi"), (2**29 + 5, "csi")])
    def test_positions_beyond_the_reach_of_tbi_have_csi(self, pysam, run, write, pos, index):
        """Contigs of wheat and of the axolotl are longer than 512 Mb."""
        header = HEADER + COLUMNS + "\n"
        rows = record(3, I[2], "A" if I[2] != "A" else "C") + record(pos, "A", "C")
        output, told = run(write(header + rows, "far.vcf"), output="out.vcf.gz")
        assert "index" not in told
        names = {path.name for path in output.parent.glob("out.vcf.gz.*")}
        assert names == {f"out.vcf.gz.{index}"}
        with pysam.VariantFile(str(output)) as file:
            assert [row.pos for row in file.fetch("I", pos - 2, pos + 2)] == [pos]

    def test_unsorted_variants_have_no_index(self, pysam, run, vcf_path):
        output, told = run(vcf_path, output="out.vcf.gz")
        assert not output.with_name("out.vcf.gz.tbi").exists()
        assert "is not sorted: no index" in told
        assert output.read_bytes().endswith(BGZIP_END)
