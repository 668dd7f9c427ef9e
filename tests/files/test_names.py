"""Names of files from names that users gave."""

from seqmtl.files.names import safe_names


def test_names_become_file_names_that_differ():
    names = [
        "C. elegans",
        "C. elegans ",
        "c._ELEGANS",
        "../etc/passwd",
        "",
        "..",
        "-r",
        "Ärger",
        "a/b",
    ]
    found = safe_names(names)
    assert list(found) == names
    assert found["C. elegans"] == "C._elegans"
    assert found["../etc/passwd"] == "_etc_passwd"
    assert found["a/b"] == "a_b"
    assert len({name.lower() for name in found.values()}) == len(names)
    for name in found.values():
        assert name
        assert not name.startswith((".", "-"))
        assert "/" not in name
        assert name.isascii()
