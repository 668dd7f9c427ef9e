"""The documentation site: ``sphinx-build -W -b html docs OUT`` (no network is needed)."""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS.parent), str(DOCS / "_ext")]

from seqmtl._version import __version__  # noqa: E402

project = "seqmtl"
author = "the seqmtl developers"
copyright = author
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "mathml",
    "paper_equations",
    "reference_pages",
    "tutorial_pages",
]
exclude_patterns = ["_build", "_ext"]
highlight_language = "none"
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["deflist", "dollarmath"]
html_math_renderer = "mathml"
myst_heading_anchors = 3
smartquotes = False

autodoc_typehints = "none"  # the docstrings say shape, dtype and unit
autodoc_default_options = {
    "members": True,
    "inherited-members": "BaseEstimator,ClassifierMixin,RegressorMixin,OutlierMixin,"
    "TransformerMixin,object,tuple,Exception",
    "member-order": "bysource",
}
autodoc_inherit_docstrings = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_title = "seqmtl"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
