"""What the commands do with names: one rule, said once, and never another organism."""

import numpy as np
import pytest

from seqmtl import MultiTaskModel, MultiTaskSVC, PositionalKmers, Windows
from seqmtl.commands.main import main
from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.io import read_windows
from tests.adaptation.test_adaptation import windows_of
from tests.invocation import write_windows

QUICK = "--selection none --features wd:2"


def contents(folder):
    return sorted(path.name for path in folder.iterdir())


def write(path, *organisms):
    """Write 24 windows of every organism, true sites have TAGT behind AG."""
    parts = (windows_of(name, 24, 0, length=21, motif="TAGT") for name in organisms)
    return write_windows(path, *parts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    write(folder / "data.tsv", "c_elegans", "human")
    random = np.random.default_rng(1)
    (folder / "g.fa").write_text(f">chr1\n{''.join(random.choice(list('ACGT'), 500))}\n")
    (folder / "v.vcf").write_text(
        "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    )
    train = f"train {folder}/data.tsv --tree metazoa {QUICK} -o {folder}/model"
    assert main(train.split()) == 0
    return folder


@pytest.fixture
def run(folder, seqmtl, monkeypatch):
    """Return a function that runs a command in the folder, and returns its messages."""
    monkeypatch.chdir(folder)
    return lambda command, code=0: seqmtl(command, code).err


def test_another_organism_is_refused_and_nothing_is_written(folder, run):
    before = contents(folder)
    for command in (
        "scan model g.fa -o out.bed",
        "predict model data.tsv -o out.tsv",
        "evaluate model data.tsv --json out.json",
        "calibrate model data.tsv -o out.model",
        "explain model -o out",
        "variants model --vcf v.vcf --fasta g.fa -o out.vcf",
    ):
        error = run(f"{command} --organism Canis_elegans", 2)
        assert "error: --organism: task 'Canis_elegans' " in error, command
        assert contents(folder) == before, command


def test_a_match_is_said_once_and_changes_no_score(folder, run):
    scores = []
    for name, note in (
        ("c_elegans", []),
        (
            "Caenorhabditis elegans",
            ["seqmtl: note: 'Caenorhabditis elegans' is 'c_elegans' in this model"],
        ),
    ):
        err = run(f"predict model data.tsv --organism '{name}' -o s.tsv").splitlines()
        assert [line for line in err if " is " in line] == note
        lines = (folder / "s.tsv").read_text().splitlines()
        scores.append([line.split("\t")[2:] for line in lines])
    assert scores[0] == scores[1]
    assert run("predict model data.tsv --organism worm -q -o s.tsv") == ""


def test_every_command_says_it(run):
    for command in (
        "scan model g.fa --organism worm -o s.bed",
        "evaluate model data.tsv --organism worm --json e.json",
        "calibrate model data.tsv --organism worm -o m2",
        "explain model --organism worm -o explained",
        "similarity --tree metazoa --organisms worm,human -o K.tsv",
    ):
        (said,) = (line for line in run(command).splitlines() if "'worm' is '" in line)
        assert said.startswith("seqmtl: note: "), command


def test_training_says_the_leaves_once(run):
    err = run(f"train data.tsv --tree metazoa {QUICK} -o again")
    assert "'c_elegans' is 'Caenorhabditis_elegans', 'human' is 'Homo_sapiens' in the" in err
    assert err.count("'c_elegans'") == 1


def test_three_names_of_one_organism_are_refused(folder, run):
    names = ["c_elegans", "C. elegans", "Caenorhabditis elegans"]
    write(folder / "three.tsv", *names)
    before = contents(folder)
    for command in (
        "train three.tsv -o out.model",
        "compare three.tsv --methods union --json out.json",
        "predict model three.tsv -o out.tsv",
        "calibrate model three.tsv -o out.model",
        "evaluate model three.tsv --json out.json",
    ):
        assert (
            "three.tsv:26: every organism must have one name, got 'c_elegans', 'C. elegans', "
            "'Caenorhabditis elegans' for the same organism"
        ) in run(command, 1).splitlines()[-1]
        assert contents(folder) == before


def test_two_names_of_a_task_are_refused_in_python(folder):
    model = MultiTaskModel.load(folder / "model")
    texts = ["ACGTACGTACGTACGTACGTA"] * 2
    data = Windows.from_strings(texts)
    with pytest.raises(
        SeqmtlError, match=r"'worm' is given twice: it and 'C. elegans' are both 'c_e"
    ):
        model.decision_function(data, ["C. elegans", "worm"])
    y = np.array([1, -1, 1, -1])
    with pytest.raises(ValueError, match="must have one name, got 'human', '9606' for the same"):
        MultiTaskSVC(features=PositionalKmers("wd:2")).fit(
            Windows.from_strings(texts * 2), y, tasks=["human", "human", "9606", "9606"]
        )
    numbers = np.array([[0.0], [1.0], [0.1], [0.9]])
    fitted = MultiTaskSVC().fit(numbers, y, tasks=["human", "human", "9606", "9606"])
    assert fitted.model_.tasks == ("9606", "human")  # tables have tasks, not organisms


def test_headers_of_one_organism(tmp_path):
    path = tmp_path / "a.fa"
    path.write_text(">a organism=human label=1\nACGT\n>b organism=h_sapiens label=-1\nACGA\n")
    with pytest.raises(InputFormatError, match="must have one name, got 'human', 'h_sapiens'"):
        read_windows(path)


def test_a_split_of_a_table_has_its_own_names(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(
        "organism\tlabel\tsequence\tsplit\nhuman\t1\tACGT\ttrain\nhuman\t-1\tACGA\ttrain\n"
        "Homo sapiens\t1\tACGT\ttest\n"
    )
    assert read_windows(path, split="train").task_names == ("human",)
    with pytest.raises(InputFormatError, match=r"a.tsv:4: every organism must have one name"):
        read_windows(path)


def test_relatives_without_data_are_organisms_too(run):
    command = "scan model g.fa -o relative.bed --organism"
    assert "'mouse' is 'Mus_musculus' in this model" in run(f"{command} mouse")
    error = run(f"{command} 'Macropus musculus'", 2)
    assert "'Macropus musculus' is not in the model's task kernel" in error
