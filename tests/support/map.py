"""``make map``: the house as a drawing and a table, made from its own imports and docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from xml.sax.saxutils import escape

from tests.support.import_graph import ROOT, import_graph
from tests.support.rooms import ROOMS, is_wiring, room_of

DRAWING, PAGE = ROOT / "docs" / "develop" / "map.svg", ROOT / "docs" / "develop" / "map.md"
BEGIN, END = "<!-- rooms: made by make map -->", "<!-- end of rooms -->"
SIDES = {"crowdqc": "#8a6d3b", "annotation": "#0b6470", "evaluation": "#5b3f8c"}
ROW, LEFT, WIDTH, SCALE = 26, 230, 980, 100  # SCALE: lines of code a pixel


def lines_of(room: str) -> int:
    """Lines of Python in a room."""
    top = ROOT / room.replace(".", "/")
    files = [top.with_suffix(".py")] if top.with_suffix(".py").exists() else top.rglob("*.py")
    return sum(len(one.read_text().splitlines()) for one in files)


def sentence_of(room: str) -> str:
    """The first paragraphs of a room's docstring as one line."""
    top = ROOT / room.replace(".", "/")
    file = top.with_suffix(".py") if top.with_suffix(".py").exists() else top / "__init__.py"
    return " ".join((ast.get_docstring(ast.parse(file.read_text())) or "").split())


def imports_between() -> dict[str, set[str]]:
    """Room -> rooms that it imports, wiring left out."""
    found: dict[str, set[str]] = {room: set() for room in ROOMS}
    for name, others in import_graph().items():
        if not is_wiring(name):
            found[room_of(name)] |= {room_of(other) for other in others if not is_wiring(other)}
    return {room: others - {room} for room, others in found.items()}


def drawing() -> str:
    """The rooms from the ground up: a bar for the lines of each, an arc for what it imports."""
    between, height = imports_between(), ROW * len(ROOMS) + 40
    at = {room: height - 30 - ROW * place for place, room in enumerate(ROOMS)}
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            'font-family="sans-serif" font-size="13">',
            "<title>The rooms of crowdqc, each importing from those below it</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
            *_arcs(between, at),
            *_bars(at),
            "</svg>\n",
        ]
    )


def _bars(at: dict[str, int]) -> Iterator[str]:
    for room, y in at.items():
        lines, colour = lines_of(room), SIDES[room.partition(".")[0]]
        yield f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(room)}</text>'
        yield (
            f'<rect x="{LEFT}" y="{y - 7}" width="{max(2, lines / SCALE):.0f}" height="14" '
            f'fill="{colour}"/>'
        )
        x = LEFT + lines / SCALE + 6
        yield f'<text x="{x:.0f}" y="{y + 4}" fill="#555" font-size="11">{lines:,}</text>'


def _arcs(between: dict[str, set[str]], at: dict[str, int]) -> Iterator[str]:
    start = LEFT + 330
    for room, others in between.items():
        for other in sorted(others):
            reach = 20 + abs(at[room] - at[other]) * 0.3
            yield (
                f'<path d="M{start} {at[room]} q{reach:.0f} {(at[other] - at[room]) / 2:.0f} 0 '
                f'{at[other] - at[room]}" fill="none" stroke="{SIDES[room.partition(".")[0]]}" '
                'stroke-opacity=".25"/>'
            )


def table() -> str:
    """The rooms in their order, as a table."""
    rows = [f"| `{room.replace('.', '/')}` | {sentence_of(room)} |" for room in ROOMS]
    return "\n".join([BEGIN, "", "| room | what is in it |", "|---|---|", *rows, "", END])


def main() -> None:
    """Write the drawing, and the table into its page."""
    DRAWING.write_text(drawing())
    page = PAGE.read_text()
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    PAGE.write_text(before + table() + after)


if __name__ == "__main__":
    main()
