"""Errors say what they are about: a file, a line, a record, an option."""

import pickle

import pytest

from seqmtl._checks import check_choice
from seqmtl.exceptions import (
    ClusterError,
    InputFormatError,
    ParameterError,
    SeqmtlError,
    TrainingInterrupted,
    UnknownTaskError,
    UsageError,
    errors_about,
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ParameterError("must be 1 or more, got 0", "top"), "top must be 1 or more, got 0"),
        (UsageError("give --tree"), "give --tree"),
        (InputFormatError("no header", "a.tsv", 3), "a.tsv:3: no header"),
        (InputFormatError("no bases", "a.fa", 3, "x"), "a.fa:3 (record 'x'): no bases"),
        (InputFormatError("no bases", record="x"), "record 'x': no bases"),
        (InputFormatError("must be a, b", "a.tsv", option="split"), "a.tsv: split must be a, b"),
        (UnknownTaskError("no task 'x'", "x"), "no task 'x'"),
    ],
)
def test_a_message_names_what_is_at_fault(error, text):
    assert str(error) == str(pickle.loads(pickle.dumps(error))) == text


def test_a_rule_that_is_broken_names_the_parameter():
    with pytest.raises(ParameterError) as error:
        check_choice("loss", "hinge2", ("hinge", "logistic"))
    assert error.value.option == "loss"
    assert error.value.message == (
        "must be one of hinge, logistic, got 'hinge2'; did you mean 'hinge'?"
    )


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no header"), "a.tsv: no header"),
        (SeqmtlError("no header"), "a.tsv: no header"),
        (UnknownTaskError("no task 'x'", "x"), "a.tsv: no task 'x'"),
        (InputFormatError("no header", line=2), "a.tsv:2: no header"),
        (InputFormatError("no header", "b.tsv"), "b.tsv: no header"),
        (ParameterError("must be 1", "n"), "a.tsv: n must be 1"),
        (UsageError("give --tree"), "give --tree"),
        (ClusterError("no scheduler"), "no scheduler"),
        (TrainingInterrupted("interrupted"), "interrupted"),
    ],
)
def test_errors_about_a_file_name_it_unless_they_name_another(error, text):
    with pytest.raises(type(error)) as raised, errors_about("a.tsv"):
        raise error
    assert str(raised.value) == text
    with pytest.raises(type(error)) as raised, errors_about("-"):
        raise type(error)(*error.args)
    assert "-: " not in str(raised.value)
