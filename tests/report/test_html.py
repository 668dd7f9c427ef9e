"""Pieces of HTML: external text is escaped."""

from seqmtl.report._html import Markup, element, join, text


def test_html_pieces():
    assert text("<&>\"'") == "&lt;&amp;&gt;&quot;&#x27;"
    assert text(Markup("<br>")) == "<br>"
    assert join(["<", Markup("<br>")], "") == "&lt;<br>"
    assert element("a", "x>", href='"#', class_="c") == '<a href="&quot;#" class="c">x&gt;</a>'
