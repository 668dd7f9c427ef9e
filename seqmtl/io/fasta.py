"""FASTA: records in pieces or as a whole, and windows with labels in their headers."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from seqmtl._memory import require_memory
from seqmtl._names import check_distinct
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
from seqmtl.io.tsv import LabelColumn, check_no_other_name, refuse_split
from seqmtl.sequences import Windows
from seqmtl.sequences.alphabet import (
    CHECKED_CODES,
    INVALID,
    OTHER,
    letter_remedy,
)
from seqmtl.sequences.windows import UNNAMED, name_table, pad_codes

logger = logging.getLogger(__name__)

_BLANKS = b"\n\r \t"  # of a sequence
_LONGEST_HEADER = 1 << 24
CHECKED = 1 << 26  # bases read between two looks at the memory
_MARKS = (",", "|", ";")
_KEYS = ("label", "organism", "split", "site")
#: A pair: in brackets, in quotes, or up to a mark or the next word with a = or colon.
_PAIR = re.compile(
    r"\[(\w+)=([^\]]*)\]?"
    r"|(?:^|[\s,|;])(\w+)="
    r"(?:\"([^\"]*)\"|'([^']*)'|([^\s,|;]*(?:\s(?![^\s,|;:=]*[:=])[^\s,|;]*)*))"
)
#: A name without quotes: a word, or a genus and a species.
_NAME = re.compile(r"[^\s\"']\S*|[A-Z][a-z]*\.?\s+[a-z][a-z-]+")


class Value(NamedTuple):
    """Value of a key in a header, and whether its end is marked by a quote, a comma or such."""

    text: str
    has_end: bool

    @property
    def word(self) -> str:
        """The first word."""
        return (self.text.split() or [""])[0]


class Header(NamedTuple):
    """Header of a FASTA record.

    Attributes
    ----------
    name : str
        First word after ``>``, or "".
    description : str
        The whole header without ``>``, stripped of blanks.
    line : int
        1-based line of the header.
    number : int
        1-based number of the record.
    source : str
        Name of the file.
    """

    name: str
    description: str
    line: int
    number: int
    source: str

    def refuse(self, message: str, line: int | None = None, name: str = "") -> NoReturn:
        """Raise an error that names the file, the line (by default the header's), the record."""
        name = name or self.name or str(self.number)
        raise InputFormatError(message, path=self.source, line=line or self.line, record=name)


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


def scan_fasta(
    path: PathLike,
    *,
    unique_names: bool = True,
    on_read: Callable[[int], None] | None = None,
    size: int = BLOCK_BYTES,
) -> Iterator[Header | bytes]:
    """Yield the header of each record, then its codes in pieces, in bounded memory.

    Lower case counts as upper case. Lines may end in LF or CRLF, and the last line end may be
    missing. Blank lines and blanks in a sequence are skipped.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"`` for standard input.
    unique_names : bool
        Whether to reject repeated record names.
    on_read : callable, optional
        Called with the number of bytes read from the file since the last call.
    size : int
        Bytes to read at a time.

    Yields
    ------
    Header or bytes
        bytes are non-empty codes, see :mod:`seqmtl.sequences.alphabet`.

    Raises
    ------
    InputFormatError
        If the file is empty or not FASTA, a record has no sequence or an invalid letter, or a
        name is repeated; the message gives the file, the record and the line.
    """
    source = source_name(path)
    header = None
    has_sequence = True
    names = set[str]()
    for line, is_header, text in _text_pieces(path, on_read, size):
        if is_header:
            _check_sequence(header, has_sequence)
            description = readable(text[1:]).strip()
            name = description.split(None, 1)[0] if description else ""
            number = 1 if header is None else header.number + 1
            header = Header(name, description, line, number, source)
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


def _text_pieces(
    path: PathLike, on_read: Callable[[int], None] | None, size: int
) -> Iterator[tuple[int, bool, bytes]]:
    """Yield whole header lines and pieces of what is between them: line, is it a header, text.

    A byte order mark and blanks before the first are left out.
    """
    remainder = b""
    line = 1
    at_line_start = True
    has_begun = False
    for block in byte_blocks(path, on_read, size):
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


def _check_sequence(header: Header | None, has_sequence: bool) -> None:
    if header is not None and not has_sequence:
        header.refuse(
            "the record has a header but no sequence; remove it or download the file again"
        )


def _refuse_letter(header: Header, text: bytes, line: int) -> NoReturn:
    position = next(
        i for i, byte in enumerate(text) if byte not in _BLANKS and CHECKED_CODES[byte] == INVALID
    )
    header.refuse(
        f"a sequence must be of IUPAC nucleotide letters, got {chr(text[position])!r}; "
        f"{letter_remedy(text)}",
        line + text.count(b"\n", 0, position),
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


def _records(path: PathLike) -> Iterator[tuple[Header, NDArray[np.uint8]]]:
    """Yield the header and the codes of each record; names may be repeated."""
    header: Header | None = None
    codes = bytearray()
    for item in scan_fasta(path, unique_names=False):
        if isinstance(item, bytes):
            hold(codes, item, path)
            continue
        if header is not None:
            yield header, np.frombuffer(codes, dtype=np.uint8)
        header = item
        codes = bytearray()
    if header is not None:
        yield header, np.frombuffer(codes, dtype=np.uint8)


def read_fasta_windows(
    path: PathLike,
    *,
    window: int | None = None,
    split: str | None = None,
    organism: str | None = None,
    require_labels: bool = True,
    site: int | None = None,
    base: int | None = None,
    pad: bool = False,
) -> Windows:
    """Read windows from a FASTA file, with the organism and the label of each in its header.

    Headers give them as ``key=value``, separated by blanks, commas, ``|`` or ``;``, as in
    ``> chr_num=1, strand=+, position=180699, label=-1, organism=worm``, or in brackets, as in
    ``>s1 [organism=Homo sapiens] [label=1]``. ``split=train`` gives the split, and ``site=149`` the
    first base of the site in the sequence (0-based). An organism or a split is one word, two as in
    Homo sapiens, or has its end marked by quotes, a bracket or a comma.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bgzip file, or ``"-"``.
    window : int, optional
        Keep the central `window` bases, from ``(length - window) // 2`` (0-based); sequences may
        then differ in length. Default: whole sequences, which must have equal lengths.
    split : str, optional
        Keep only the records of this split. If headers name none, all are kept.
    organism : str, optional
        Organism of all records; overrides the headers.
    require_labels : bool
        Whether every record must have a label. Records without a label get 0.
    site : int, optional
        First base of the site in every sequence (0-based); overrides the headers.
    base : int, optional
        Cut sequences that tell their site so that it is at this base of `window` bases, with N for
        those that they lack; see :func:`seqmtl.io.tables.read_windows_around`.
    pad : bool
        Whether sequences shorter than `window` or, without it, than the longest are padded with N
        at their end.

    Returns
    -------
    Windows
        Names are the first words of the headers, which may be repeated, or the 1-based numbers of
        the records if the headers begin with a ``key=value``. The task is ``"task"`` if no
        organism is given.

    Raises
    ------
    InputFormatError
        If the file is not FASTA (see :func:`scan_fasta`), labels are missing or invalid, lengths
        or sites differ, a name is ambiguous, two names of organisms mean the same one, or no
        record is of the split.
    MemoryLimitError
        If the padded sequences do not fit into memory.
    """
    if window is not None and window < 1:
        raise ValueError(
            f"window must be 1 or more, got {window}; leave it out for whole sequences"
        )
    column = LabelColumn(source_name(path))
    names, labels = list[str](), list[int]()
    organisms, splits = list[str | None](), list[str | None]()
    codes = bytearray()
    first = None
    sites = list[int | None]()
    lengths = list[int]()
    for header, sequence, name, values in _records_of(path, split, organism, splits):
        base_of_site = _site_of(values, sequence.size, header, name) if site is None else site
        if (
            base is not None
            and base_of_site is None
            and not first
            and sequence.size < (window or 0)
        ):
            window = None  # all are shorter than the model's windows
        first = first or (sequence.size, header.line)
        length = window or first[0]
        if pad:
            length = min(sequence.size, window or sequence.size)
        elif base is None or base_of_site is None:
            _check_length(sequence.size, window, first, header, name, base)
        start = (sequence.size - length) // 2
        if base_of_site is not None and base is not None:
            start = base_of_site - base
            base_of_site = base
        elif base_of_site is not None:
            base_of_site -= start
        sites.append(base_of_site)
        if sites[0] != base_of_site or not 0 <= (base_of_site or 0) < length:
            _refuse_site(sites[0], base_of_site, length, header, name)
        codes += cut_window(sequence, start, length)
        lengths.append(length)
        names.append(name)
        labels.append(_label_of(values, column, header, name, is_required=require_labels))
        organisms.append(organism or _name_in(values, "organism", header, name))
    task_names, task_ids = _tasks(organisms, names)
    split_names, split_ids = ([], None) if None in splits else name_table(splits)
    length = window if window and pad else max(lengths)
    longest = f"{source_name(path)}, record {names[int(np.argmax(lengths))]!r}"
    return Windows(
        pad_codes(codes, np.array(lengths, dtype=np.int64), length, longest),
        np.arange(len(names), dtype=np.int64) * length,
        length,
        labels=np.array(labels, dtype=np.int8),
        task_ids=task_ids,
        task_names=task_names,
        splits=split_ids,
        split_names=split_names,
        names=names,
        site=sites[0],
        is_padded=min(lengths) < length,
    )


def cut_window(sequence: bytes | NDArray[np.uint8], start: int, length: int) -> bytes:
    """Return `length` codes from base `start`, with N for those outside the sequence."""
    inner = bytes(sequence[max(start, 0) : max(start + length, 0)])
    if len(inner) == length:
        return inner
    return (bytes([OTHER] * -start) + inner).ljust(length, bytes([OTHER]))


def _records_of(
    path: PathLike, split: str | None, organism: str | None, splits: list[str | None]
) -> Iterator[tuple[Header, NDArray[np.uint8], str, dict[str, Value]]]:
    """Yield header, codes, name and pairs of the records of a split; note the split of each."""
    source = source_name(path)
    counts = Counter[str | None]()
    for header, sequence in _records(path):
        name, values = parse_header(header)
        if not counts and organism is None and "organism" not in values:
            remedy = "give the organism of all records"
            check_no_other_name(values, "organism", source, remedy, "key")
        if not counts and split is not None and "split" not in values:
            check_no_other_name(values, "split", source, "use all records (--split all)", "key")
        record_split = _split_of(values, counts, header, name)
        if split is None or record_split in (None, split):
            splits.append(record_split)
            yield header, sequence, name, values
    if not splits:
        refuse_split(split, counts, source)


def _name_in(values: Mapping[str, Value], key: str, header: Header, name: str) -> str | None:
    """Return the organism or the split of a record, or None."""
    if key not in values:
        return None
    text, has_end = values[key]
    if not text:
        header.refuse(f"{key} must not be empty; write {key}=NAME or leave it out", name=name)
    if not (has_end or _NAME.fullmatch(text)):
        header.refuse(
            f"{key} must be one word, two as in Homo sapiens, or between quotes, got {text!r}; "
            "put quotes around the name, or a comma after it",
            name=name,
        )
    return " ".join(text.split())


def _split_of(
    values: Mapping[str, Value], counts: Counter[str | None], header: Header, name: str
) -> str | None:
    """Return the split of a record, or None, and count it; all records have one, or none."""
    split = _name_in(values, "split", header, name)
    if counts and (split is None) != (None in counts):
        header.refuse(
            "all records must have a split or none; write split=NAME in all headers", name=name
        )
    counts[split] += 1
    return split


def _label_of(
    values: Mapping[str, Value],
    column: LabelColumn,
    header: Header,
    name: str,
    *,
    is_required: bool,
) -> int:
    if "label" not in values:
        if is_required:
            header.refuse(
                "a record must have a label; write label=1 or label=-1 in the header, or give "
                "negatives in another file (--negatives)",
                name=name,
            )
        return 0
    return column.parse(values["label"].word, header.line)


def _site_of(values: Mapping[str, Value], size: int, header: Header, name: str) -> int | None:
    if "site" not in values:
        return None
    text = values["site"].word
    if not (text.isascii() and text.isdigit() and int(text[:18]) < size):
        header.refuse(
            f"site must be a base of the sequence, 0 to {size - 1}, got {text!r}; correct it",
            name=name,
        )
    return int(text)


def _refuse_site(
    first: int | None, base: int | None, length: int, header: Header, name: str
) -> NoReturn:
    got = "none" if base is None else f"base {base} of the {length} bases kept"
    rule = "inside the window" if first == base else f"at base {first} as that of the first record"
    if first is None:
        rule = "told by all records or none"
        got = "site= here, but not in the first record"
    header.refuse(
        f"the site must be {rule}, got {got}; correct the headers, or take another window",
        name=name,
    )


def _check_length(
    size: int,
    window: int | None,
    first: tuple[int, int],
    header: Header,
    name: str,
    base: int | None,
) -> None:
    if window is None and size != first[0]:
        header.refuse(
            f"sequences must have equal lengths, got {size} bases here and {first[0]} on line "
            f"{first[1]}; {one_length(min(size, first[0]))}",
            name=name,
        )
    if window is not None and size < window:
        whose = "window's"
        remedy = "choose a smaller window or leave the record out"
        if base is not None:
            whose = "model's"
            remedy = "write site=, its first base (0-based), in the headers"
        header.refuse(
            f"a sequence must have at least the {whose} {window} bases, got {size}; {remedy}",
            name=name,
        )


def one_length(shortest: int) -> str:
    """Return what to do with sequences of different lengths."""
    return (
        f"give a window (at most {shortest}) to take the centre of each, or features that need no "
        "positions, such as gapped:8/6"
    )


def _tasks(
    organisms: Sequence[str | None], names: Sequence[str]
) -> tuple[list[str], NDArray[np.int16] | None]:
    """Return the names of the tasks, and the number of each record's; all have one, or none."""
    named = [name for name in organisms if name is not None]
    if not named:
        return [UNNAMED], None
    if len(named) < len(organisms):
        raise InputFormatError(
            "all records must have an organism or none, but this one has none; write "
            "organism=NAME in its header or give one with the file",
            record=names[organisms.index(None)],
        )
    task_names, task_ids = name_table(named)
    check_distinct(task_names)
    return task_names, task_ids


def parse_header(header: Header) -> tuple[str, dict[str, Value]]:
    """Split a header into the record's name and its pairs of key and value (keys in lower case).

    The name is the first word that is not in a pair, or else the number of the record. Values
    without quotes or brackets end at a comma, ``|`` or ``;``, or before the next word that has a
    ``=`` or a colon.
    """
    values: dict[str, Value] = {}
    name, text = header.name, header.description
    for match in _PAIR.finditer(text):
        in_brackets, inner, key, double, single, plain = match.groups()
        name = name[: match.start()]
        key = (in_brackets or key).lower()
        if key in values and key in _KEYS:
            header.refuse(f"{key}= must be once in a header, but it is repeated; correct it")
        if plain is None:
            values[key] = Value((inner or double or single or "").strip(" \"'"), has_end=True)
        else:
            values[key] = Value(plain.strip(), has_end=text.startswith(_MARKS, match.end()))
    return name.rstrip(",|;") or str(header.number), values
