"""What is said of examples before they are read."""

import json

import pytest

from seqmtl.exceptions import MemoryLimitError
from seqmtl.io.dataset import HEADER, KIND
from seqmtl.training.example_source import ExampleSource


def test_the_organisms_of_a_dataset(tmp_path, seqmtl):
    counts = {"human": {"train": 4}, "rice": {"train": 2}, "maize": {"train": 0, "test": 9}}
    facts = {
        name: {
            "sites": 0,
            "decoys": 0,
            "excluded": {},
            "splits": {split: {"sites": n, "decoys": 0} for split, n in splits.items()},
        }
        for name, splits in counts.items()
    }
    source = ExampleSource.of([(None, str(tmp_path))], split="train")
    assert source.organisms() == []
    genome = {"path": "x.fa", "bytes": 1, "n_bases": 1, "crc32": 0}
    summary = {
        "kind": KIND,
        "schema_version": 3,
        "signal": "donor",
        "window": 9,
        "shift": 0,
        "site": {"offset": 0, "length": 0, "letters": "", "signal": ""},
        "organisms": facts,
        "genomes": dict.fromkeys(facts, genome),
        "leakage": {},
        "excluded": {},
    }
    (tmp_path / "windows.tsv").write_text(f"{HEADER}\n")
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert source.organisms() == ["human", "rice"]
    message = seqmtl(f"train {tmp_path} --tree vertebrates -o never", 1).err
    assert "'rice' is not in the tree vertebrates; it has" in message
    assert message.endswith("(try --tree eukaryotes)\n")


def test_files_are_padded_and_joined_if_both_fit_into_memory(tmp_path, monkeypatch):
    for name, letters in (("short", "ACGT"), ("long", "ACGT" * 250)):
        rows = "".join(f"{name}\t{label}\t{letters}\n" for label in (1, -1))
        (tmp_path / name).write_text("organism\tlabel\tsequence\n" + rows)
    source = ExampleSource.of([(None, str(tmp_path / name)) for name in ("short", "long")])
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 7_999)
    with pytest.raises(MemoryLimitError, match=r"^4 sequences of up to 1000 bases \(.*/long\) "):
        source.read_labelled()
    monkeypatch.setattr("seqmtl._memory.available_memory", lambda: 8_000)
    assert source.read_labelled().length == 1000
