"""``scan --like``, ``adapt --genome`` and ``annotate``: a genome, and no labels."""

import contextlib
import io
import json
import re
import shlex
import shutil

import pytest

from seqmtl import _progress
from seqmtl.loading import load
from seqmtl.splicing.self_training import SelfTraining
from tests.crashes import files_of
from tests.invocation import exit_code, python, rows_of, write_vcf
from tests.oracles.annotation import read_fasta


def _genome(new):
    return new / "sim/genomes/c.fa"


@pytest.fixture
def scan(new, tmp_path, seqmtl):
    """Return a function that scans for introns, and returns their lines, and messages."""

    def run(options, genome=None, code=0):
        out = tmp_path / "x.bed"
        command = f"scan {new}/pair.seqmtl {genome or _genome(new)} --format introns -o {out}"
        messages = seqmtl(f"{command} {options}", code).err
        return rows_of(out) if not code else [], messages

    return run


def _told(command):
    """Run a command, and return its messages."""
    with contextlib.redirect_stderr(io.StringIO()) as told:
        assert exit_code(shlex.split(command)) == 0
    return told.getvalue()


@pytest.fixture(scope="module")
def adapted(new, tmp_path_factory):
    """The paired model with organism c, and what was told when it was made."""
    path = tmp_path_factory.mktemp("adapted") / "c.seqmtl"
    options = f"--genome c={_genome(new)} --organism c --like auto"
    return path, _told(f"adapt {new}/pair.seqmtl {options} -o {path}")


@pytest.fixture(scope="module")
def annotated(new, tmp_path_factory):
    """The folder of what `annotate` finds in genome c, and what was told meanwhile."""
    path = tmp_path_factory.mktemp("annotated") / "c"
    options = f"--like auto --organism c --model {new}/pair.seqmtl"
    with pytest.MonkeyPatch.context() as patch:
        # in a log file without a terminal, long rounds show that they go on
        patch.setattr(_progress, "SECONDS", (0.0, 0.0))
        return path, _told(f"annotate {_genome(new)} {options} -o {path}")


def test_a_scan_places_an_organism_by_its_genome(scan):
    found, messages = scan("--organism c --like auto")
    assert len(found) > 100
    pattern = r"c: --like auto: the mean of all; relatives used: [ab] 0\.\d\d, [ab] 0\.\d\d\n"
    assert re.search(pattern, messages)
    assert re.search(
        r"c: about \d+ introns are expected in 2\d\d,\d{3} bases of the genome \([\d,]+ per Mb\)\n"
        r"seqmtl: note: c: estimated from the probabilities, \d+% of them are called at p >= 0.5 ",
        messages,
    )
    assert scan("--like '(a:1,b:1,c:1);'", code=1)[1]


def test_like_an_organism_of_the_model_is_a_relative(scan):
    found, messages = scan("--organism c --like a")
    assert "c: --like a: a; relatives used: a " in messages
    assert "scored with" not in messages
    assert found == scan("--like a")[0] != scan("--organism a")[0]


@pytest.mark.parametrize(
    ("options", "genome", "message"),
    [
        ("--organism b --like a", None, "organism 'b' is in the model already"),
        ("--like zzz", None, "'zzz' is neither an organism of the model"),
        ("--like auto", "-", "cannot come from standard input or a pipe; give it as a file"),
        ("--like auto", "nowhere.fa", "nowhere.fa: No such file"),
    ],
)
def test_a_scan_refuses(scan, options, genome, message):
    code = 1 if "No such file" in message else 2
    assert message in scan(options, genome, code=code)[1]


def test_variants_by_a_relative_are_those_of_a_model_that_has_it(new, tmp_path, seqmtl):
    letters = read_fasta(_genome(new))["chr1"]
    at = letters.index("GT", 5_000)
    write_vcf(tmp_path / "v.vcf", [("chr1", at, "G", "A")])
    load(new / "pair.seqmtl").predictor("c", like="a").model.save(tmp_path / "c.seqmtl")
    options = f"--vcf {tmp_path}/v.vcf --fasta {_genome(new)} --organism c -o {tmp_path}/o.vcf"
    rows = []
    for model, like in ((new / "pair.seqmtl", "--like a"), (tmp_path / "c.seqmtl", "")):
        seqmtl(f"variants {model} {options} {like}")
        rows.append((tmp_path / "o.vcf").read_text().splitlines()[-1])
    assert rows[0] == rows[1]
    assert "SeqMTL_donor=" in rows[0]


def test_adapt_learns_from_the_genome(new, adapted, tmp_path, seqmtl):
    model, shown = adapted
    rounds = load(model).training["unlabelled"]["c"]["rounds"]
    assert len(rounds) > 1
    assert f"{len(rounds) - 1} round(s)" in shown
    assert shown.count("note:     0 ") == 1
    lines = seqmtl(f"info {model}").out.splitlines()
    assert any("c: no labels, 240,000 bases of its genome" in line for line in lines)
    assert sum(line[:5] == "    1" for line in lines) == 1
    again = f"adapt {model} --genome c={_genome(new)} --organism c --like a -o {tmp_path}/again"
    assert "organism 'c' is in the model already" in seqmtl(again, 2).err
    seqmtl(f"scan {model} {_genome(new)} --organism c --format introns -o {tmp_path}/c.bed")
    assert len(rows_of(tmp_path / "c.bed")) > 150


def test_calls_are_not_told_as_true_sites(adapted, tmp_path, seqmtl):
    """A user looks up what a model knows: of c there was never a label."""
    model = shutil.copy(adapted[0], tmp_path / "c.seqmtl")
    donor = load(model).donor.training
    n = donor["calibration"]["c"]["n_positive"]
    lines = seqmtl(f"info {model}").out.splitlines()
    own = [line.strip() for line in lines if line.strip().startswith("c")]
    assert sum("predicted, without labels" in line for line in own) == 2  # donors and acceptors
    assert f"c: isotonic, {n:,} predictions, no labels, a share of" in "\n".join(own)
    assert sum("adapted to predictions of the model" in line for line in own) == 2
    assert not any("true site" in line or "positive" in line for line in own)
    assert sum("true sites" in line for line in lines) == 4  # those of a and of b
    other = load(model)
    other.training["unlabelled"]["c"]["warnings"] = ["other"]
    other.save(tmp_path / "other.seqmtl")
    seqmtl(f"report {tmp_path} -o {tmp_path}/page.html")
    page = (tmp_path / "page.html").read_text()
    for name in ("c: c", "other: c"):
        assert f"{name}: about " in page
    assert page.count('alt="Weights of letters around donors"') == 2


def test_known_introns_are_sites_of_every_round(new, tmp_path, seqmtl):
    known = f"--introns {new}/sim/annotation/c.gff3 -o {tmp_path}/c.seqmtl"
    command = f"adapt {new}/pair.seqmtl --genome c={_genome(new)} --organism c --like a {known}"
    assert re.search("[0-9]+ donors and [0-9]+ acceptors are known", seqmtl(command).err)
    assert min(load(tmp_path / "c.seqmtl").training["unlabelled"]["c"]["n_known"]) > 150


def test_adapt_warns_where_there_is_too_little_to_learn_from(new, tmp_path, seqmtl):
    command = f"adapt {new}/pair.seqmtl --genome r={new}/random.fa --organism r"
    shown = seqmtl(f"{command} --like auto --tree '(a:1,b:1);' -o {tmp_path}/r.seqmtl", 2).err
    assert "--like auto uses no tree" in shown
    shown = seqmtl(f"{command} --tree '((a:1,b:1):1,r:2);' -o {tmp_path}/r.seqmtl").err
    assert "r: nearest trained relative a (a path of 4 in the tree text)" in shown
    pattern = (
        r"warning: r: too few predictions for self-training: (\d+) donors and (\d+) acceptors with "
        r"p >= 0.5 in one half of the genome, and 4 of each are needed"
        r".*; the weights are those of the relatives"
    )
    (numbers,) = re.findall(pattern, shown)
    assert min(map(int, numbers)) < 4
    assert len(load(tmp_path / "r.seqmtl").training["unlabelled"]["r"]["rounds"]) == 1


def test_annotate_makes_all(annotated):
    out, shown = annotated
    for number, part in ((0, "scoring candidates, 50%"), (1, "learning sites"), (1, "weighing")):
        assert f"note: round {number}: {part}" in shown
    summary = json.loads((out / "summary.json").read_text())
    assert summary["organism"] == "c"
    assert 1 < len(summary["rounds"]) <= 11
    introns = rows_of(out / "sites.introns.gff3")
    assert len(introns) == summary["introns"] > 150
    page = (out / "report.html").read_text()
    assert "<h1>Introns of c</h1>" in page
    assert "by models trained on the predictions of the round before" in page
    expected, p50, p90 = (summary["calls"][key] for key in ("expected", "p50", "p90"))
    assert f"about {expected:,.0f} introns are expected in {summary['bases']:,} bases of" in page
    for least, (n, false) in ((0.5, p50), (0.9, p90)):
        accuracy = f"<td>{1 - false:.0%}</td>\n<td>{n * (1 - false) / expected:.0%}</td>"
        accuracy = re.sub(r"\s+", r"\\s*", accuracy)
        row = rf"<th scope=\"row\">{least}</th>\s*<td>[\d,]+</td>\s*{accuracy}"
        assert re.search(row, page)
    relatives = summary["relatives"]["weights"]
    assert relatives.keys() == {"a", "b"}
    assert sum(relatives.values()) == pytest.approx(1)
    assert f"relatives used: a {relatives['a']:.2f}, b {relatives['b']:.2f}" in page
    for picture in ("Lengths of introns", "Weights of letters around donors"):
        assert f'alt="{picture}"' in page
    assert "seqmtl introns model.seqmtl c.fa annotation.gff3 --organism c -o judged" in page
    assert f"Results in {out.name}." in page
    assert "precision" not in summary
    assert summary["introns_from"]["0.5"] >= summary["introns_from"]["0.9"] > 100
    for warning in summary["warnings"]:
        assert f"Warning:</strong> c: {warning}" in page


def test_the_folder_has_what_a_scan_with_its_model_and_a_report_on_it_give(
    new, annotated, tmp_path, seqmtl
):
    """The report reads the model and its logos."""
    folder, _ = annotated
    options = f"--organism c --format all -o {tmp_path}/sites"
    seqmtl(f"scan {folder}/model.seqmtl {_genome(new)} {options}")
    for name in ("sites.introns.gff3", "sites.donor.bed.gz", "sites.acceptor.minus.bw"):
        assert (folder / name).read_bytes() == (tmp_path / name).read_bytes()
    seqmtl(f"report {folder} -o {tmp_path}/again.html")
    page, again = (
        re.findall('data:image/svg[^"]+', path.read_text())
        for path in (folder / "report.html", tmp_path / "again.html")
    )
    assert page == again
    assert len(page) > 2


def test_a_report_compares_introns_with_an_annotation(new, annotated, tmp_path, seqmtl):
    out, truth = shutil.copytree(annotated[0], tmp_path / "c"), f"{new}/sim/annotation/c.gff3"
    command = f"report {out} -o {tmp_path}/page.html --annotation"
    told = seqmtl(f"{command} c={truth}").err
    pattern = r"c: (\d+) introns predicted \(p >= 0.5\); (\d+) of the (\d+) introns in c.gff3"
    n, right, true = map(int, re.search(pattern, told).groups())
    summary = (out / "summary.json").read_text()
    assert n == json.loads(summary)["introns_from"]["0.5"]
    assert min(right / n, right / true) > 0.8
    assert "<h1>Introns of c</h1>" in (tmp_path / "page.html").read_text()
    shown = seqmtl(f"{command} d={truth}", 2).err
    assert "--annotation must name an organism" in shown
    assert "(c), got d" in shown
    (out / "summary.json").write_text(summary.replace("c.fa", "moved.fa"))
    assert (
        "moved.fa: no such genome; run seqmtl report where" in seqmtl(f"{command} c={truth}", 1).err
    )
    letters = read_fasta(_genome(new))
    other = "".join(f">{name}\n{text[::-1]}\n" for name, text in letters.items())
    (tmp_path / "moved.fa").write_text(other)
    (out / "summary.json").write_text(summary.replace(str(_genome(new)), f"{tmp_path}/moved.fa"))
    assert "most donor sites must be GT or GC or AT, got" in seqmtl(f"{command} c={truth}", 1).err


#: They tell times, and so differ from run to run.
_TIMED = ("summary.json", "report.html")


def test_one_scan_writes_what_three_would(new, tmp_path, seqmtl):
    command = f"scan {new}/pair.seqmtl {_genome(new)} --organism a"
    seqmtl(f"{command} --format all -o {tmp_path}/sites")
    seqmtl(f"{command} --format introns -o {tmp_path}/own.gff3")
    seqmtl(f"{command} --min-probability 0.1 -o {tmp_path}/own.bed.gz")
    seqmtl(f"{command} -o {tmp_path}/own.bw")
    pairs = {"sites.introns.gff3": "own.gff3"}
    for signal in ("donor", "acceptor"):
        pairs[f"sites.{signal}.bed.gz"] = f"own.{signal}.bed.gz"
        for strand in ("plus", "minus"):
            pairs[f"sites.{signal}.{strand}.bw"] = f"own.{signal}.{strand}.bw"
    for one, other in pairs.items():
        assert (tmp_path / one).read_bytes() == (tmp_path / other).read_bytes(), one
    shown = seqmtl(f"{command} --format all -o -", 2).err
    assert "all writes several files; name them" in shown
    shown = seqmtl(f"scan {new}/donor {_genome(new)} --organism a --format all -o {tmp_path}/x", 2)
    assert "introns need a model of seqmtl pair" in shown.err


@pytest.mark.parametrize("name", ["sites.donor.plus.bw", "model.seqmtl"])
def test_annotate_sees_a_folder_in_place_of_a_file_before_its_rounds(
    new, tmp_path, seqmtl, monkeypatch, name
):
    (tmp_path / "x" / name).mkdir(parents=True)
    monkeypatch.setattr(SelfTraining, "__init__", lambda *_, **__: pytest.fail("work was done"))
    options = f"--like a --organism c --model {new}/pair.seqmtl -o {tmp_path}/x"
    shown = seqmtl(f"annotate {_genome(new)} {options}", 1).err
    assert f"cannot write {tmp_path}/x/{name}: it is a folder; give a file name" in shown


def test_annotate_sees_a_contig_that_bed_cannot_have_before_its_rounds(
    new, tmp_path, seqmtl, monkeypatch
):
    """A contig called track: its lines of BED would be taken for a header."""
    (tmp_path / "c.fa").write_text(_genome(new).read_text() + ">track\nACGT\n")
    monkeypatch.setattr(SelfTraining, "__init__", lambda *_, **__: pytest.fail("work was done"))
    options = f"--like a --model {new}/pair.seqmtl -o {tmp_path}/x"
    shown = seqmtl(f"annotate {tmp_path}/c.fa {options}", 1).err
    assert "a line that begins with 'track' is a comment or a header in BED" in shown
    assert not (tmp_path / "x").exists()


#: Runs a command in an installation without matplotlib.
_WITHOUT_MATPLOTLIB = """
import sys
sys.modules["matplotlib"] = None
from seqmtl.commands.main import main
sys.exit(main(sys.argv[1:]))
"""


def _without_matplotlib(command, code=0):
    done = python(None, "-c", _WITHOUT_MATPLOTLIB, *shlex.split(command))
    assert done.returncode == code, done.stderr
    return done.stderr


def test_annotate_without_matplotlib_writes_all_but_pictures(new, tmp_path, seqmtl):
    """``pip install seqmtl`` on a cluster, without the extra for plots."""
    options = f"{_genome(new)} --like a --organism a --model {new}/pair.seqmtl -o {tmp_path}"
    told = _without_matplotlib(f"annotate {options}/without")
    assert "pictures, which need matplotlib; run: pip install matplotlib" in told
    seqmtl(f"annotate {options}/with")
    pages = [(tmp_path / name / "report.html").read_text() for name in ("with", "without")]
    assert ["pictures, which need matplotlib" in page for page in pages] == [False, True]
    assert ["<figure" in page for page in pages] == [True, False]
    tables = [re.findall("<table>.*?</table>", page, re.DOTALL) for page in pages]
    assert tables[0] == tables[1] != []
    of_both = [files_of(tmp_path / name, but=_TIMED) for name in ("with", "without")]
    assert of_both[0] == of_both[1]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("compare {new}/donors --json x.json --plot x.svg", 2),
        ("explain {new}/donor {new}/donors -o x", 1),
    ],
)
def test_commands_without_matplotlib_refuse_to_draw(new, tmp_path, monkeypatch, command, code):
    monkeypatch.chdir(tmp_path)
    told = _without_matplotlib(command.format(new=new), code)
    assert "needs matplotlib; run: pip install matplotlib" in told
    assert "Traceback" not in told
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("code", "genome", "options", "message"),
    [
        (1, "nowhere.fa", "--model {0}/pair.seqmtl", "nowhere.fa: no such file"),
        (1, "{0}/random.fa", "--model {0}/donor", "pairs"),
        (2, "{0}/random.fa", "--model {0}/pair.seqmtl --like zzz", "'zzz' is neither"),
        (1, "{0}/random.fa", "--model {0}/pair.seqmtl --introns no.bed", "no.bed"),
        (2, "{0}/random.fa", "--model {0}/pair.seqmtl --organism a --introns {0}/donor", "leave"),
    ],
)
def test_annotate_refuses_and_leaves_no_folder(
    new, tmp_path, seqmtl, code, genome, options, message
):
    command = f"annotate {genome} --like b {options} -o {tmp_path}/x".format(new)
    assert message in seqmtl(command, code).err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", ["sites.donor.bed.gz", "sites.introns.gff3", "model.seqmtl"])
def test_annotate_replaces_no_introns_that_it_reads(new, tmp_path, seqmtl, name):
    """A user keeps known introns in the folder of results, under a name that the scan takes."""
    path = tmp_path / name
    path.write_text("a\t100\t200\tx\t0\t+\n")
    command = f"annotate {_genome(new)} --like b --model {new}/pair.seqmtl --introns {path}"
    told = seqmtl(f"{command} -o {tmp_path}", 1).err
    assert f"{path} would overwrite the input {path}; choose another output" in told
    assert path.read_text().startswith("a\t100")
