"""Where things live: rooms and their order (docs/adr/infrastructure/0025-packages-and-imports)."""

from __future__ import annotations

import ast
import re
from collections import Counter

from annotation.task_types import TYPES
from tests.support.import_graph import PACKAGES, ROOT, circles, import_graph, sources
from tests.support.rooms import DOORS, UPWARDS, floor, is_wiring, room_of

LONGEST_LINE = 200  # of a template


def test_no_file_imports_itself_over_others() -> None:
    """Lazy imports and those for types count: a circle is one whenever it is looked at."""
    assert circles(import_graph()) == []


def test_rooms_import_only_downwards() -> None:
    """In the one order of ``tests/support/rooms.py``; what does not yet is listed, and no more."""
    upwards = {
        (name, other)
        for name, others in import_graph().items()
        for other in others
        if "." in other and floor(other) > floor(name)
    }
    assert upwards == set(UPWARDS)


def test_the_ground_imports_neither_side_and_collecting_never_judging() -> None:
    wrong = []
    for name, others in import_graph().items():
        below = {"crowdqc": ("annotation", "evaluation"), "annotation": ("evaluation",)}
        forbidden = below.get(name.partition(".")[0], ())
        wrong += [(name, other) for other in others if other.partition(".")[0] in forbidden]
    assert wrong == []


def test_collecting_does_not_name_judging_in_a_string() -> None:
    """Nor does the ground, but for the addresses and settings that tie all together."""
    wiring = {
        "crowdqc/urls.py",
        "crowdqc/settings.py",
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


def test_judging_opens_no_door_of_collecting_but_the_frame_of_its_api() -> None:
    wrong = [
        (name, other)
        for name, others in import_graph().items()
        if name.startswith("evaluation.") and not is_wiring(name)
        for other in others
        if other.startswith("annotation.")
        and set(other.split(".")[1:]) & {*DOORS} - {"forms"}
        and room_of(other) != "annotation.api"
    ]
    assert wrong == []


def test_a_line_of_a_template_can_be_read_without_scrolling() -> None:
    """Mails are let be: a line of theirs is a line that people read."""
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "templates").rglob("*.html"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONGEST_LINE
    ]
    assert long == []


def test_every_template_and_style_that_is_named_is_there() -> None:
    """A name in full, between quotes; allauth brings its own for messages."""
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


# Where code still asks a task which type it is, and how often; nothing is added here (rule 6).
ASKING_TYPES = {
    "annotation/formats/actions/published/rows.py": 1,  # a study says which of two types it is
}


def asks_for_type(node: ast.AST) -> bool:
    """Whether code compares the shape or the type of a task with a name of one."""
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    asked = {side.attr for side in sides if isinstance(side, ast.Attribute)}
    asked |= {side.id for side in sides if isinstance(side, ast.Name)}
    named = {
        part.value
        for side in sides
        for part in ast.walk(side)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }
    shapes = {one.shape for one in TYPES.values()}
    of_shape = "shape" in asked and bool(named & shapes or {"SHAPE", "SHAPES"} & asked)
    return of_shape or ("type" in asked and bool(named & set(TYPES)))


def test_no_code_asks_a_task_which_type_it_is() -> None:
    found = Counter[str]()
    names = "|".join({*TYPES, *(one.shape for one in TYPES.values())})
    may_ask = re.compile(rf"""["'](?:{names})["']|\bSHAPES?\b""")  # parsing all takes seconds
    for path in sources("annotation", "evaluation"):
        text = path.read_text()
        if "task_types" not in path.parts and may_ask.search(text):
            nodes = ast.walk(ast.parse(text))
            found[str(path.relative_to(ROOT))] += sum(map(asks_for_type, nodes))
    assert +found == Counter(ASKING_TYPES)
    pages = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "templates").rglob("*.html"))
        if re.search(r"\{%[^%]*\b(type\.shape|build\.shape|task\.type) *[!=]=", path.read_text())
    ]
    assert pages == []
