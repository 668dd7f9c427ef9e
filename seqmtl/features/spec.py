"""Feature maps as short texts, such as ``wd:6,kmers:3-6/16@-80..80=0.1``."""

from __future__ import annotations

import re

from seqmtl.features.kmer_views import KmerView

_VIEW = re.compile(
    r"(?P<kind>wd|kmers):(?P<low>\d+)(?:-(?P<high>\d+))?(?:/(?P<width>\d+|inf))?"
    r"(?:@(?P<begin>-?\d+)?\.\.(?P<end>-?\d+)?)?(?:=(?P<weight>[0-9.eE+-]+))?"
)


def parse_views(text: str) -> tuple[KmerView, ...]:
    """Read the views that a text lists.

    Raises
    ------
    ValueError
        If it does not parse; says where.
    """
    views, place = [], 0
    for part in text.split(","):
        views.append(_parse_view(part.strip(), text, place + 1))
        place += len(part) + 1
    return tuple(views)


def _parse_view(part: str, text: str, place: int) -> KmerView:
    where = f"in the features {text!r}, at character {place}: "
    found = _VIEW.fullmatch(part)
    if found is None:
        raise ValueError(
            f"{where}a view must be like wd:6 or kmers:3-6/16@-80..80=0.1, got {part!r}"
        )
    field = found.groupdict()
    is_wd = field["kind"] == "wd"
    if is_wd and (field["high"] or field["width"]):
        raise ValueError(f"{where}wd takes one degree and no bins, got {part!r}; see kmers")
    try:
        view = KmerView(
            1 if is_wd else int(field["low"]),
            int(field["high"] or field["low"]),
            None if field["width"] == "inf" else int(field["width"] or 1),
            None if field["begin"] is None else int(field["begin"]),
            None if field["end"] is None else int(field["end"]),
            float(field["weight"] or 1.0),
            is_wd,
        )
        view.check()
    except ValueError as error:
        raise ValueError(f"{where}{error}") from error
    return view
