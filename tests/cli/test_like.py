"""Starter models by name, and organisms that a model lacks: ``starter:NAME`` and ``--like``."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from seqmtl import MultiTaskModel, TaskKernel, WeightedDegree, load_model
from seqmtl.cli.main import main
from seqmtl.exceptions import SeqmtlError
from seqmtl.models.fit import train_windows
from seqmtl.sequences import concatenate
from seqmtl.verbs._scoring import in_place
from tests.cli.test_adapt import write_table
from tests.models.test_adaptation import MOTIFS, windows_of


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("genome") / "g.fa"
    path.write_text(f">c\n{''.join(rng.choice(list('ACGT'), 5000))}\n")
    return path


@pytest.fixture
def scan(genome, tmp_path, capsys):
    """Return a function that scans, and returns exit code, scores by site, and messages."""

    def run(model, *arguments):
        out = tmp_path / "sites.bed"
        out.unlink(missing_ok=True)
        code = main(["scan", model, str(genome), "-o", str(out), *arguments])
        rows = out.read_text().splitlines() if code == 0 else []
        sites = {tuple(row.split("\t")[:3]): row for row in rows}
        return code, sites, capsys.readouterr().err

    return run


def test_a_starter_model_scans_for_an_organism_it_lacks(scan):
    code, sites, messages = scan("starter:donor", "--like", "Apis mellifera")
    assert code == 0
    assert len(sites) > 400
    assert re.search(
        r"scored as Apis_mellifera in the tree eukaryotes, \d+ from d_melanog", messages
    )
    near = scan("starter:donor", "--like", "D. simulans")[2]
    assert "the nearest. Organisms without labels, 1230 to 1280 million years from their" in near
    assert "their nearest, none nearer, had AUPRC 0.94 (h_sapiens) to 0.98 (d_melan" in near
    assert (
        " on windows, with labels 0.99; over a genome, where sites are rare, expect less\n" in near
    )
    # far from all: what was measured on any organism
    far = scan("starter:donor", "--like", "Schizosaccharomyces pombe")[2]
    assert "1230 to 3300 million years from their nearest, had AUPRC 0.63 (s_cerevisiae) to" in far
    assert "far from all" not in scan("starter:donor", "--like", "D. simulans")[2]
    assert "far from all organisms of the model" in scan("starter:donor", "--like", "human")[2]


def test_the_scores_are_those_of_the_model_adapted_without_labels(scan, genome):
    adapted = load_model("starter:acceptor").adapt("bee", like="Apis mellifera")
    adapted.save(genome.parent / "bee.seqmtl")
    like = scan("starter:acceptor", "--organism", "bee", "--like", "Apis mellifera")[1]
    again = scan(str(genome.parent / "bee.seqmtl"), "--organism", "bee", "--from-relatives")[1]
    assert like == again != {}


@pytest.mark.parametrize("name", ["d_melanogaster", "fly", "7227"])
def test_like_an_organism_of_the_model_is_that_organism(scan, name):
    own = scan("starter:donor", "--organism", "d_melanogaster")[1]
    code, sites, messages = scan("starter:donor", "--like", name)
    assert code == 0
    assert sites == own
    assert "scored as" not in messages


def test_a_new_organism_in_the_place_of_one_of_the_model_has_its_weights(scan):
    own = scan("starter:donor", "--organism", "d_melanogaster", "--threshold", "0")[1]
    new = scan("starter:donor", "--organism", "gnat", "--like", "fly", "--threshold", "0")[1]
    assert own.keys() == new.keys()


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        ("starter:donor", ["--like", "Apis melifera"], "did you mean 'Apis_mellifera'"),
        ("starter:donor", ["--like", "bee", "--organism", "all"], "--like places one organism"),
        ("starter:donor", ["--like", "Cupressus sempervirens"], "folder of an NCBI taxonomy dump"),
        ("starter:donor", ["--organism", "fly", "--tree", "metazoa"], "--tree is for --like"),
        ("starter:donor", ["--like", "bee", "--tree", "nowhere.nwk"], "nowhere.nwk"),
        ("starter:donor", ["--like", "bee", "--organism", "fly"], "in the model already"),
        ("starter:donor", [], "the model has 5 organisms; name one"),
        (
            "starter:tss",
            [],
            "starter:tss.*no shipped model; they are starter:acceptor, starter:donor",
        ),
    ],
)
def test_bad_input(scan, model, arguments, message):
    code, sites, messages = scan(model, *arguments)
    assert code == 1
    assert not sites
    assert re.search(message, messages)


@pytest.mark.parametrize("command", ["calibrate", "adapt"])
def test_no_output_may_have_the_name_of_a_shipped_model(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "few.tsv", windows_of("man", 60, 5))
    arguments = ["few.tsv", "-o", "starter:donor"]
    if command == "adapt":
        arguments += ["--organism", "man"]
    assert main([command, "starter:donor", *arguments]) == 1
    assert "cannot write starter:donor: models of the package" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["few.tsv"]


def test_info_shows_a_starter_model(capsys):
    assert main(["info", "starter:donor"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"model +starter:donor \([123]\.\d MiB\)", shown)
    assert "site           offset 50, GT" in shown
    assert main(["info", "starter:donor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == "starter:donor"


@pytest.fixture(scope="module", params=["one kernel", "mkl"])
def path(request, tmp_path_factory):
    """A model of animals of the shipped tree, with one task kernel or several."""
    names = ("H. sapiens", "D. melanogaster", "A. mellifera")
    parts = zip(names, ("man", "fly", "bee"), strict=True)
    windows = concatenate([windows_of(n, 120, 1, motif=MOTIFS[m]) for n, m in parts])
    kernel = TaskKernel.from_newick("metazoa", names)
    if request.param == "mkl":
        kernel = TaskKernel.hierarchical("metazoa", names)
    model, _ = train_windows(windows, features=WeightedDegree(3), task_kernel=kernel)
    path = tmp_path_factory.mktemp("model") / "m.seqmtl"
    model.save(path)
    return path


def test_windows_of_any_name_are_predicted_and_evaluated_as_the_organism(path, tmp_path, capsys):
    write_table(tmp_path / "new.tsv", windows_of("ape", 90, 4))
    options = [str(tmp_path / "new.tsv"), "--split", "all", "--like", "chimp"]
    assert main(["predict", str(path), *options]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    model = MultiTaskModel.load(path).adapt("chimp", like="chimp")
    test = windows_of("ape", 90, 4)
    expected = model.decision_function(test, "chimp", from_relatives=True)
    np.testing.assert_allclose([float(row[2]) for row in rows[1:]], expected, rtol=1e-4)
    assert {row[1] for row in rows[1:]} == {"chimp"}
    figures = tmp_path / "figures.json"
    assert main(["evaluate", str(path), *options, "--json", str(figures)]) == 0
    assert json.loads(figures.read_text())["tasks"]["chimp"]["auroc"] > 0.8  # its motif is man's


def test_without_a_table_of_figures_only_the_distance_is_said(path, tmp_path, capsys):
    write_table(tmp_path / "new.tsv", windows_of("ape", 9, 4))
    assert main(["predict", str(path), str(tmp_path / "new.tsv"), "--like", "chimp"]) in (0, 1)
    shown = capsys.readouterr().err
    assert "12.8 from H. sapiens, the nearest" in shown
    assert "AUPRC" not in shown


def test_figures_are_for_distances_of_the_shipped_tree(tmp_path, capsys):
    options = ["--organism", "bee", "--like", "Apis mellifera", "-o", str(tmp_path / "bee.seqmtl")]
    assert main(["adapt", "starter:donor", *options]) == 0
    assert "AUPRC" in capsys.readouterr().err
    assert main(["adapt", "starter:donor", *options, "--tree", "insects"]) == 0
    shown = capsys.readouterr().err
    assert "from d_melanogaster, the nearest" in shown
    assert "AUPRC" not in shown


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    """The folder of an NCBI taxonomy dump that has more than the shipped trees."""
    folder = tmp_path_factory.mktemp("dump")
    rows = [
        (1, 1, "root"), (2759, 1, "Eukaryota"), (33208, 2759, "Metazoa"), (50557, 33208, "Insecta"),
        (7227, 50557, "Drosophila melanogaster"), (6239, 33208, "Caenorhabditis elegans"),
        (33090, 2759, "Viridiplantae"), (3702, 33090, "Arabidopsis thaliana"),
        (13469, 33090, "Cupressus sempervirens"), (5833, 2759, "Plasmodium falciparum"),
        (4932, 2759, "Saccharomyces cerevisiae"),
    ]  # fmt: skip
    for file, form in (("nodes", "{0}\t|\t{1}\t|\tno rank\t|\n"),
                       ("names", "{0}\t|\t{2}\t|\t\t|\tscientific name\t|\n")):  # fmt: skip
        (folder / f"{file}.dmp").write_text("".join(form.format(*row) for row in rows))
    return str(folder)


def test_a_taxonomy_dump_places_organisms_in_every_command(dump, genome, tmp_path, capsys):
    starter = "starter:donor"
    place = ["--like", "Cupressus sempervirens", "--tree", dump]
    new = tmp_path / "cypress.seqmtl"
    assert main(["adapt", starter, "--organism", "cypress", *place, "-o", str(new)]) == 0
    text = genome.read_text().split("\n")[1]
    at = text.index("GT", 1000)
    vcf = tmp_path / "in.vcf"
    header = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    vcf.write_text(f"{header}c\t{at + 1}\t.\tG\tA\t.\t.\t.\n")
    windows = tmp_path / "windows.tsv"
    rng = np.random.default_rng(3)
    rows = ["".join(rng.choice(list("ACGT"), 201)) for _ in range(30)]
    windows.write_text("sequence\tlabel\n" + "".join(f"{r}\t{i % 2}\n" for i, r in enumerate(rows)))
    out = tmp_path / "out"
    commands = {
        "scan": ["scan", "{}", str(genome), "-o", f"{out}.bed"],
        "variants": [
            *("variants", "{}", "--vcf", str(vcf)),
            *("--fasta", str(genome), "-o", f"{out}.vcf"),
        ],
        "predict": ["predict", "{}", str(windows)],
        "evaluate": ["evaluate", "{}", str(windows), "--split", "all"],
    }
    for name, command in commands.items():
        found = []
        for model, options in ((starter, place), (str(new), ["--from-relatives"])):
            arguments = [part.format(model) for part in command]
            assert main([*arguments, "--organism", "cypress", *options]) == 0, name
            shown = capsys.readouterr()
            suffix = {"scan": ".bed", "variants": ".vcf"}.get(name)
            lines = ((tmp_path / f"out{suffix}").read_text() if suffix else shown.out).splitlines()
            found.append([line for line in lines if not line.startswith("##")])
            if options is place:
                assert "Cupressus sempervirens in the tree" in shown.err
                assert "2 from a_thaliana, the nearest" in shown.err
                assert "AUPRC" not in shown.err  # figures are for distances of the shipped tree
        assert found[0] == found[1] != [], name


@pytest.mark.parametrize("structure", ["pairs", "kernels"])
def test_models_that_cannot_be_adapted_refuse_it(structure):
    model = SimpleNamespace(structure=structure)
    args = SimpleNamespace(like="bee", tree=None, organism=None)
    with pytest.raises(SeqmtlError, match="--like is for models of seqmtl train; leave it out"):
        in_place(model, args)


def test_variants_are_scored_for_an_organism_it_lacks(genome, tmp_path, capsys):
    vcf = tmp_path / "in.vcf"
    header = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    text = genome.read_text().split("\n")[1]
    at = text.index("GT", 1000)
    vcf.write_text(f"{header}c\t{at + 1}\t.\tG\tA\t.\t.\t.\n")
    out = tmp_path / "out.vcf"
    options = [
        "--vcf",
        str(vcf),
        "--fasta",
        str(genome),
        "-o",
        str(out),
        "--like",
        "Apis mellifera",
    ]
    assert main(["variants", "starter:donor", *options]) == 0
    assert "scored as Apis_mellifera" in capsys.readouterr().err
    assert out.read_text().splitlines()[-1].startswith(f"c\t{at + 1}\t")


def test_the_models_take_windows_of_a_dataset_of_the_defaults(tmp_path, capsys):
    simulated = ["simulate", "--tree", "(fly:1,cat:1);", "--chromosome-length", "50000"]
    assert main([*simulated, "--no-windows", "-q", "-o", str(tmp_path)]) == 0
    for signal in ("donor", "acceptor"):
        (tmp_path / "d.toml").write_text(
            f'signal = "{signal}"\nsplit.by = "contigs"\n[organisms.cat]\n'
            'genome = "genomes/cat.fa"\nannotation = "annotation/cat.gff3"\n'
        )
        data, new = str(tmp_path / signal), str(tmp_path / f"{signal}.seqmtl")
        assert main(["dataset", str(tmp_path / "d.toml"), "-o", data, "-q"]) == 0
        model = f"starter:{signal}"
        assert main(["evaluate", model, data, "--organism", "cat", "--like", "chimp"]) == 0
        assert main(["adapt", model, data, "--organism", "cat", "-o", new]) == 0
        assert MultiTaskModel.load(new).training["tasks"]["cat"]["n_positive"] > 10
    capsys.readouterr()
