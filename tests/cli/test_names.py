"""What the commands do with names: one rule, said once, and never another organism."""

import numpy as np
import pytest

from seqmtl import MultiTaskModel, MultiTaskSVC, TaskKernel, WeightedDegree, Windows
from seqmtl.cli.main import main
from seqmtl.exceptions import InputFormatError, SeqmtlError
from seqmtl.io import load_genome, read_fasta_windows, read_sites, read_windows

LENGTH = 21


def windows(*organisms, n=24, seed=0):
    """Return a table with true sites that have AGGT in the middle."""
    random = np.random.default_rng(seed)
    rows = ["organism\tlabel\tsequence"]
    for organism in organisms:
        for i in range(n):
            letters = "".join(random.choice(list("ACGT"), LENGTH))
            is_true = i % 2
            text = letters[:8] + "AGGT" + letters[12:] if is_true else letters
            rows.append(f"{organism}\t{2 * is_true - 1}\t{text}")
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    (folder / "data.tsv").write_text(windows("c_elegans", "human"))
    random = np.random.default_rng(1)
    (folder / "g.fa").write_text(f">chr1\n{''.join(random.choice(list('ACGT'), 500))}\n")
    (folder / "v.vcf").write_text(
        "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    )
    command = [
        "train",
        "data.tsv",
        "--tree",
        "metazoa",
        "--selection",
        "none",
        "--features",
        "wd:2",
    ]
    assert run(folder, *command, "-o", "model")[0] == 0
    return folder


def run(folder, *words):
    """Run a command in a folder; return the exit code. Errors are on stderr."""
    places = [str(folder / word) if (folder / word).exists() or word.startswith("out") else word
              for word in words]  # fmt: skip
    if "-o" in words:
        places[words.index("-o") + 1] = str(folder / words[words.index("-o") + 1])
    return main(places), sorted(path.name for path in folder.iterdir())


OTHERS = ["Cunninghamella elegans", "Canis_elegans", "Homarus sapiens", "elegans"]


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(
    "words",
    [
        ["scan", "model", "g.fa", "-o", "out.bed"],
        ["predict", "model", "data.tsv", "-o", "out.tsv"],
        ["evaluate", "model", "data.tsv", "--json", "out.json"],
        ["calibrate", "model", "data.tsv", "-o", "out.model"],
        ["explain", "model", "-o", "out"],
        ["variants", "model", "--vcf", "v.vcf", "--fasta", "g.fa", "-o", "out.vcf"],
    ],
    ids=lambda words: words[0],
)
def test_another_organism_is_refused_and_nothing_is_written(folder, capsys, words, name):
    before = sorted(path.name for path in folder.iterdir())
    assert run(folder, *words, "--organism", name) == (1, before)
    assert f"seqmtl: error: task {name!r} " in capsys.readouterr().err


def test_a_match_is_said_once_and_changes_no_score(folder, capsys):
    for name, out in (("c_elegans", "a.tsv"), ("Caenorhabditis elegans", "b.tsv")):
        words = ["predict", "model", "data.tsv", "--organism", name]
        assert run(folder, *words, "-o", out)[0] == 0
    err = capsys.readouterr().err.splitlines()
    assert [line for line in err if " is " in line] == [
        "seqmtl: note: 'Caenorhabditis elegans' is 'c_elegans' in this model"
    ]
    plain, other = (
        [line.split("\t")[2:] for line in (folder / name).read_text().splitlines()]
        for name in ("a.tsv", "b.tsv")
    )
    assert plain == other


@pytest.mark.parametrize(
    "words",
    [
        ["scan", "model", "g.fa", "--organism", "worm", "-o", "s.bed"],
        ["evaluate", "model", "data.tsv", "--organism", "worm", "--json", "e.json"],
        ["calibrate", "model", "data.tsv", "--organism", "worm", "-o", "m2"],
        ["explain", "model", "--organism", "worm", "-o", "explained"],
        ["similarity", "--tree", "metazoa", "--organisms", "worm,human", "-o", "K.tsv"],
        ["compare", "data.tsv", "--organisms", "worm,human", "--methods", "union", "--splits", "1",
         "-C", "1", "--features", "wd:2", "--json", "out_c.json"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_every_command_says_it(folder, capsys, words):
    if "--json" in words:
        words = [str(folder / w) if w.endswith(".json") else w for w in words]
    assert run(folder, *words)[0] == 0
    err = capsys.readouterr().err.splitlines()
    said = [line for line in err if "'worm' is '" in line]
    assert len(said) == 1
    assert said[0].startswith("seqmtl: note: ")


def test_training_says_the_leaves_once(folder, capsys):
    run(folder, "train", "data.tsv", "--tree", "metazoa", "--selection", "none", "--features",
        "wd:2", "-o", "again")  # fmt: skip
    err = capsys.readouterr().err
    assert (
        err.count("'c_elegans' is 'Caenorhabditis_elegans', 'human' is 'Homo_sapiens' in the") == 1
    )
    assert err.count("'c_elegans'") == 1


THREE = ["c_elegans", "C. elegans", "Caenorhabditis elegans"]


@pytest.mark.parametrize(
    "words",
    [
        ["train", "three.tsv", "-o", "out.model"],
        ["train-table", "three.tsv", "--method", "kernel-svc", "-o", "out.model"],
        ["compare", "three.tsv", "--methods", "union", "--json", "out.json"],
        ["predict", "model", "three.tsv", "-o", "out.tsv"],
        ["calibrate", "model", "three.tsv", "-o", "out.model"],
        ["evaluate", "model", "three.tsv", "--json", "out.json"],
    ],
    ids=lambda words: words[0],
)
def test_three_names_of_one_organism_are_refused(folder, capsys, words):
    (folder / "three.tsv").write_text(windows(*THREE))
    before = sorted(path.name for path in folder.iterdir())
    assert run(folder, *words) == (1, before)
    *_, error = capsys.readouterr().err.splitlines()
    assert error.endswith(
        "three.tsv:26: every organism must have one name, got 'c_elegans', 'C. elegans', "
        "'Caenorhabditis elegans' for the same organism; write one of them throughout"
    )


def test_a_common_initial_is_no_common_name(folder, capsys):
    (folder / "two.tsv").write_text(windows("c_elegans", "Cunninghamella elegans"))
    assert run(folder, "train", "two.tsv", "--selection", "none", "--features", "wd:2", "-o",
               "two")[0] == 0  # fmt: skip
    assert "'" not in capsys.readouterr().err
    model = MultiTaskModel.load(folder / "two")
    assert model.match("worm") == "c_elegans"
    assert model.match("cunninghamella_elegans") == "Cunninghamella elegans"


def test_calibrating_with_a_stranger_or_with_two_names_of_a_task(folder, capsys):
    for organisms, message in (
        (
            ("Caenorhabditis elegans", "Cunninghamella elegans"),
            "'Cunninghamella elegans' was not tr",
        ),
        (("worm", "human", "Homo sapiens"), "every organism must have one name, got 'human'"),
    ):
        (folder / "c.tsv").write_text(windows(*organisms))
        before = sorted(path.name for path in folder.iterdir())
        assert run(folder, "calibrate", "model", "c.tsv", "-o", "out.model") == (1, before)
        assert message in capsys.readouterr().err


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
        MultiTaskSVC(features=WeightedDegree(2)).fit(
            Windows.from_strings(texts * 2), y, tasks=["human", "human", "9606", "9606"]
        )
    numbers = np.array([[0.0], [1.0], [0.1], [0.9]])
    fitted = MultiTaskSVC().fit(numbers, y, tasks=["human", "human", "9606", "9606"])
    assert fitted.model_.tasks == ("9606", "human")  # tables have tasks, not organisms


def test_genomes_and_sites_of_one_organism(folder, capsys):
    (folder / "s.bed").write_text("chr1\t50\t52\ta\t1\t+\nchr1\t90\t92\tb\t0\t+\n")
    genome, sites = folder / "g.fa", folder / "s.bed"
    for names, message in (
        (
            ["worm", "c_elegans"],
            "must have one name, got 'worm', 'c_elegans' for the same organism",
        ),
        (["worm", "worm"], "--genome must name every organism once, got 'worm' twice"),
    ):
        words = [w for n in names for w in ("--genome", f"{n}={genome}", "--sites", f"{n}={sites}")]
        assert run(folder, "train", *words, "-o", "out.model")[0] == 1
        assert message in capsys.readouterr().err
    words = ["--genome", f"worm={genome}", "--sites", f"C. elegans={sites}"]
    assert run(folder, "predict", "model", *words, "-o", "gs.tsv")[0] == 0
    err = capsys.readouterr().err
    assert "'worm' is 'C. elegans' in --sites" in err
    assert "'worm' is 'c_elegans' in this model" in err


def test_sites_of_one_organism_under_two_names(tmp_path):
    (tmp_path / "g.fa").write_text(f">chr1\n{'ACGT' * 20}\n")
    genome = load_genome(tmp_path / "g.fa", padding=9)
    table = tmp_path / "sites.tsv"
    head = "contig\tposition\tstrand\tlabel\torganism\n"
    table.write_text(head + "chr1\t20\t+\t1\tC. elegans\nchr1\t30\t+\t-1\tfly\n")
    found = read_sites(table, genome, window=9, organism="worm")
    assert (len(found), found.task_names, found.report.n_skipped) == (1, ("worm",), 1)
    table.write_text(head + "chr1\t20\t+\t1\tC. elegans\nchr1\t30\t+\t-1\tworm\n")
    with pytest.raises(
        SeqmtlError, match=r"'worm' is given twice: it and 'C. elegans' are both 'wo"
    ):
        read_sites(table, genome, window=9, organism="worm")
    with pytest.raises(InputFormatError, match=r"sites.tsv:3: .* got 'C. elegans', 'worm' for the"):
        read_sites(table, genome, window=9)


def test_headers_of_one_organism(tmp_path):
    path = tmp_path / "a.fa"
    path.write_text(">a organism=human label=1\nACGT\n>b organism=h_sapiens label=-1\nACGA\n")
    with pytest.raises(InputFormatError, match="must have one name, got 'human', 'h_sapiens'"):
        read_fasta_windows(path)


def test_a_split_of_a_table_has_its_own_names(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(
        "organism\tlabel\tsequence\tsplit\nhuman\t1\tACGT\ttrain\nhuman\t-1\tACGA\ttrain\n"
        "Homo sapiens\t1\tACGT\ttest\n"
    )
    assert read_windows(path, split="train").task_names == ("human",)
    with pytest.raises(InputFormatError, match=r"a.tsv:4: every organism must have one name"):
        read_windows(path)


def test_relatives_without_data_are_organisms_too(folder, capsys):
    words = ["scan", "model", "g.fa", "--from-relatives", "-o", "relative.bed", "--organism"]
    assert run(folder, *words, "mouse")[0] == 0
    assert "'mouse' is 'Mus_musculus' in this model" in capsys.readouterr().err
    assert run(folder, *words, "Macropus musculus")[0] == 1
    assert "'Macropus musculus' is not in the model's task kernel" in capsys.readouterr().err


def test_an_initial_that_fits_a_relative_too_is_ambiguous():
    names = ["Alpha beta", "Gamma delta", "Axis beta"]
    X, y = np.array([[0.0], [1.0], [0.1], [0.9]]), [1, -1, 1, -1]
    tree = TaskKernel(names, np.eye(3) + 1)
    model = MultiTaskSVC(task_kernel=tree).fit(X, y, tasks=np.repeat(names[:2], 2)).model_
    for name in ("a_beta", "A. beta"):
        with pytest.raises(SeqmtlError, match="could be 'Alpha beta', 'Axis beta'; write"):
            model.decision_function(X, name)
    with pytest.raises(SeqmtlError, match=r"was not trained on .*; score it by its"):
        model.decision_function(X, "axis_beta")
    assert model.decision_function(X, "g_delta").tolist() == pytest.approx(
        model.decision_function(X, "Gamma delta").tolist()
    )


def test_quiet_hides_the_notes(folder, capsys):
    run(folder, "predict", "model", "data.tsv", "--organism", "worm", "-q", "-o", "q.tsv")
    assert capsys.readouterr().err == ""
