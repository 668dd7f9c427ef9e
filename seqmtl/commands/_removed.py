"""Commands and options of earlier versions, and their replacements.

A script that was written for an earlier version gets exit code 2 and one line that names the
replacement. An entry stays for as long as such scripts may be around.
"""

from __future__ import annotations

#: Commands that were removed: what to use instead.
COMMANDS: dict[str, str] = {
    "completion": "nothing replaces it; shells complete file names as before",
    "train-table": (
        "use the estimators of seqmtl.kernel_mkl in Python, such as ParetoMKLClassifier "
        "(docs/howto/scikit_learn.md)"
    ),
}

#: Sources of a similarity, of which ``seqmtl similarity`` makes a table.
_RELATIONS = {
    f"--{source}": f"use 'seqmtl similarity {options} -o K.tsv', then --similarity K.tsv"
    for source, options in {
        "taxonomy": "--taxonomy DIR --organisms A,B,...",
        "alignment": "--alignment rrna.fasta",
        "distances": "--distances distances.tsv",
        "graph": "--graph graph.tsv",
        "groups": "--groups groups.tsv",
        "scales": "--tree tree.nwk --similarity smooth --scales S,...",
    }.items()
}
_BY_DATASET = "set it in the TOML file of 'seqmtl dataset' and compare on its folder"
_AT_END = "'seqmtl dataset' leaves out sites whose window is over an end of a contig"
_SITES = "write 'sites = \"x.bed\"' into the TOML file of 'seqmtl dataset'; its folder is DATA"
_OF_SITES = {"--genome": _SITES, "--sites": _SITES, "--at-end": _AT_END}
_SCORE_SITES = "use 'seqmtl scan MODEL FASTA --regions x.bed', or seqmtl.io.read_sites in Python"
_IN_PYTHON = "use seqmtl.comparison.Comparison in Python"
_TASK = {"--task": "use --organism"}
_HASHED = "write it into --features, such as wd:8,hash:22"
_SCORED = "leave it out; an organism of the model's tree without data is scored from its relatives"

#: Options that were removed, by command: what to use instead.
OPTIONS: dict[str, dict[str, str]] = {
    "calibrate": {**_TASK, **_OF_SITES},
    "compare": {
        **_RELATIONS,
        "--mkl": f"mkl learns the weights of the clades of --tree; for other kernels {_IN_PYTHON}",
        "--norm": "it is 2; 'seqmtl train --mkl KIND --norm P' takes others",
        "--tol": f"it is 0.001; for others {_IN_PYTHON}",
        "--hash-bits": _HASHED,
        "--organisms": "leave the other organisms out of DATA",
        "--window": _BY_DATASET,
        "--shift": _BY_DATASET,
        "--genome": _BY_DATASET,
        "--sites": _BY_DATASET,
        "--at-end": _AT_END,
        "--table": "the table is printed; --json has the numbers of every split",
        "--dask": "use --threads",
    },
    "dataset": {
        "--no-homologues": "write 'homologues = false' into the table [split] of the TOML file",
        "--dask": "use --threads",
    },
    "evaluate": {**_TASK, **_OF_SITES, "--from-relatives": _SCORED},
    "explain": _TASK,
    "predict": {
        **_TASK,
        "--genome": _SCORE_SITES,
        "--sites": _SCORE_SITES,
        "--at-end": _SCORE_SITES,
        "--from-relatives": _SCORED,
    },
    "scan": {
        "--from-relatives": _SCORED,
        "--genomes": "run one scan per genome, as docs/howto/many-genomes.md shows",
        "--resume": "run the command again",
        "--dask": "run one scan per genome on the workers, as docs/howto/many-genomes.md shows",
    },
    "train": {
        **_OF_SITES,
        "--decoys": "set ratio in the table [decoys] of the TOML file of 'seqmtl dataset'",
        **_TASK,
        **_RELATIONS,
        "--hash-bits": _HASHED,
        "--dtype": "weights are float32; for gaps below 1e-6, train in Python with "
        "seqmtl.MultiTaskSVC(dtype='float64')",
    },
    "variants": {
        "--from-relatives": _SCORED,
        "--dask": "use --threads, or one command per chromosome in a workflow",
    },
}


def replacement_of_option(command: str, option: str) -> str | None:
    """Return the replacement of an option, such as ``--genomes`` of ``scan``; None if unknown."""
    return OPTIONS.get(command, {}).get(option)
