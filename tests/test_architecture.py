"""Rules of the code: who may write, connect, parse and round."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests.support.import_graph import is_part, module_name, sources
from tests.support.source import parse_source

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("crowdqc", "annotation", "evaluation")
# A method may use these and nothing else.
PURE = {"numpy", "scipy", "sklearn", "snowballstemmer", "evaluation.methods"}
WORDS = "crowdqc.web.words"  # how words are counted, with nothing but the standard library
STANDARD_IMPURE = {"random", "time", "datetime", "os", "socket", "subprocess", "secrets"}


@dataclass
class Found:
    """What the rules look at in a file, with the line of each."""

    imports: list[str] = field(default_factory=list)  # absolute, wherever in the file
    eager: list[str] = field(default_factory=list)  # those at its top level
    calls: list[tuple[int, str, str]] = field(default_factory=list)  # owner and method that writes
    numbers: list[tuple[int, str]] = field(default_factory=list)  # made of no constant
    attributes: list[tuple[int, str]] = field(default_factory=list)  # of LOOKED_AT
    aliases: list[tuple[int, str]] = field(default_factory=list)  # names that imports take


WRITES = {
    "create",
    "bulk_create",
    "bulk_update",
    "update",
    "delete",
    "get_or_create",
    "save",
    "update_or_create",
    "select_for_update",
}
LOOKED_AT = {"writer", "DictWriter", "to_csv", "loads", "load", "quantize", "DecimalField"}


@cache
def read(path: Path) -> Found:
    """One walk through a file for all rules: parsing every file anew for each took most of them."""
    found, tree = Found(), parse_source(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.imports += modules(node)
            found.aliases += [(alias.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.Attribute):
            if node.attr in LOOKED_AT:
                found.attributes.append((node.lineno, ast.unparse(node)))
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Attribute) and called.attr in WRITES:
                found.calls.append((node.lineno, ast.unparse(called.value), called.attr))
            elif (
                isinstance(called, ast.Name)
                and called.id in {"int", "float", "Decimal"}
                and not all(isinstance(one, ast.Constant) for one in node.args)
            ):
                found.numbers.append((node.lineno, ast.unparse(node)))
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.eager += modules(node)
    return found


def modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Modules that a statement imports; the linter allows absolute imports only."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""]


def imports(path: Path) -> list[str]:
    """Modules that a file imports, absolute, wherever in the file."""
    return read(path).imports


# Who may open connections to other hosts, and why. ``socket`` is looked at by its use.
NETWORK = {
    "httpx",
    "httpx2",
    "httpcore",
    "httpcore2",
    "requests",
    "urllib3",
    "aiohttp",
    "http.client",
    "urllib.request",
    "ftplib",
    "telnetlib",
    "xmlrpc.client",
    "boto3",
    "botocore",
    "storages",
}
CONNECTS = {
    "crowdqc/files/s3.py": "the installation's own bucket (ADR 32)",
    "crowdqc/outbound/__init__.py": "the one client",
    "crowdqc/outbound/transport.py": "the one client",
    "crowdqc/devstack/probe.py": "asks the web process of its own container whether it is alive",
    "annotation/accounts/signing/sso.py": "hands the one client to allauth (ADR 15)",
}
OPENAI = {"evaluation/llm/client.py"}  # handed the client of crowdqc.outbound
SOCKETS = {
    "crowdqc/outbound/addresses.py": "looks names up",
    "crowdqc/outbound/certificate.py": "shakes hands with this site's own address",
    "crowdqc/devstack/postgres.py": "a unix socket",
    "crowdqc/devstack/supervisor.py": "listens, and asks its own web process",
    "crowdqc/web/server.py": "looks at what came on its own connections",
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
            if top in PURE or name.startswith(("evaluation.methods", WORDS)) or top == "__future__":
                continue
            assert top in sys.stdlib_module_names, f"{path.name} imports {name}"
            assert top not in STANDARD_IMPURE, f"{path.name} imports {name}"
        text = path.read_text()
        assert "np.random.seed" not in text
        assert "default_rng()" not in text, f"{path.name} makes its own randomness"


@pytest.mark.parametrize("layer", ["views", "api", "selectors"])
def test_only_actions_write(layer: str) -> None:
    """Views, API and selectors call no method that writes rows."""
    wrong, seen = [], 0
    for path in sources("annotation", "evaluation"):
        if not is_part(module_name(path), layer):
            continue
        seen += 1
        wrong += [
            f"{path.relative_to(ROOT)}:{line} {owner}.{method}"
            for line, owner, method in read(path).calls
            if "objects" in owner or method == "save"
        ]
    assert seen > 10 and not wrong


def test_torch_is_imported_only_where_texts_become_vectors() -> None:
    eager = [
        str(path.relative_to(ROOT))
        for path in sources(*PACKAGES)
        if {name.split(".")[0] for name in read(path).eager} & {"torch", "sentence_transformers"}
    ]
    assert not eager


def test_templates_hold_no_inline_script_or_style() -> None:
    wrong = []
    for path in sorted((ROOT / "templates").rglob("*.html")):
        text = path.read_text()
        if path.name == "report.html":  # a file of its own, never opened under the app's policy
            text = text.replace("<style>", "", 1).replace("<style data-drawings>", "", 1)
        if " style=" in text or "<style" in text or " onclick=" in text or "javascript:" in text:
            wrong.append(str(path.relative_to(ROOT)))
        for chunk in text.split("<script")[1:]:
            opening = chunk.split(">", 1)[0]
            if "src=" not in opening and 'type="application/json"' not in opening:
                wrong.append(str(path.relative_to(ROOT)))
    assert not wrong


def test_csv_is_written_in_one_place() -> None:
    """So that no cell of any file becomes a formula."""
    used, taken = {"writer", "DictWriter", "to_csv"}, {"writer", "DictWriter", "xlsxwriter"}
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sources(*PACKAGES)
        if path.relative_to(ROOT).as_posix()
        not in ("crowdqc/files/cells.py", "annotation/files/writing/xlsx.py")
        for line, name in (*read(path).attributes, *read(path).aliases)
        if name.rpartition(".")[2] in used or name in taken
    ]
    assert not wrong, "use crowdqc.files.cells.csv_lines"


ENTRY = ("annotation.accounts.signing", "annotation.accounts.security")


def from_outside() -> list[Path]:
    """Return files that read requests and platforms: views, API and forms, and all of crowdqc."""
    apps = [
        path
        for path in sources("annotation", "evaluation")
        if is_part(module_name(path), "views", "api", "forms", "platforms")
        or module_name(path).startswith(ENTRY)
    ]
    return [*apps, *sources("crowdqc")]


# Numbers of our own, and of files that only a manager's command reads.
INSIDE = (
    "crowdqc/money.py",
    "crowdqc/numbers.py",
    "crowdqc/files/json_input.py",
    "crowdqc/devstack",
    "crowdqc/jobs/broker.py",
    "crowdqc/proxy",
    "crowdqc/outbound/addresses.py",
    "crowdqc/web/bodies.py",
    "crowdqc/jobs/family.py",
    "crowdqc/jobs/workers.py",
    "crowdqc/metrics",
    "crowdqc/web/server.py",
    "annotation/recruitment/platforms",
)


def test_numbers_from_outside_are_read_by_the_bounded_parser() -> None:
    """A request's text becomes a number through crowdqc.numbers (whole, exact, real)."""
    wrong = []
    for path in from_outside():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(INSIDE):
            continue
        wrong += [
            f"{name}:{line} {made}"
            for line, made in read(path).numbers
            if "time()" not in made  # our own clock
        ]
    assert not wrong


READS_MONEY = ("crowdqc/money.py", "crowdqc/web/fields.py")
MEASURES = ("annotation/task_types/labels/rules.py", "annotation/task_types/known.py")


def test_amounts_are_read_and_rounded_in_one_place() -> None:
    """A second reader would book "1,250" as something else; ``as_decimal`` is for our own rows."""
    outside = set(from_outside())
    wrong = []
    for path in sources(*PACKAGES):
        name, found = path.relative_to(ROOT).as_posix(), read(path)
        if name in (*READS_MONEY, *MEASURES) or "/migrations/" in name:
            continue
        wrong += [f"{name}:{line} {made}" for line, made in found.numbers if "Decimal(" in made]
        wrong += [
            f"{name}:{line} {made}"
            for line, made in found.attributes
            if made.endswith((".quantize", "forms.DecimalField", "serializers.DecimalField"))
        ]
        if path in outside and name != "crowdqc/numbers.py":
            wrong += [f"{name}:{line}" for line, alias in found.aliases if alias == "as_decimal"]
    assert not wrong, "use crowdqc.money or the fields of crowdqc.web.fields"


def test_json_from_outside_is_read_by_the_bounded_reader() -> None:
    """Requests and files go through crowdqc.files.json_input."""
    own = (
        "crowdqc/files/json_input.py",
        "annotation/api/frame/endpoint.py",
        "crowdqc/devstack",
        "crowdqc/jobs/broker.py",
        "annotation/accounts/signing/outbox.py",
        "annotation/recruitment/platforms/entry_tokens.py",
        "annotation/recruitment/platforms/prolific.py",
        "annotation/files/reading/child.py",  # what our own process writes
        "annotation/files/reading/child_process.py",
    )
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in [
            *from_outside(),
            *sources("annotation/files", "annotation/formats/imports", "evaluation/llm"),
        ]
        if not path.relative_to(ROOT).as_posix().startswith(own)
        for line, name in read(path).attributes
        if name in {"json.loads", "json.load"}
    ]
    assert not wrong


QUANTILES = re.compile(r"stdtrit|ndtri\b|\bt\.(?:ppf|isf)|norm\.(?:ppf|isf)")


def test_quantiles_of_intervals_come_from_one_place() -> None:
    """Elsewhere a t quantile over a count of clusters says too much where activity is uneven."""
    wrong = {
        str(path.relative_to(ROOT))
        for path in sources("evaluation")
        if QUANTILES.search(path.read_text())
    }
    assert wrong == {"evaluation/methods/core/inference.py", *QUANTILES_LEFT}


# Still to go through inference.py; nothing is added.
QUANTILES_LEFT = {}
