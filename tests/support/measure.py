"""How large the code is and how its results are written, beside an earlier commit.

``python -m tests.support.measure [--against COMMIT] [--root DIR]`` prints the measures of the
architecture page as a table.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.support.names import FUNCTION_WORDS, words_of
from tests.support.source import parse_source

ROOT = Path(__file__).resolve().parents[2]
TOPS = ("crowdqc", "annotation", "evaluation")
SENTENCE = 5  # words from which a string is one
TRANSLATES = {"_", "gettext", "ngettext", "gettext_lazy", "ngettext_lazy", "gettext_noop", "_t"}


def python_files(root: Path, tops: tuple[str, ...] = TOPS) -> Iterator[Path]:
    """Python files of the packages, migrations aside."""
    for top in tops:
        for path in sorted((root / top).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path


def count_lines(paths: Iterator[Path]) -> int:
    """Lines of files."""
    return sum(len(path.read_text().splitlines()) for path in paths)


def count_matches(paths: Iterator[Path], pattern: str) -> int:
    """Matches of a pattern in files."""
    found = re.compile(pattern)
    return sum(len(found.findall(path.read_text())) for path in paths)


def functions_of(root: Path) -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function and method."""
    for path in python_files(root):
        for node in ast.walk(parse_source(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node


def is_sentence(node: ast.AST) -> bool:
    """Whether a node is a string of several words."""
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and len(text.split()) >= SENTENCE


def composes_sentences(node: ast.AST) -> bool:
    """Whether a function holds two translated sentences or more, or joins one to others."""
    n = 0
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name | ast.Attribute):
            name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr
            n += name in TRANSLATES and any(is_sentence(one) for one in call.args)
    return n > 1


def count_composers(root: Path) -> int:
    """Functions that choose between sentences or glue them together."""
    return sum(composes_sentences(node) for _, node in functions_of(root))


def count_string_reads(root: Path) -> int:
    """Reads of a value by a string key in the evaluation package."""
    n = 0
    for path in python_files(root, ("evaluation",)):
        for node in ast.walk(parse_source(path.read_text())):
            is_read = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
            n += is_read and isinstance(getattr(node.slice, "value", None), str)
    return n


def count_sentence_assertions(root: Path) -> int:
    """Assertions of tests that hold a sentence."""
    n = 0
    for path in python_files(root, ("tests",)):
        for node in ast.walk(parse_source(path.read_text())):
            n += isinstance(node, ast.Assert) and any(is_sentence(one) for one in ast.walk(node))
    return n


def count_vague_names(root: Path) -> int:
    """Functions, methods and classes named by function words alone."""
    n = 0
    for path in python_files(root):
        for node in ast.walk(parse_source(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                n += FUNCTION_WORDS.issuperset(words_of(node.name))
    return n


def templates(root: Path) -> Iterator[Path]:
    """Templates of pages and mails."""
    return (root / "templates").rglob("*.html")


def stylesheets(root: Path) -> Iterator[Path]:
    """Our own stylesheets."""
    return (path for path in (root / "static").rglob("*.css") if "vendor" not in path.parts)


MEASURES: dict[str, Callable[[Path], int]] = {
    "Python lines without tests and migrations": lambda root: count_lines(python_files(root)),
    "Python lines of tests": lambda root: count_lines(python_files(root, ("tests",))),
    "dict[str, Any] in evaluation": lambda root: count_matches(
        python_files(root, ("evaluation",)), r"dict\[str, Any\]"
    ),
    "reads by string key in evaluation": count_string_reads,
    "<table in templates": lambda root: count_matches(templates(root), "<table"),
    "template lines": lambda root: count_lines(templates(root)),
    "functions that compose sentences": count_composers,
    "messages in catalogues": lambda root: count_matches(
        (root / "evaluation").rglob("messages.py"), r"\bMessage\("
    ),
    "test assertions that hold a sentence": count_sentence_assertions,
    "names of function words only": count_vague_names,
    "CSS lines": lambda root: count_lines(stylesheets(root)),
    "CSS files": lambda root: sum(1 for _ in stylesheets(root)),
    "Python files": lambda root: sum(1 for _ in python_files(root)),
}


def measure(root: Path) -> dict[str, int]:
    """Every measure of a tree."""
    return {name: function(root) for name, function in MEASURES.items()}


def checked_out(commit: str, folder: Path) -> Path:
    """Lay a commit's files into a folder."""
    made = subprocess.run(
        ["git", "archive", commit, "--", *TOPS, "tests", "templates", "static"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def main(arguments: list[str]) -> None:
    """Print the measures, beside those of another commit where one is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", default="", help="a commit to compare with")
    options = parser.parse_args(arguments)
    now = measure(ROOT)
    before: dict[str, int] = {}
    if options.against:
        with tempfile.TemporaryDirectory() as folder:
            before = measure(checked_out(options.against, Path(folder)))
    for name, value in now.items():
        earlier = f"{before[name]:>10,}" if name in before else ""
        print(f"{name:<44}{earlier}{value:>10,}")


if __name__ == "__main__":
    main(sys.argv[1:])
