"""Packages and the direction of imports (docs/adr/infrastructure/0025-packages-and-imports)."""

from __future__ import annotations

import ast
import re
from collections import Counter

from annotation.task_types import TYPES
from tests.support.import_graph import PACKAGES, ROOT, circles, import_graph, sources
from tests.support.packages import HTTP, UPWARD_IMPORTS, is_wiring, package_of, rank
from tests.support.source import parse_source

LONGEST_LINE = 200  # of a template


def test_files_have_no_import_cycles() -> None:
    """Lazy imports and imports for types count."""
    assert circles(import_graph()) == []


def test_packages_import_only_lower_packages() -> None:
    """The order and the exceptions are in ``tests/support/packages.py``."""
    upwards = {
        (name, other)
        for name, others in import_graph().items()
        for other in others
        if "." in other and rank(other) > rank(name)
    }
    assert upwards == set(UPWARD_IMPORTS)


def test_apps_import_only_lower_apps() -> None:
    wrong = []
    for name, others in import_graph().items():
        below = {"crowdqc": ("annotation", "evaluation"), "annotation": ("evaluation",)}
        forbidden = below.get(name.partition(".")[0], ())
        wrong += [(name, other) for other in others if other.partition(".")[0] in forbidden]
    assert wrong == []


def test_lower_apps_do_not_name_evaluation_in_strings() -> None:
    """Except in the URLs, settings and schedule of the project."""
    wiring = {
        "crowdqc/urls.py",
        "crowdqc/settings/api.py",
        "crowdqc/settings/web.py",
        "crowdqc/celery.py",
        "crowdqc/jobs/schedule.py",
    }
    wrong = [
        f"{path.relative_to(ROOT)}:{number}"
        for top in ("annotation", "crowdqc")
        for path in sorted((ROOT / top).rglob("*.py"))
        if path.relative_to(ROOT).as_posix() not in wiring
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if '"evaluation.' in line
    ]
    assert wrong == []


def test_evaluation_imports_no_http_module_of_annotation_but_its_api_frame() -> None:
    wrong = [
        (name, other)
        for name, others in import_graph().items()
        if name.startswith("evaluation.") and not is_wiring(name)
        for other in others
        if other.startswith("annotation.")
        and set(other.split(".")[1:]) & {*HTTP} - {"forms"}
        and package_of(other) != "annotation.api"
    ]
    assert wrong == []


def test_template_lines_are_short() -> None:
    """Mails are exempt: their lines are the lines that people read."""
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "templates").rglob("*.html"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONGEST_LINE
    ]
    assert long == []


def test_named_templates_and_stylesheets_exist() -> None:
    """Checks full names in quotes; allauth has its own for messages."""
    quoted = r"""["']((?:_includes|annotation|evaluation)/[\w/-]+\.html|css/[\w/-]+\.css)["']"""
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for top in (*PACKAGES, "templates")
        for path in sorted((ROOT / top).rglob("*"))
        if path.suffix in (".py", ".html")
        for name in re.findall(quoted, path.read_text())
        if not (ROOT / ("static" if name.startswith("css/") else "templates") / name).exists()
    ]
    assert missing == []


# Comparisons with a task's type that remain outside the task types; add none.
TYPE_COMPARISONS = {
    "annotation/formats/actions/published/rows.py": 1,  # a published study names one of two types
}


def is_type_comparison(node: ast.AST) -> bool:
    """Whether code compares the shape or the type of a task with a constant."""
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    attributes = {side.attr for side in sides if isinstance(side, ast.Attribute)}
    attributes |= {side.id for side in sides if isinstance(side, ast.Name)}
    constants = {
        part.value
        for side in sides
        for part in ast.walk(side)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }
    shapes = {one.shape for one in TYPES.values()}
    if "shape" in attributes and (constants & shapes or {"SHAPE", "SHAPES"} & attributes):
        return True
    return "type" in attributes and bool(constants & set(TYPES))


def test_code_does_not_compare_task_types() -> None:
    counts = Counter[str]()
    names = "|".join({*TYPES, *(one.shape for one in TYPES.values())})
    may_compare = re.compile(rf"""["'](?:{names})["']|\bSHAPES?\b""")  # parsing all takes seconds
    for path in sources("annotation", "evaluation"):
        text = path.read_text()
        if "task_types" not in path.parts and may_compare.search(text):
            nodes = ast.walk(parse_source(text))
            counts[str(path.relative_to(ROOT))] += sum(map(is_type_comparison, nodes))
    assert +counts == Counter(TYPE_COMPARISONS)
    pages = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "templates").rglob("*.html"))
        if re.search(r"\{%[^%]*\b(type\.shape|build\.shape|task\.type) *[!=]=", path.read_text())
    ]
    assert pages == []
