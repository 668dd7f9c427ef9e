"""What commands refuse: options that do not fit a model or each other, and empty texts."""

import pytest

import seqmtl as package
from seqmtl.commands._request import options_of
from seqmtl.commands.main import command_named, command_names
from seqmtl.exceptions import UsageError

OPTIONS = [
    (name, each)
    for name in command_names()
    for each in options_of(command_named(name))
    if not each.is_flag and each.choices is None
]


@pytest.mark.parametrize(("name", "each"), OPTIONS, ids=lambda value: getattr(value, "name", value))
def test_an_empty_text_is_no_value(name, each):
    """``--tree "$TREE"`` with a variable that is not set."""
    for text in ("", " "):
        with pytest.raises(UsageError, match="got an empty text"):
            each.value([text] if each.is_repeated else text)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("train w.tsv --tree '' -o m", "--tree must have a value, got an empty text"),
        ("explain m -o ''", "-o must have a value, got an empty text"),
        ("scan m g.fa -o x.bed --organism ''", "--organism must have a value, got an empty text"),
        ("predict m ''", "DATA must have a value, got an empty text"),
        ("train w.tsv --loss '' -o m", "--loss must be one of"),
    ],
)
def test_an_empty_text_is_refused_before_work(tmp_path, monkeypatch, seqmtl, command, message):
    monkeypatch.chdir(tmp_path)
    assert message in seqmtl(command, 2).err
    assert not list(tmp_path.iterdir())


def test_info_writes_json_into_a_file(world, tmp_path, seqmtl):
    model = world.trained("donor")
    shown = seqmtl(f"info {model} --json {tmp_path}/x.json").out
    assert shown.startswith("model ")
    assert (tmp_path / "x.json").read_text() == seqmtl(f"info {model} --json -").out
    assert "would overwrite the input" in seqmtl(f"info {model} --json {model}", 1).err


@pytest.fixture(scope="module")
def files(world, tmp_path_factory):
    """Models of each kind, and data, by the names that commands have."""
    folder = tmp_path_factory.mktemp("kinds")
    rows = [f"{'ACGTTGCA' * 3}{'ACGT' * k}\t{k % 2}" for k in range(1, 9)]
    (folder / "w.tsv").write_text("sequence\tlabel\n" + "\n".join(rows) + "\n")
    package.train(
        f"{folder}/w.tsv", output=f"{folder}/kmers", selection="none", features="spectrum:1-2"
    )
    return {
        "single": world.trained("donor"),
        "pair": world.paired,
        "kmers": folder / "kmers",
        "table": folder / "w.tsv",
        "fasta": world.simulation / "genomes/a.fa",
        "donors": world.dataset("donor"),
        "acceptors": world.dataset("acceptor"),
        "out": folder / "out",
    }


_ADAPT_PAIR = "adapt {pair} --genome c={fasta} --organism c -o {out}"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("evaluate {pair} {donors}", "takes two datasets"),
        ("evaluate {single} {donors} {acceptors}", "is a dataset, which must be the only DATA"),
        ("evaluate {pair} {donors} {acceptors} --negatives {table}", "--negatives is not for"),
        ("evaluate {pair} {donors} {acceptors} --reference {fasta}", "--reference is not for"),
        ("evaluate {pair} {donors} {acceptors} --like a", "--like a needs the organism of"),
        ("evaluate {pair} {donors} {acceptors} --organism z", "'z' is not in this model"),
        ("evaluate {single} {donors} --like a", "--like a needs the organism of"),
        ("explain {single} --n-windows 3 -o {out}", "--n-windows is for windows; give DATA"),
        ("explain {kmers} --n-windows 3 -o {out}", "--n-windows is for windows; give DATA"),
        ("explain {single} --contig-ends drop -o {out}", "no option --contig-ends; windows are"),
        ("adapt {single} --organism c --prevalence 0.1 -o {out}", "--prevalence is for windows"),
        ("adapt {single} --organism c --introns x -o {out}", "--introns is for a model of"),
        ("adapt {single} --genome c=x --organism c -o {out}", "--genome is for a model of"),
        ("adapt {pair} --organism c --plot x.svg -o {out}", "no option --plot; seqmtl report"),
        ("adapt {pair} --organism c -o {out}", "give --genome c=FASTA"),
        ("adapt {pair} --genome d={fasta} --organism c -o {out}", "'c' is not in --genome"),
        ("adapt {pair} {donors} --organism c -o {out}", "DATA is for models of seqmtl train"),
        (f"{_ADAPT_PAIR} --sites c={{fasta}}", "no option --sites; seqmtl dataset takes BED"),
        (f"{_ADAPT_PAIR} --prevalence .1", "--prevalence is for models of seqmtl train"),
        ("scan {pair} {fasta} --organism a --top 5 -o {out}", "--top takes the best introns of"),
        ("scan {pair} {fasta} --organism a -o -", "has a file for each of 2 signals"),
        ("scan {single} {fasta} --organism a --format introns -o {out}", "introns need a model of"),
        ("scan {pair} {fasta} --organism a --threshold 1 -o {out}", "--threshold is not for"),
        ("scan {kmers} {fasta} --strand + -o {out}", "no option --strand; both strands are"),
        ("scan {single} {fasta} --softmask=skip -o x", "no option --softmask; case is ignored"),
        ("scan {single} {fasta} --organism all -o {out}", "'all' is not in the model"),
    ],
)
def test_what_does_not_go_together_is_refused(
    files, tmp_path, monkeypatch, seqmtl, command, message
):
    monkeypatch.chdir(tmp_path)
    assert message in seqmtl(command.format(**files), 2).err
    assert not list(tmp_path.iterdir())
    assert not files["out"].exists()


@pytest.mark.parametrize(
    "command",
    [
        "predict {pair} {table}",
        "calibrate {pair} {donors} -o {out}",
        "explain {pair} -o {out}",
        "similarity {pair} -o {out}",
        "pair {pair} {single} {donors} {acceptors} -o {out}",
    ],
)
def test_where_a_model_of_pairs_does_not_fit_it_says_what_does(files, seqmtl, command):
    told = seqmtl(command.format(**files), 1).err
    assert "is a model of pairs, not of weights; evaluate, scan, adapt, " in told
    assert "calibrate the donor and the acceptor model and run seqmtl pair again" in told
    assert not files["out"].exists()
