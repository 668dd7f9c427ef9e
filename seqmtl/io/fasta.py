"""FASTA: records in pieces, or as rows of a table whose columns are the keys of headers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NoReturn, TypeVar

from seqmtl._memory import require_memory
from seqmtl.exceptions import InputFormatError
from seqmtl.files.streams import (
    BLOCK_BYTES,
    BYTE_ORDER_MARK,
    PathLike,
    byte_blocks,
    first_bytes,
    kind_of_text,
    readable,
    source_name,
    too_long,
)
from seqmtl.io.tsv import Columns, Row, refuse_split
from seqmtl.sequences.alphabet import CHECKED_CODES, INVALID, letter_remedy

_Header = TypeVar("_Header", Row, str)

_BLANKS = b"\n\r \t"  # of a sequence
_LONGEST_HEADER = 1 << 24
CHECKED = 1 << 26  # bases read between two looks at the memory
_MARKS = (",", "|", ";")
#: Columns of records: what all have, and the keys that all have or none.
_FIELDS = ("name", "sequence", "label")
_KEYS = ("organism", "split", "site")
#: A pair: in brackets, in quotes, or up to a mark or the next word with a = or colon.
_PAIR = re.compile(
    r"\[(\w+)=([^\]]*)\]?"
    r"|(?:^|[\s,|;])(\w+)="
    r"(?:\"([^\"]*)\"|'([^']*)'|([^\s,|;]*(?:\s(?![^\s,|;:=]*[:=])[^\s,|;]*)*))"
)
#: A name without quotes: a word, or a genus and a species.
_NAME = re.compile(r"[^\s\"']\S*|[A-Z][a-z]*\.?\s+[a-z][a-z-]+")


def hold(buffer: bytearray, codes: bytes, path: PathLike) -> None:
    """Append codes to those held in memory.

    Raises
    ------
    MemoryLimitError
        If there is no room for more.
    """
    n = len(buffer)
    if n // CHECKED < (n + len(codes)) // CHECKED:
        what = f"{source_name(path)}: holding {n / 1e9:.1f} Gb and the next bases"
        require_memory(2.0 * CHECKED + n / 8, what, "use a machine with more memory")
    buffer += codes


def whole_records(
    items: Iterable[_Header | bytes], path: PathLike
) -> Iterator[tuple[_Header, bytearray]]:
    """Yield each header of a stream of headers and pieces of codes, with all codes after it."""
    header: _Header | None = None
    codes = bytearray()
    for item in items:
        if isinstance(item, bytes):
            hold(codes, item, path)
            continue
        if header is not None:
            yield header, codes
        header, codes = item, bytearray()
    if header is not None:
        yield header, codes


def scan_fasta(
    path: PathLike,
    *,
    unique_names: bool = True,
    size: int = BLOCK_BYTES,
) -> Iterator[Row | bytes]:
    """Yield the header of each record, then its codes in pieces, in bounded memory.

    Lower case counts as upper case. Lines may end in LF or CRLF, and the last line end may be
    missing. Blank lines and blanks in a sequence are skipped.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"`` for standard input.
    unique_names : bool
        Whether to reject repeated record names.
    size : int
        Bytes to read at a time.

    Yields
    ------
    Row or bytes
        The fields of a header are its first word and all of it, without ``>``; bytes are non-empty
        codes, see :mod:`seqmtl.sequences.alphabet`.

    Raises
    ------
    InputFormatError
        If the file is empty or not FASTA, a record has no sequence or an invalid letter, or a
        name is repeated; the message gives the file, the record and the line.
    """
    source = source_name(path)
    header = None
    has_sequence = True
    n_records = 0
    names = set[str]()
    for line, is_header, text in _text_pieces(path, size):
        if is_header:
            _check_sequence(header, has_sequence)
            description = readable(text[1:]).strip()
            name = description.split(None, 1)[0] if description else ""
            n_records += 1
            header = Row(source, line, [name, description], name or str(n_records))
            has_sequence = False
            if not text.endswith(b"\n") and b"\r" in text.strip():
                header.refuse("lines must end in LF or CRLF, but these end in CR; convert the file")
            if unique_names and name in names:
                header.refuse(
                    "the name of a record must be unique in the file, but it is repeated; "
                    "rename or remove one of them"
                )
            if unique_names and name:
                names.add(name)
            yield header
        elif header is None:
            _refuse_foreign(text, source, line)
        elif codes := text.translate(CHECKED_CODES, _BLANKS):
            if INVALID in codes:
                _refuse_letter(header, text, line)
            has_sequence = True
            yield codes
            del codes  # lets the caller's buffer grow without a copy: half the time
    if header is None:
        raise InputFormatError(
            "the file must hold FASTA records, but it is empty; check how it was written", source
        )
    _check_sequence(header, has_sequence)


def _text_pieces(path: PathLike, size: int) -> Iterator[tuple[int, bool, bytes]]:
    """Yield whole header lines and pieces of what is between them: line, is it a header, text.

    A byte order mark and blanks before the first are left out.
    """
    remainder = b""
    line = 1
    at_line_start = True
    has_begun = False
    for block in byte_blocks(path, size):
        text = remainder + block
        if not has_begun:
            start = text.removeprefix(BYTE_ORDER_MARK).lstrip()
            has_begun = bool(start) and not BYTE_ORDER_MARK.startswith(text)
            line += text.count(b"\n", 0, len(text) - len(start)) if has_begun else 0
            text = start if has_begun else text
        position = 0
        while has_begun and position < len(text):
            is_header = at_line_start and text[position] == ord(">")
            end = text.find(b"\n", position) + 1 if is_header else _next_header(text, position)
            if not end:
                break
            yield line, is_header, text[position:end]
            at_line_start = text[end - 1] == ord("\n")
            line += text.count(b"\n", position, end)
            position = end
        remainder = text[position:]
        if len(remainder) > _LONGEST_HEADER:
            raise too_long("a FASTA header", _LONGEST_HEADER, path, line)
    if remainder.strip():
        yield line, remainder.startswith(b">"), remainder


def _next_header(text: bytes, position: int) -> int:
    """Return where the next line that begins with ``>`` begins, or the end of the text."""
    end = text.find(b">", position + 1)
    while end >= 0 and text[end - 1] != ord("\n"):
        end = text.find(b">", end + 1)
    return len(text) if end < 0 else end


def _check_sequence(header: Row | None, has_sequence: bool) -> None:
    if header is not None and not has_sequence:
        header.refuse(
            "the record has a header but no sequence; remove it or download the file again"
        )


def _refuse_letter(header: Row, text: bytes, line: int) -> NoReturn:
    position = next(
        i for i, byte in enumerate(text) if byte not in _BLANKS and CHECKED_CODES[byte] == INVALID
    )
    header._replace(line=line + text.count(b"\n", 0, position)).refuse(
        f"a sequence must be of IUPAC nucleotide letters, got {chr(text[position])!r}; "
        f"{letter_remedy(text)}"
    )


def _refuse_foreign(start: bytes, source: str, line: int) -> NoReturn:
    first = readable(start[:40].split(b"\n", 1)[0].strip())
    kind = kind_of_text(first) or ("a table" if "\t" in first else "")
    remedy = f"it looks like {kind}" if kind else "check that it is the right one"
    raise InputFormatError(
        f"the file must be FASTA, starting with '>', but it starts with {first!r}; {remedy}",
        path=source,
        line=line,
    )


def guess_format(path: PathLike) -> str:
    """Distinguish FASTA from a table by the first bytes.

    Parameters
    ----------
    path : path-like
        File, plain or gzip, or ``"-"``.

    Returns
    -------
    {"fasta", "table"}
        "fasta" if the first byte that is not white space is ``>``. An empty file is a table.
    """
    return "fasta" if first_bytes(path).lstrip().startswith(b">") else "table"


def read_records(
    path: PathLike, *, keys: Sequence[str], split: str | None, require_labels: bool
) -> tuple[dict[str, int], Iterator[Columns]]:
    """Read records as the rows of a table, see :func:`seqmtl.io.tsv.read_table`.

    Parameters
    ----------
    path : path-like
        File, see :func:`scan_fasta`.
    keys : sequence of str
        Which of organism, split and site are read: all headers have one, or none.
    split : str or None
        Keep only the records of this split. If headers name none, all are kept.
    require_labels : bool
        Whether every record must have a label.

    Returns
    -------
    columns : dict of str to int
        The index of name, sequence, label and the keys of the first header.
    blocks : iterator of Columns
        The records. Sequences are texts of codes, labels and keys that are missing are empty.

    Raises
    ------
    InputFormatError
        If the file is not FASTA, or the pairs of a header are invalid; by the iterator, if no
        record is of the split.
    """
    records = _records(path, keys)
    first = next(records)
    fields = (*_FIELDS, *_KEYS)
    columns = {name: fields.index(name) if name in fields else -1 for name in (*_FIELDS, *first[2])}
    shared = {key: key in first[2] for key in keys}
    return columns, _blocks(chain([first], records), shared, split, require_labels)


def _records(
    path: PathLike, keys: Sequence[str]
) -> Iterator[tuple[Row, bytearray, dict[str, str]]]:
    """Yield the header, the codes and the pairs of each record; names may be repeated."""
    records = whole_records(scan_fasta(path, unique_names=False), path)
    for number, (header, codes) in enumerate(records, 1):
        named, values = parse_header(header, number, keys)
        yield named, codes, values


def _blocks(
    records: Iterator[tuple[Row, bytearray, dict[str, str]]],
    shared: dict[str, bool],
    split: str | None,
    require_labels: bool,
) -> Iterator[Columns]:
    """Yield the records of a split; `shared` are the keys, and whether all headers have each."""
    fields, lines, size = list[str](), list[int](), 0
    counts, n_chosen = Counter[str | None](), 0
    for header, codes, values in records:
        counts[values.get("split")] += 1
        is_chosen = split is None or values.get("split", split) == split
        for key, is_shared in shared.items():
            if (is_chosen or key == "split") and (key in values) != is_shared:
                header.refuse(
                    f"all records must have {key}= in their headers or none; write it in all of "
                    "them"
                )
        if not is_chosen:
            continue
        if not values.get("label", not require_labels):
            header.refuse(
                "a record must have a label; write label=1 or label=-1 in the header, or give "
                "negatives in another file (--negatives)"
            )
        pairs = (values.get(key, "") for key in ("label", *_KEYS))
        fields += [header.fields[0], codes.decode("ascii"), *pairs]
        lines.append(header.line)
        size, n_chosen = size + len(codes), n_chosen + 1
        if size >= BLOCK_BYTES:
            yield Columns(header.source, lines, fields, record=0)
            fields, lines, size = [], [], 0
    if not n_chosen:
        refuse_split(split, counts, header.source)
    if lines:
        yield Columns(header.source, lines, fields, record=0)


def parse_header(header: Row, number: int, keys: Sequence[str]) -> tuple[Row, dict[str, str]]:
    """Return the header of a record with the record's name, and its pairs of key and value.

    The name is the first word that is not in a pair, or else the number of the record. Keys become
    lower case. Values without quotes or brackets end at a comma, ``|`` or ``;``, or before the next
    word that has a ``=`` or a colon. Organism and split, if they are among `keys`, must be names.
    """
    name, text = header.fields
    pairs = [*_PAIR.finditer(text)]
    name = name[: pairs[0].start()] if pairs else name
    name = name.rstrip(",|;") or str(number)
    header = header._replace(fields=[name, text], record=name)
    values: dict[str, str] = {}
    for match in pairs:
        in_brackets, inner, key, double, single, plain = match.groups()
        key = (in_brackets or key).lower()
        if key in values and key in ("label", *_KEYS):
            header.refuse(f"{key}= must be once in a header, but it is repeated; correct it")
        has_end = plain is None or text.startswith(_MARKS, match.end())
        value = (inner or double or single or "").strip(" \"'") if plain is None else plain.strip()
        if key in ("label", "site"):
            value = (value.split() or [""])[0]
        elif key in keys:
            if not value:
                header.refuse(f"{key} must not be empty; write {key}=NAME or leave it out")
            if not (has_end or _NAME.fullmatch(value)):
                header.refuse(
                    f"{key} must be one word, two as in Homo sapiens, or between quotes, got "
                    f"{value!r}; put quotes around the name, or a comma after it"
                )
            value = " ".join(value.split())
        values[key] = value
    return header, values
