"""The one style of all pictures: colours that everybody can tell apart, and no other style."""

import itertools
import re
from pathlib import Path

import numpy as np
from colorspacious import cspace_convert, deltaE

import seqmtl
from seqmtl._style import FAINT, GREY, GRID, INK, LETTER_COLOURS, PALETTE, line_look, point_look

PACKAGE = Path(seqmtl.__file__).parent
KINDS = ("protanomaly", "deuteranomaly", "tritanomaly")


def _rgb(colour):
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def _as_seen(colour, kind):
    """Simulate a person without one kind of cones (Machado, Oliveira and Fernandes 2009)."""
    space = {"name": "sRGB1+CVD", "cvd_type": kind, "severity": 100}
    return np.clip(cspace_convert(_rgb(colour), space, "sRGB1"), 0, 1)


def test_colour_blind_readers_can_tell_the_colours_apart():
    # differences in CAM02-UCS; below about 2 two colours look the same
    for colours, least in ((PALETTE, 15), (LETTER_COLOURS, 17), (PALETTE[:2], 25)):
        for kind in (None, *KINDS):
            seen = [_rgb(c) if kind is None else _as_seen(c, kind) for c in colours]
            for one, other in itertools.combinations(seen, 2):
                assert deltaE(one, other, input_space="sRGB1") > least, kind


def test_text_has_contrast_and_grids_have_little():
    def luminance(colour):
        rgb = _rgb(colour)
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    contrast = {colour: 1.05 / (luminance(colour) + 0.05) for colour in (INK, GREY, FAINT, GRID)}
    assert contrast[INK] > 7  # WCAG: AAA
    assert contrast[GREY] > 4.5  # AA
    assert contrast[GRID] < contrast[FAINT] < 3


def test_many_lines_and_points_are_distinct():
    assert len({str(line_look(index)) for index in range(28)}) == 28
    assert len({str(point_look(index)) for index in range(49)}) == 49


def test_no_other_module_has_colours_or_sizes_of_its_own():
    for path in PACKAGE.rglob("*.py"):
        if path.name != "_style.py":
            own = re.findall(r"#[0-9a-fA-F]{6}\b|fontsize=[0-9.]+", path.read_text("utf-8"))
            assert own == [], path
    page = (PACKAGE / "report" / "page.html").read_text("utf-8")
    assert f"--ink: {INK}" in page
    assert f"--main: {PALETTE[0].lower()}" in page
