"""What is said of examples before they are read."""

import pytest

from seqmtl.exceptions import MemoryLimitError
from seqmtl.linear_model.site import Site
from seqmtl.training.example_source import ExampleSource
from tests.linear_model.cases import write_dataset_head


def test_the_organisms_of_a_dataset(tmp_path, seqmtl):
    source = ExampleSource.of([(None, str(tmp_path))], split="train")
    assert source.organisms() == []
    sites = {"human": {"train": 4}, "rice": {"train": 2}, "maize": {"train": 0, "test": 9}}
    write_dataset_head(tmp_path, Site(0, 0, "", "donor"), sites, window=9)
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
