"""What commands refuse: a line that says what is wrong, and nothing written.

Refusals of data: tests of the readers, and of the commands that take them.
"""

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
TREE = "'(a:1,b:1);'"
TRAIN = "train {donors} --features wd:2 -o {out}"
COMPARE = "compare {windows} -C 1 --features wd:3 --json o"
SCAN = "scan {single} {fasta} -o {out}"
STARTER = "scan starter:donor {fasta} -o x.bed"
ADAPT = "adapt {single} --organism c -o {out}"
ADAPT_PAIR = "adapt {pair} --genome c={fasta} --organism c -o {out}"
EVALUATE_PAIR = "evaluate {pair} {donors} {acceptors}"
OF_PAIRS = (
    "is a model of pairs, not of weights; evaluate, scan, adapt, ... "
    "calibrate the donor and the acceptor model and run seqmtl pair again"
)
#: Commands with a wrong option, exit code 2; "..." stands for more text.
USAGE = {
    # what was meant, or where it is
    "scna m g -o x": "seqmtl: error: there is no command 'scna'; did you mean 'scan'?",
    "zzz": "there is no command 'zzz'; seqmtl lists them",
    "--versoin": "seqmtl: error: there is no option --versoin; did you mean '--version'?",
    # no abbreviation, and told even if something else is missing, too
    "scan m g --region x -o y": "scan: error: there is no option --region; ... '--regions'? (",
    "scan m g --outptu=x": "there is no option --outptu; did you mean '--output'? (",
    "scan m g -o x --tree t": "no option --tree; seqmtl adapt --tree makes a model that has",
    "scan m g -o x --zzzz": "there is no option --zzzz (seqmtl help scan)",
    "report . --tree t -o x": "has the organism; report draws no tree (",
    "calibrate m d --method isotonic -o x": "no option --method; calibrate chooses the curve",
    "explain m --genome a=x -o x": "no option --genome; seqmtl explain takes DATA; bedtools getf",
    "explain m d --sites a=x.bed -o x": "no option --sites; seqmtl dataset takes BED of sites",
    "explain m --background d -o x": "no option --background; seqmtl.explanation.poim in Python",
    "explain m --contig-ends drop -o x": "no option --contig-ends; windows are",
    "similarity --alignment x.fa": "no option --alignment; ... takes --source alignment=FASTA",
    "adapt m --organism c --plot x.svg -o x": "no option --plot; seqmtl report",
    "scan m g --strand + -o x": "no option --strand; both strands are",
    "scan m g --softmask=skip -o x": "no option --softmask; case is ignored",
    "scan m g -o x --format bde": "--format must be one of bigwig, bed, ... did you mean 'bed'? (",
    # names are those that were typed
    "train d -o": "train: error: -o: expected one argument (seqmtl help train)",
    "train d --output": "train: error: --output: expected one argument",
    f"{STARTER[:-6]} x.foo": "scan: error: -o must end in one of .bw",
    "scan starter:donor {fasta} --output x.foo": "scan: error: --output must end in one of",
    "train -o m": "train: error: the following arguments are required: DATA",
    # numbers out of range, and empty texts
    "scan m g -o x --min-probability 2": "--min-probability must be a number from 0 to 1",
    "scan m g -o x --min-probability -1 --format all": "must be a number from 0 to 1",
    "scan m g -o x --min-probability nan": "must be a number from 0 to 1",
    "train w.tsv -o m --seed -1": "--seed must be an integer of at least 0, got -1",
    "train w.tsv -o m -C 0": "a finite number above 0, got 0",
    "train w.tsv -o m --threads 0": "--threads must be an integer of at least 1, got 0",
    "explain m -o x --max-order 11": "--max-order must be an integer from 1 to 10, got 11",
    "scan m g -o x --top 0": "scan: error: --top must be an integer of at least 1, got 0 (",
    "train w.tsv --tree '' -o m": "--tree must have a value, got an empty text",
    "explain m -o ''": "-o must have a value, got an empty text",
    "predict m ''": "DATA must have a value, got an empty text",
    "train w.tsv --loss '' -o m": "--loss must be one of",
    # names of organisms
    f"{STARTER} --organism d_melanogastre": "scan: error: --organism: task 'd_melanogastre' is not",
    f"{STARTER} --like Quarx": "scan: error: --like: 'Quarx' is neither",
    f"{STARTER} --like 'Apis melifera'": "did you mean 'Apis_mellifera'",
    f"{STARTER} --like bee --organism fly": "in the model already",
    f"{SCAN} --organism all": "'all' is not in the model",
    SCAN: "--organism must be one of a, b, the organisms of the model",
    "explain {single} --organism zebra -o x": "task 'zebra' is not in this model",
    "similarity --tree metazoa --organisms human,muose": "--organisms: task 'muose' is not",
    f"{EVALUATE_PAIR} --organism z": "'z' is not in this model",
    f"{EVALUATE_PAIR} --like a": "--like a needs the organism of",
    "evaluate {single} {donors} --like a": "--like a needs the organism of",
    "scan starter:tss {fasta} -o x": "starter:tss is not a shipped model (... starter:splice",
    "info starter:dnor": "did you mean starter:donor?",
    # options that do not fit a model or each other
    "evaluate {pair} {donors}": "takes two datasets",
    "evaluate {single} {donors} {acceptors}": "is a dataset, which must be the only DATA",
    f"{EVALUATE_PAIR} --negatives {{table}}": "--negatives is not for",
    f"{EVALUATE_PAIR} --reference {{fasta}}": "--reference is not for",
    "explain {single} --n-windows 3 -o {out}": "--n-windows is for windows; give DATA",
    "explain {kmers} --n-windows 3 -o {out}": "--n-windows is for windows; give DATA",
    f"{ADAPT} --prevalence 0.1": "--prevalence is for windows",
    f"{ADAPT} --introns x": "--introns is for a model of",
    f"{ADAPT} --genome c=x": "--genome is for a model of",
    "adapt {pair} --organism c -o {out}": "give --genome c=FASTA",
    "adapt {pair} --genome d={fasta} --organism c -o {out}": "'c' is not in --genome",
    "adapt {pair} {donors} --organism c -o {out}": "DATA is for models of seqmtl train",
    f"{ADAPT_PAIR} --sites c={{fasta}}": "no option --sites; seqmtl dataset takes BED",
    f"{ADAPT_PAIR} --prevalence .1": "--prevalence is for models of seqmtl train",
    "scan {pair} {fasta} --organism a --top 5 -o {out}": "--top takes the best introns of",
    "scan {pair} {fasta} --organism a -o -": "has a file for each of 2 signals",
    "scan {pair} {fasta} --organism a --threshold 1 -o {out}": "--threshold is not for",
    f"{SCAN} --organism a --format introns": "introns need a model of",
    # relations, and methods that need them
    f"{TRAIN} --similarity K.tsv --tree t": "K.tsv is a table, which needs no --tree; give one",
    f"{TRAIN} --similarity graph:1": "graph is computed from a tree; give --tree; for another "
    "source, use 'seqmtl similarity ... -o K.tsv', then --similarity K.tsv",
    f"{TRAIN} --mkl hierarchical": "hierarchical is computed from a tree; give --tree (",
    f"{TRAIN} --mkl tree --tree {TREE}": "--mkl must be one of hierarchical, smooth",
    f"{TRAIN} --mkl smooth --similarity tree --tree {TREE}": "give only one",
    f"{TRAIN} --selection auto --mkl smooth --tree {TREE}": "--mkl learns the weights of several "
    "similarities at a fixed -C, but",
    f"{COMPARE} --methods mtl": "mtl needs to know how the organisms are related; give --tree or",
    f"{COMPARE} --methods mkl": "mkl learns the weights of clades; give --tree, or other --methods",
    f"{COMPARE} --methods mtl --similarity graph": "then --similarity K.tsv",
    f"{COMPARE} --methods mlt": "must be some of individual, ..., default, unseen, got 'mlt'",
    f"{COMPARE} --tree {TREE} --similarity K.tsv": "is a table, which needs no --tree",
    f"{COMPARE} --tree {TREE} --train-size 5000": "--train-size must be at most ... got 5000",
    f"{COMPARE} --tree {TREE} -C 1,0": "must be ... above 0, got ",
    "similarity": "give --tree or --source, or --similarity TSV or individual",
    "similarity --similarity union": "union does not list organisms; give --organisms",
    "similarity --source taxonomy=f": "tree does not list organisms; give --organisms",
    "similarity --tree t --similarity smooth:1,-2": "--similarity must be a finite number ... -2",
    "similarity --tree t --similarity smooth:1,x": "--similarity must have numbers after smooth:",
    "similarity --source x.fa": "--source must be KIND=FILE, with a kind of taxonomy, ...'x.fa'",
    "similarity --source rrna=x.fa": "--source must be KIND=FILE, with a kind of taxonomy",
    "similarity --source groups=a --source groups=b": "--source groups must be given once, got 2",
}
#: Commands with wrong data, exit code 1.
DATA = {
    "train {table} -o none/m": "create it first",
    "train absent.tsv -o m": "absent.tsv: No such file",
    "scan starter:donor absent.fa --like fly -o x.bed": "absent.fa",
    "predict {table} {table}": "not a seqmtl model",
    "predict {single} {fasta}": "do not name their organism; give one of a, b",
    f"{TRAIN} --mkl hierarchical --tree '(a,c);'": "task 'b' is not in the tree text; it has ",
    f"{COMPARE} --tree '(a,c);'": "task 'b' is not in the tree ... 'c'",
    f"{COMPARE} --tree {TREE} --plot /nowhere/x.png": "no folder /nowhere",
    f"{COMPARE[:-2]} /nowhere/x.json --tree {TREE}": "no folder /nowhere",
    "predict {pair} {table}": OF_PAIRS,
    "calibrate {pair} {donors} -o {out}": OF_PAIRS,
    "explain {pair} -o {out}": OF_PAIRS,
    "similarity {pair} -o {out}": OF_PAIRS,
    "pair {pair} {single} {donors} {acceptors} -o {out}": OF_PAIRS,
}


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
        "windows": world.simulation / "windows.tsv.gz",
        "fasta": world.simulation / "genomes/a.fa",
        "donors": world.dataset("donor"),
        "acceptors": world.dataset("acceptor"),
        "out": folder / "out",
    }


@pytest.mark.parametrize("command", [*USAGE, *DATA])
def test_what_is_wrong_is_told_in_a_line(files, tmp_path, monkeypatch, seqmtl, command):
    monkeypatch.chdir(tmp_path)
    shown = seqmtl(command.format(**files), 2 if command in USAGE else 1)
    *notes, line = shown.err.splitlines()
    place = 0
    for part in (USAGE | DATA)[command].split("..."):
        assert part.strip() in line[place:], line
        place = line.index(part.strip(), place)
    assert all(note.startswith("seqmtl: note: ") for note in notes)
    assert shown.out == ""
    assert not list(tmp_path.iterdir())
    assert not files["out"].exists()


@pytest.mark.parametrize(("name", "each"), OPTIONS, ids=lambda value: getattr(value, "name", value))
def test_an_empty_text_is_no_value(name, each):
    """``--tree "$TREE"`` with a variable that is not set."""
    for text in ("", " "):
        with pytest.raises(UsageError, match="got an empty text"):
            each.value([text] if each.is_repeated else text)
