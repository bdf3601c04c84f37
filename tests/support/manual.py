"""What the documentation is generated from: settings, commands, methods and the API's schema.

``docs/conf.py`` puts each part where a page says ``<!-- generated: NAME -->``;
``tests/test_docs.py`` compares the same parts with the code.
"""

from __future__ import annotations

import ast
import json
import re
from argparse import SUPPRESS
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdqc.web.terms import MONEY, STATISTICS, Term
from tests.studies.coverage.table import misses, tables
from tests.studies.papers import PAPERS, counts_part, paper_part
from tests.support.source import parse_source

ROOT = Path(__file__).resolve().parent.parent.parent
CODE = ("crowdqc", "annotation", "evaluation")
READERS = {"dict", "str", "int", "bool", "float", "list", "email", "get"}
MAY_READ = re.compile(r"\benv\b|\benviron\b|\b_required\b")
SETTING = re.compile(r"^(# )?([A-Z][A-Z0-9_]+)=(.*)$")


@dataclass(frozen=True)
class Setting:
    """A variable of .env.example; ``passed``: docker-compose.yml hands it on."""

    section: str
    name: str
    default: str
    text: str
    passed: bool


def settings() -> list[Setting]:
    """The variables of .env.example, in order."""
    text = (ROOT / "docker-compose.yml").read_text()
    compose = set(re.findall(r"\$\{([A-Z0-9_]+)", text)) | set(
        re.findall(r"^    ([A-Z0-9_]+):$", text, re.MULTILINE)  # as .env has it, or not set
    )
    found, section, words = [], "", []
    for line in (ROOT / ".env.example").read_text().splitlines():
        if match := re.match(r"^# == (.+) ==$", line):
            section, words = match[1], []
        elif match := SETTING.match(line):
            name, default = match[2], match[3]
            found.append(Setting(section, name, default, " ".join(words), name in compose))
            words = []
        elif line.startswith("# "):
            words.append(line[2:])
        else:
            words = []
    return found


def settings_in_code() -> dict[str, Any]:
    """Variables that the code reads, with their default; None where it is not a plain value."""
    found: dict[str, Any] = {}
    for top in CODE:
        for path in sorted((ROOT / top).rglob("*.py")):
            text = path.read_text()
            if not MAY_READ.search(text):  # most do not, and parsing all takes seconds
                continue
            for node in ast.walk(parse_source(text)):
                for name, default in _reads(node):
                    found[name] = found.get(name) if default is None else default
    return found


def _reads(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """The variable that this expression reads, if it reads one."""
    if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
        return
    name, called = node.args[0].value, ast.unparse(node.func)
    reads = called == "_required" or (
        called.rpartition(".")[0] in {"env", "environ", "os.environ"}
        and called.rpartition(".")[2] in READERS
    )
    if not reads or not isinstance(name, str) or not name.isupper():
        return
    given = [one.value for one in node.keywords if one.arg == "default"] + node.args[1:2]
    yield name, _plain(given[0]) if given else None


def _plain(node: ast.expr) -> Any:
    """A constant, or a product of them; None for what only the program knows."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _plain(node.left) * _plain(node.right)
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def settings_page() -> str:
    """A table a section of .env.example."""
    lines, section = [], ""
    for one in settings():
        if one.section != section:
            section = one.section
            lines += ["", f"## {section}", "", "| variable | default | what it does |"]
            lines.append("|---|---|---|")
        handed = "" if one.passed or section.startswith("For dev") else " \\*"
        default = f"`{one.default}`" if one.default else "empty"
        lines.append(f"| `{one.name}`{handed} | {default} | {_escape(one.text)} |")
    return "\n".join(lines)


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def commands() -> dict[str, Any]:
    """Our management commands by name."""
    from django.core.management import get_commands, load_command_class

    return {
        name: load_command_class(app, name)
        for name, app in sorted(get_commands().items())
        if str(app) in {"crowdqc", "annotation", "evaluation"}
    }


def commands_page() -> str:
    """A section a command: what it does and its arguments."""
    lines = []
    for name, command in commands().items():
        lines += ["", f"## {name}", "", _escape(" ".join(str(command.help).split())), ""]
        parser = command.create_parser("manage.py", name)
        for action in parser._actions:
            shared = action.dest in SHARED or action.help == SUPPRESS
            if not shared:
                names = ", ".join(f"`{one}`" for one in action.option_strings or [action.dest])
                text = _escape((action.help or "").replace("%%", "%"))
                if action.choices:
                    text += " One of " + ", ".join(f"`{one}`" for one in action.choices) + "."
                lines.append(f"- {names}" + (f": {text.strip()}" if text else ""))
    return "\n".join(lines)


# Options that Django gives to every command.
SHARED = {
    "help", "version", "verbosity", "settings", "pythonpath", "traceback",
    "no_color", "force_color", "skip_checks",
}  # fmt: skip


def methods_page() -> str:
    """A section a method of the registry that can be started by itself: its options."""
    from evaluation.methods.registry import METHODS

    lines = []
    for slug, method in METHODS.items():
        lines += ["", f"## {_escape(str(method.title))}", ""]
        lines.append(f"`{slug}`, version {method.version}." + (
            f" Not started by itself: {method.internal}." if method.internal else ""
        ))  # fmt: skip
        if options := method.options.options:
            lines += ["", "| option | default | what it does |", "|---|---|---|"]
            lines += [
                f"| `{one.name}` | {_value(one.default)} | {_escape(_option_text(one))} |"
                for one in options
            ]
    return "\n".join(lines)


def _option_text(one: Any) -> str:
    return " ".join(filter(None, (one.label and f"{one.label}.", one.help)))


def _value(value: Any) -> str:
    return "none" if value is None else f"`{value}`"


def api_page() -> str:
    """A section a tag of the schema: each operation, what it takes and what it needs."""
    from drf_spectacular.generators import SchemaGenerator

    schema = SchemaGenerator().get_schema(request=None, public=True)
    by_tag: dict[str, list[str]] = {}
    for path, item in schema["paths"].items():
        for verb, operation in item.items():
            tag = (operation.get("tags") or ["other"])[0]
            by_tag.setdefault(tag, []).extend(_operation(verb, path, operation, schema))
    return "\n".join(line for tag in sorted(by_tag) for line in ("", f"## {tag}", *by_tag[tag]))


def _operation(verb: str, path: str, operation: Any, schema: Any) -> list[str]:
    text = " ".join((operation.get("description") or operation.get("summary") or "").split())
    lines = ["", f"`{verb.upper()} {path}`", ""]
    if text:
        lines += [_escape(text), ""]
    query = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
    lines += [
        f"- `?{one['name']}=` {_escape(' '.join(one.get('description', '').split()))}".rstrip()
        for one in query
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    name = body.get("schema", {}).get("$ref", "").rpartition("/")[2]
    fields = schema["components"]["schemas"].get(name, {})
    needed = set(fields.get("required", ()))
    if fields.get("properties"):
        listed = ", ".join(
            f"`{field}`" + ("" if field in needed else " (optional)")
            for field in fields["properties"]
        )
        lines.append(f"- Body: {listed}")
    return lines


def events_page() -> str:
    """A row an event that webhooks are sent for."""
    from annotation.notifications.actions.webhooks import EVENTS

    return "\n".join(
        [
            "| event | when |",
            "|---|---|",
            *(f"| `{name}` | {text} |" for name, text in EVENTS.items()),
        ]
    )


@dataclass(frozen=True)
class Rail:
    """What stands beside a method's page: terms with usual values, versions, pages, places."""

    terms: list[Term]
    versions: list[tuple[str, str]]
    related: list[str]
    used: str


def rail(meta: Mapping[str, str]) -> Rail | None:
    """What the head of a page asks for: ``terms``, ``methods``, ``related`` and ``used``."""
    from evaluation.methods.registry import METHODS

    if "used" not in meta:
        return None
    methods = [METHODS[slug] for slug in meta.get("methods", "").split()]
    return Rail(
        terms=[STATISTICS[slug] for slug in meta.get("terms", "").split()],
        versions=[(str(one.title), one.version) for one in methods if one.version],
        related=meta["related"].split(),
        used=meta["used"],
    )


def terms_page(terms: Mapping[str, Term]) -> str:
    """The table of terms that pages explain behind a "?"."""
    rows = ["| term | what it is | usual values | in code |", "|---|---|---|---|"]
    for term in terms.values():
        usual = "; ".join(f"{value}: {meaning}" for value, meaning in term.usual)
        rows.append(f"| [{term.title}]({term.page}) | {term.what} | {usual} | {term.code} |")
    return "\n".join(rows)


# Which rows of the coverage study each method's page shows.
COVERAGE = {
    "agreement": ("alpha", "percent agreement"),
    "bradley-terry": ("Bradley-Terry by judge", "board by topic and judge"),
    "live": ("live, every look",),
    "ratings": ("mean rating of a system", "change of tau by rescaling"),
    "checklists": ("two checklist scorings", "checklist correlation"),
    "aqer": ("AQER, workers",),
    "replacement": ("alternative test at the margin",),
    "estimates": ("prediction-powered mean", "corrected share (Rogan-Gladen)"),
    "labels": ("competence (labels)", "label shown (95 % set)"),
    "mace": ("competence (MACE)",),
}


def faults_page() -> str:
    """The table of faults with the figures of ``python -m tests.studies.faults``."""
    found = json.loads((ROOT / "docs" / "admin" / "faults.json").read_text())
    dates = " and ".join(sorted({one["date"] for one in found["faults"].values()}))
    lines = [
        f"Measured on {dates} with {found['people']} clients on {found['cores']} cores "
        "that had other work as well. Times are in seconds.",
        "",
        "| fault | what is seen | lasted | answers taken | requests refused | lost | doubled "
        "| longest wait | worst `/healthz` | worst `/readyz` | work again after | besides |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in found["faults"].values():
        figures = [
            round(one["lasted"]),
            one["submits"],
            one["refused"],
            one["lost"],
            one["doubled"],
        ]
        figures += [f"{one[name]:.2f}" for name in ("longest", "healthz", "readyz", "back")]
        cells = [one["name"], one["seen"], *map(str, figures), "; ".join(one["notes"])]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


PARTS: dict[str, Callable[..., str]] = (
    {
        "terms of statistics": lambda: terms_page(STATISTICS),
        "terms of money": lambda: terms_page(MONEY),
        "events": events_page,
        "faults": faults_page,
        "settings": settings_page,
        "commands": commands_page,
        "methods": methods_page,
        "api": api_page,
        "coverage": tables,
        "coverage misses": misses,
        "papers": counts_part,
    }
    | {f"papers of {paper}": lambda paper=paper: paper_part(paper) for paper in PAPERS}
    | {
        f"coverage of {name}": lambda methods=methods: tables(methods, level=3)
        for name, methods in COVERAGE.items()
    }
)
