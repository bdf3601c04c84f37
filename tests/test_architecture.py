"""The rules of the house, read from the code itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("crowdqc", "annotation", "evaluation")
MAX_FILE, MAX_FUNCTION = 500, 60
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


# Who may open connections to other hosts, and why. ``socket`` is looked at by its use.
NETWORK = {"httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3", "aiohttp",
           "http.client", "urllib.request", "ftplib", "telnetlib", "xmlrpc.client"}  # fmt: skip
CONNECTS = {
    "crowdqc/outbound/__init__.py": "the one client",
    "crowdqc/outbound/transport.py": "the one client",
    "crowdqc/devstack/supervisor.py": "asks its own web process whether it is ready",
    "crowdqc/devstack/probe.py": "asks the web process of its own container whether it is alive",
    "annotation/accounts/sso.py": "the provider that the installation's owner named (ADR 15)",
}
OPENAI = {"evaluation/llm/client.py"}  # handed the client of crowdqc.outbound
SOCKETS = {
    "crowdqc/addresses.py": "looks names up",
    "crowdqc/devstack/postgres.py": "a unix socket",
    "crowdqc/devstack/supervisor.py": "listens",
}


def test_other_systems_are_called_by_the_one_outbound_client() -> None:
    """Deadline, size limit and checked address hold for a call only if it is made there (B9)."""
    wrong = []
    for path in sources(*PACKAGES):
        name = str(path.relative_to(ROOT))
        for module in imports(path):
            tops = {module, module.split(".")[0]}
            if tops & NETWORK and name not in CONNECTS:
                wrong.append(f"{name} imports {module}")
            if "socket" in tops and name not in SOCKETS:
                wrong.append(f"{name} imports {module}")
            if "openai" in tops and name not in OPENAI:
                wrong.append(f"{name} imports {module}")
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
    for path in sources("annotation", "evaluation"):
        if layer not in path.relative_to(ROOT).with_suffix("").parts:
            continue  # a room has its own
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


def test_csv_is_written_in_one_place() -> None:
    """So that no cell of any file becomes a formula."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sources(*PACKAGES)
        if path.relative_to(ROOT).as_posix() != "crowdqc/cells.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Attribute) and node.attr in {"writer", "DictWriter", "to_csv"})
        or (isinstance(node, ast.alias) and node.name in {"writer", "DictWriter", "xlsxwriter"})
    ]
    assert not wrong, "use crowdqc.cells.csv_lines"


OUTSIDE = (
    "annotation/views", "annotation/api", "evaluation/views", "annotation/recruit",
    "annotation/accounts", "crowdqc",
)  # fmt: skip
# Numbers of our own, and of files that only a manager's command reads.
INSIDE = ("crowdqc/numbers.py", "crowdqc/json_input.py", "crowdqc/devstack", "crowdqc/broker.py",
          "crowdqc/context.py", "crowdqc/proxy", "crowdqc/addresses.py", "crowdqc/bodies.py",
          "crowdqc/workers.py", "annotation/recruit")  # fmt: skip


def test_numbers_from_outside_are_read_by_the_bounded_parser() -> None:
    """A request's text becomes a number through crowdqc.numbers (whole, exact, real)."""
    wrong = []
    apis = [path for path in sources("evaluation") if path.name.startswith("api")]
    for path in [*sources(*OUTSIDE), *apis]:
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(INSIDE):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in {"int", "float", "Decimal"}
                and not all(isinstance(one, ast.Constant) for one in node.args)
                and "time()" not in ast.unparse(node)  # our own clock
            ):
                wrong.append(f"{name}:{node.lineno} {ast.unparse(node)}")
    assert not wrong


def test_json_from_outside_is_read_by_the_bounded_reader() -> None:
    """Requests and files go through crowdqc.json_input."""
    own = ("crowdqc/json_input.py", "crowdqc/endpoint.py", "crowdqc/devstack", "crowdqc/broker.py",
           "annotation/accounts/outbox.py",
           "annotation/recruit/vouched.py", "annotation/recruit/prolific.py")  # fmt: skip
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sources(*OUTSIDE, "annotation/imports", "evaluation/llm")
        if not path.relative_to(ROOT).as_posix().startswith(own)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {"json.loads", "json.load"}
    ]
    assert not wrong
