"""Write the reference: a page per command from its options, one per subpackage from its docstrings.

The pages are made anew by every build, below ``docs/reference``, so that no help text and no list
of names is kept twice.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import seqmtl
from seqmtl.commands._help import described, groups, heading, usage
from seqmtl.commands._request import Request
from seqmtl.commands.main import command_named, command_names

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def subpackages() -> list[str]:
    """Return the subpackages that export anything."""
    names = sorted(m.name for m in pkgutil.iter_modules(seqmtl.__path__) if m.ispkg)
    return [name for name in names if getattr(import_module(f"seqmtl.{name}"), "__all__", [])]


def commands() -> dict[str, type[Request]]:
    """Return all commands by name."""
    return {name: command_named(name) for name in command_names()}


def command_page(name: str, command: type[Request]) -> str:
    """Return the page of a command: usage, examples and notes, and every option."""
    summary, text = described(command)
    parts = [f"# seqmtl {name}", _sentence(summary), _literal(f"usage: {usage(command)}")]
    parts += [part for block in _blocks(text) for part in _epilog(block)]
    for title, options in groups(command).items():
        parts.append(f"## {_sentence(title)[:-1]}")
        parts += [f"`{heading(each)}`\n: {_escape(each.help)}" for each in options]
    return "\n\n".join(parts) + "\n"


def _sentence(text: str) -> str:
    text = _escape(text.strip())
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def _escape(text: str) -> str:
    """Keep Markdown from reading what is meant as it stands."""
    return re.sub(r"([\\`*_{}\[\]<>$|~])", r"\\\1", text)


def _literal(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def _blocks(text: str) -> list[str]:
    return [block for block in text.split("\n\n") if block.strip()]


def _epilog(block: str) -> Iterator[str]:
    """Yield a block of the text below the options; prose is prose, all else stands as it is."""
    first, _, rest = block.partition("\n")
    if first.rstrip().endswith(":") and rest.startswith(" ") and len(first) <= 50:
        yield f"## {_sentence(first.strip()[:-1])[:-1]}"
        block = rest
    if re.search(r"^ | {3,}\S", block, flags=re.MULTILINE):
        yield _literal(block)
    else:
        yield _escape(block)


def public_names(subpackage: str) -> list[str]:
    """Return the names that a subpackage exports and the package itself does not."""
    module = import_module(f"seqmtl.{subpackage}")
    return [
        name for name in module.__all__ if getattr(module, name) is not getattr(seqmtl, name, None)
    ]


def api_page(module: str, names: list[str]) -> str:
    """Return the page of a module: what it is for, and its public names from their docstrings."""
    doc = (import_module(module).__doc__ or "").strip()
    parts = [f"# {module}", doc]
    for name in names:
        kind = "class" if isinstance(getattr(import_module(module), name), type) else "function"
        parts.append(f"```{{eval-rst}}\n.. auto{kind}:: {place(module, name)}\n```")
    return "\n\n".join(parts) + "\n"


def place(module: str, name: str) -> str:
    """Return where a public name is documented; that of a command is in its file."""
    is_command = module == "seqmtl" and name in seqmtl.COMMANDS
    return f"{module}.commands.{name}.{name}" if is_command else f"{module}.{name}"


def pages() -> dict[str, str]:
    """Return the text of every page of the reference by its path below ``docs/reference``."""
    found = {f"commands/{name}.md": command_page(name, each) for name, each in commands().items()}
    lines = [
        f"- [seqmtl {name}]({name}.md): {_escape(described(each)[0])}"
        for name, each in commands().items()
    ]
    found["commands/index.md"] = _index(
        "Commands", "`seqmtl COMMAND --help` prints the same.\n\n" + "\n".join(lines), commands()
    )
    modules = {"seqmtl": [name for name in seqmtl.__all__ if name != "__version__"]}
    modules |= {f"seqmtl.{subpackage}": public_names(subpackage) for subpackage in subpackages()}
    stems = {module: module.removeprefix("seqmtl.") for module in modules}
    for module, names in modules.items():
        found[f"api/{stems[module]}.md"] = api_page(module, names)
    text = "Top-level names first, then the subpackages."
    listed = "\n\n".join(
        _section(module, stems[module], names) for module, names in modules.items()
    )
    found["api/index.md"] = _index("Python", f"{text}\n\n{listed}", stems.values())
    return found


def _section(module: str, stem: str, names: list[str]) -> str:
    """Return what a subpackage is for, and its names as links."""
    first = (import_module(module).__doc__ or "").strip().split("\n\n")[0]
    links = " · ".join(f"{{py:obj}}`{name} <{place(module, name)}>`" for name in names)
    return f"## [{module}]({stem}.md)\n\n{first}\n\n{links}"


def _index(title: str, text: str, names: Any) -> str:
    listed = "\n".join(names)
    return f"# {title}\n\n{text}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def write_pages(app: Sphinx) -> None:
    """Write the pages that have changed, and take away those of what is gone."""
    folder = Path(app.srcdir) / "reference"
    wanted = pages()
    for path in folder.rglob("*.md"):
        if str(path.relative_to(folder)) not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}


def _skip(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool:
    """Leave out what scikit-learn adds to every estimator."""
    added = r"set_\w+_request|get_metadata_routing|set_output"
    return skip or re.fullmatch(added, name) is not None
