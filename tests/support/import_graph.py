"""The import graph of the code, for tests/test_structure.py and make map."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.support.source import parse_source

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("crowdqc", "annotation", "evaluation")


def module_name(path: Path) -> str:
    """The dotted name of a file below ROOT; a package's is that of its folder."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources(*parts: str) -> Iterator[Path]:
    """Python files below these folders of the project, migrations left out."""
    for part in parts:
        for path in sorted((ROOT / part).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path


def is_part(module: str, *parts: str) -> bool:
    """Whether a module is, or lies in, one of these parts of its package ("views", "api")."""
    names = module.split(".")[1:]
    return any(name in parts or ("views" in parts and name.endswith("_views")) for name in names)


@cache
def import_graph() -> Mapping[str, frozenset[str]]:
    """Module -> modules of ours that it imports anywhere, lazily or for types too."""
    files = {module_name(one): one for name in PACKAGES for one in (ROOT / name).rglob("*.py")}
    return {name: frozenset(_imports(path, files) - {name}) for name, path in sorted(files.items())}


def _imports(path: Path, files: Mapping[str, Path]) -> set[str]:
    """Modules of ours that a file imports; the linter allows absolute imports only."""
    found: set[str] = set()
    for node in _statements(parse_source(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {_nearest(alias.name, files) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {_nearest(f"{node.module}.{alias.name}", files) for alias in node.names}
    return found - {""}


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node; expressions, of which no import is one, are not walked."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        parts = getattr(node, field, ())
        for part in parts if isinstance(parts, list) else ():
            yield part
            yield from _statements(part)


def _nearest(name: str, files: Mapping[str, Path]) -> str:
    """The module of ours that a dotted name stands in; "" for none."""
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name


def circles(graph: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """Groups of modules that import each other, each sorted; the smallest first (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(one: str) -> None:
        index[one] = low[one] = len(index)
        stack.append(one)
        for other in graph[one]:
            if other not in index:
                visit(other)
            if other in stack:
                low[one] = min(low[one], low[other])
        if low[one] == index[one]:
            group = stack[stack.index(one) :]
            del stack[stack.index(one) :]
            if len(group) > 1:
                found.append(sorted(group))

    for one in graph:
        if one not in index:
            visit(one)
    return sorted(found, key=len)
