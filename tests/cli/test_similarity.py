"""The command ``seqmtl similarity``, and the options that other commands share with it."""

import json

import numpy as np
import pytest

from seqmtl import TaskKernel
from seqmtl.cli import similarity
from seqmtl.cli.main import main
from seqmtl.exceptions import UsageError
from seqmtl.io.dataset import HEADER, KIND
from seqmtl.similarity import build
from seqmtl.verbs._options import TrainingRows
from seqmtl.verbs._relations import KINDS, TrainingRelations
from seqmtl.verbs._windows import organisms_named

TREE = "((ape:1,man:1)primates:2,(fly:2,bee:2)insects:1)root;"


@pytest.fixture
def tree(write):
    return str(write(TREE, "tree.nwk"))


def _usage_error(capsys, *argv):
    with pytest.raises(SystemExit) as stop:
        main(["similarity", *argv])
    assert stop.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_prints_a_summary(tree, capsys):
    assert main(["similarity", "--tree", tree]) == 0
    out, err = capsys.readouterr()
    assert out == f"{TaskKernel.from_newick(tree)}\n"
    assert err == ""


def test_writes_a_table_that_training_reads(tree, tmp_path, capsys):
    out = tmp_path / "K.tsv"
    code = main(["similarity", "--tree", tree, "--organisms", "bee, Ape,man", "--kind",
                 "hierarchical", "-o", str(out)])  # fmt: skip
    assert code == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "seqmtl: note: 'Ape' is 'ape' in the tree tree.nwk\n"
        f"seqmtl: note: {out}: 2 kernels of 3 organisms from hierarchical(tree.nwk)\n"
    )
    assert TaskKernel.from_tsv(out) == TaskKernel.hierarchical(tree, ["bee", "Ape", "man"])
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    again = tmp_path / "again.tsv"
    assert main(["similarity", "--table", str(out), "-o", str(again), "-q"]) == 0
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_draws(tree, tmp_path, capsys, suffix):
    plot = tmp_path / f"K.{suffix}"
    assert main(["similarity", "--tree", tree, "--kind", "smooth", "--plot", str(plot)]) == 0
    assert plot.read_bytes()[:4] in {b"\x89PNG", b"<?xm", b"%PDF"}
    assert capsys.readouterr().out.startswith("TaskKernel of 4 tasks, mean of 3 kernels")


@pytest.mark.parametrize(
    ("options", "source"),
    [
        (["--alignment", "rrna.fasta", "--scales", "0.1,2"], "smooth(rrna.fasta)"),
        (["--alignment", "rrna.fasta", "--kind", "hierarchical"], "rrna.fasta by average linkage"),
        (["--distances", "D.tsv", "--scales", "1"], "smooth(D.tsv)"),
        (["--graph", "a.tsv"], "graph"),
        (["--graph", "a.tsv", "--graph", "b.tsv"], "kernels: a.tsv, b.tsv"),
        (["--groups", "groups.tsv"], "clustering(2 groups)"),
        (["--kind", "easy", "--organisms", "x,y"], "easy(0.5)"),
    ],
)
def test_sources(write, tmp_path, monkeypatch, capsys, options, source):
    write(">a\nACGT\n>b\nACGA\n>c\nTCCA\n", "rrna.fasta")
    write("a\tb\t1\na\tc\t2\nb\tc\t2\n", "D.tsv")
    write("a\tb\n", "a.tsv")
    write("b\tc\n", "b.tsv")
    write("a\tx\nb\tx\nc\ty\n", "groups.tsv")
    monkeypatch.chdir(tmp_path)
    plot = tmp_path / "K.png"
    assert main(["similarity", *options, "--plot", str(plot)]) == 0
    assert source in capsys.readouterr().out
    assert plot.stat().st_size > 1000


def test_a_projected_matrix_is_told_once_as_a_message(write, tmp_path, capsys):
    table = str(write("\ta\tb\tc\na\t1\t-1\t-1\nb\t-1\t1\t-1\nc\t-1\t-1\t1\n"))
    argv = ["similarity", "--table", table, "--plot", str(tmp_path / "K.png")]
    expected = (
        "seqmtl: warning: similarity is not positive semi-definite and was replaced by the "
        "nearest matrix that is: eigenvalue -1 clipped to 0\n"
    )
    for _ in range(2):  # once in every run
        assert main([*argv, "-q"]) == 0
        assert capsys.readouterr().err == expected
    assert main([*argv, "--log-json"]) == 0
    entry = json.loads(capsys.readouterr().err)
    assert entry["level"] == "warning"
    assert "clipped to 0" in entry["message"]


def test_unknown_organisms_get_near_matches(capsys):
    assert main(["similarity", "--tree", "metazoa", "--organisms", "human,Mus_muscullus"]) == 1
    assert "did you mean 'Mus_musculus' or" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give one of --tree, --taxonomy, .* or --kind individual with --organisms"),
        (["--kind", "graph"], "graph must have one source of graph, tree.* got none; give graph"),
        (["--kind", "smooth", "--graph", "g"], "got graph; give tree"),
        (["--tree", "t", "--groups", "g"], "got tree and groups; give tree alone"),
        (["--tree", "t", "--scales", "1"], "scales must be given with smooth only, got tree"),
        (["--scales", "1"], "kind must be one of .* got None"),
        (["--kind", "union"], "union does not list organisms; give --organisms"),
        (["--taxonomy", "folder"], "tree does not list organisms; give --organisms"),
        (["--kind", "tree", "--table", "K"], "argument --table: not allowed with argument --kind"),
        (["--kind", "cousins"], "argument --kind: invalid choice: 'cousins'"),
        (["--tree", "t", "--organisms", "a,,b"], "must be comma-separated names, got 'a,,b'"),
        (["--tree", "t", "--scales", "1,-2"], "argument --scales: must be .* above 0, got -2"),
        (["--tree", "t", "--scales", "1,x"], "argument --scales: must be .* above 0, got 'x'"),
    ],
)
def test_wrong_usage(capsys, options, message):
    found = _usage_error(capsys, *options)
    assert found.startswith("seqmtl similarity: error: ")
    assert np.array([part in found for part in message.split(".*")]).all(), found


@pytest.mark.parametrize("size", [3, 201])
def test_many_organisms_are_drawn_as_clades_if_there_are_any(write, tmp_path, size):
    clades = [",".join(f"t{k}:1" for k in range(i, i + size)) for i in range(0, 201, size)]
    tree = str(write("(" + ",".join(f"({clade}):1" for clade in clades) + ");"))
    out, plot = tmp_path / "K.tsv", tmp_path / "K.svg"
    assert main(["similarity", "--tree", tree, "-o", str(out), "--plot", str(plot), "-q"]) == 0
    assert len(TaskKernel.from_tsv(out)) == 201
    assert plot.stat().st_size > 10_000
    assert ("(t198..t200) (3)" in plot.read_text()) == (size == 3)  # matplotlib notes the text


def test_outputs_are_checked_first(tree, tmp_path, capsys):
    missing = str(tmp_path / "no" / "K.tsv")
    assert main(["similarity", "--tree", tree, "-o", missing]) == 1
    assert "no folder" in capsys.readouterr().err
    error = _usage_error(capsys, "--tree", tree, "--plot", str(tmp_path / "K.gif"))
    assert "argument --plot: must end in .png, .svg or .pdf" in error
    assert not (tmp_path / "K.gif").exists()


def test_kinds_are_those_that_can_be_built():
    assert KINDS == build.KINDS
    assert all(f"\n  {kind} " in similarity.COMMAND.text for kind in build.KINDS[:7])


def test_the_relation_that_training_asks_for(tree, write):
    def relation(**options):
        return TrainingRelations(**options).training_relation()

    assert relation() is None
    names = ["man", "bee", "ape"]
    found = relation(similarity="hierarchical", tree=tree).build(names)
    assert found == TaskKernel.hierarchical(tree, names)
    assert relation(tree=tree).build() == TaskKernel.from_newick(tree)
    assert relation(similarity="union").build(["a", "b"]) == TaskKernel.union(["a", "b"])
    kernel = TaskKernel.from_newick(TREE)
    table = str(write(kernel.to_tsv()))
    assert relation(similarity=table).build(["fly", "man"]) == kernel.restrict(["fly", "man"])
    with pytest.raises(UsageError, match="got tree and table; give tree alone"):
        relation(similarity="K.tsv", tree=TREE)


class TestTheTreeIsReadFirst:
    """With genomes that are not there, whose absence would be told of next."""

    def _train(self, *options):
        genomes = ["--genome", "human=no.fa", "--genome", "a_thaliana=no.fa"]
        return main(["train", *genomes, "-o", "never", *options])

    def test_a_tree_that_is_not_there(self, capsys):
        assert self._train("--tree", "animals") == 1
        assert "; shipped are epdnew_complete, " in capsys.readouterr().err

    def test_a_tree_that_lacks_an_organism(self, capsys):
        assert self._train("--tree", "vertebrates") == 1
        message = capsys.readouterr().err
        assert "'a_thaliana' is not in the tree vertebrates; it has" in message
        assert message.endswith("(try --tree eukaryotes)\n")

    def test_an_organism_of_no_shipped_tree(self, capsys):
        assert main(["similarity", "--tree", "plants", "--organisms", "unicorn,human"]) == 1
        message = capsys.readouterr().err
        assert "tasks 'unicorn', 'human' are not in the tree plants" in message
        assert "eukaryotes" not in message

    def test_the_organisms_of_a_dataset(self, tmp_path, capsys):
        summary = {
            "organisms": {
                "human": {"splits": {"train": {"sites": 4}}},
                "rice": {"splits": {"train": {"sites": 2}}},
                "maize": {"splits": {"train": {"sites": 0}, "test": {"sites": 9}}},
            }
        }
        args = TrainingRows(data=str(tmp_path))
        assert organisms_named(args) == []
        for facts in summary["organisms"].values():
            facts |= {"sites": 0, "decoys": 0, "left_out": {}}
            facts["splits"] = {s: {"decoys": 0, **n} for s, n in facts["splits"].items()}
        genome = {"path": "x.fa", "bytes": 1, "n_bases": 1, "crc32": 0}
        summary |= {
            "kind": KIND, "schema_version": 2, "signal": "donor", "window": 9, "shift": 0,
            "site": {"offset": 0, "length": 0, "letters": "", "signal": ""},
            "genomes": dict.fromkeys(summary["organisms"], genome), "leakage": {}, "left_out": {},
        }  # fmt: skip
        (tmp_path / "windows.tsv").write_text(f"{HEADER}\n")
        (tmp_path / "summary.json").write_text(json.dumps(summary))
        assert organisms_named(args) == ["human", "rice"]
