"""The rules of the house, read from the code itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("crowdqc", "annotation", "evaluation")
MAX_FILE, MAX_FUNCTION = 400, 60
# A method may use these and nothing else.
PURE = {"numpy", "scipy", "evaluation.methods"}
STANDARD_IMPURE = {"random", "time", "datetime", "os", "socket", "subprocess", "secrets"}


def sources(*parts: str) -> Iterator[Path]:
    for part in parts:
        for path in sorted((ROOT / part).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path


def imports(path: Path) -> Iterator[str]:
    """Modules that a file imports, absolute, wherever in the file."""
    package = path.relative_to(ROOT).parent.as_posix().replace("/", ".")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = package.split(".")[: len(package.split(".")) - node.level + 1]
                yield ".".join([*base, node.module or ""]).rstrip(".")
            else:
                yield node.module or ""


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in sources(*PACKAGES, "tests")
        if (count := len(path.read_text().splitlines())) > MAX_FILE
    }
    assert not long


def test_no_function_is_longer_than_a_page() -> None:
    long = {}
    for path in sources(*PACKAGES):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > MAX_FUNCTION:
                    long[f"{path.relative_to(ROOT)}:{node.name}"] = length
    assert not long


def test_collecting_never_imports_judging() -> None:
    wrong = [
        (str(path.relative_to(ROOT)), name)
        for path in sources("annotation")
        for name in imports(path)
        if name.split(".")[0] == "evaluation"
    ]
    assert not wrong


def test_methods_are_pure() -> None:
    import sys

    for path in sources("evaluation/methods"):
        for name in imports(path):
            top = name.split(".")[0]
            if top in PURE or name.startswith("evaluation.methods") or top == "__future__":
                continue
            assert top in sys.stdlib_module_names, f"{path.name} imports {name}"
            assert top not in STANDARD_IMPURE, f"{path.name} imports {name}"
        text = path.read_text()
        assert "np.random.seed" not in text
        assert "default_rng()" not in text, f"{path.name} makes its own randomness"


@pytest.mark.parametrize("layer", ["views", "api", "selectors"])
def test_only_actions_write(layer: str) -> None:
    """Views, API and selectors call no method that writes rows."""
    writes = {"create", "bulk_create", "bulk_update", "update", "delete", "get_or_create", "save",
              "update_or_create", "select_for_update"}  # fmt: skip
    wrong = []
    for path in sources(f"annotation/{layer}", f"evaluation/{layer}"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            owner = ast.unparse(node.func.value)
            if node.func.attr in writes and ("objects" in owner or node.func.attr == "save"):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {owner}.{node.func.attr}")
    assert not wrong


def test_torch_is_imported_only_where_texts_become_vectors() -> None:
    eager = []
    for path in sources(*PACKAGES):
        for node in ast.parse(path.read_text()).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else (
                [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            )  # fmt: skip
            if any(n.split(".")[0] in {"torch", "sentence_transformers"} for n in names):
                eager.append(str(path.relative_to(ROOT)))
    assert not eager


def test_templates_hold_no_inline_script_or_style() -> None:
    wrong = []
    for path in sorted((ROOT / "templates").rglob("*.html")):
        text = path.read_text()
        if " style=" in text or "<style" in text or " onclick=" in text or "javascript:" in text:
            wrong.append(str(path.relative_to(ROOT)))
        for chunk in text.split("<script")[1:]:
            opening = chunk.split(">", 1)[0]
            if "src=" not in opening and 'type="application/json"' not in opening:
                wrong.append(str(path.relative_to(ROOT)))
    assert not wrong
