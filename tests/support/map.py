"""``make map``: the packages as a diagram and a table, from their imports and docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from xml.sax.saxutils import escape

from tests.support.import_graph import ROOT, import_graph
from tests.support.packages import PACKAGE_ORDER, is_wiring, package_of
from tests.support.source import parse_source

DIAGRAM, PAGE = ROOT / "docs" / "develop" / "map.svg", ROOT / "docs" / "develop" / "map.md"
BEGIN, END = "<!-- packages: written by make map -->", "<!-- end of packages -->"
COLOURS = {"crowdqc": "#8a6d3b", "annotation": "#0b6470", "evaluation": "#5b3f8c"}
ROW, LEFT, WIDTH, SCALE = 26, 230, 980, 100  # SCALE: lines of code a pixel


def count_lines(package: str) -> int:
    """Count the lines of Python in a package."""
    top = ROOT / package.replace(".", "/")
    files = [top.with_suffix(".py")] if top.with_suffix(".py").exists() else top.rglob("*.py")
    return sum(len(one.read_text().splitlines()) for one in files)


def summarize(package: str) -> str:
    """Return the docstring of a package as one line."""
    top = ROOT / package.replace(".", "/")
    file = top.with_suffix(".py") if top.with_suffix(".py").exists() else top / "__init__.py"
    return " ".join((ast.get_docstring(parse_source(file.read_text())) or "").split())


def package_imports() -> dict[str, set[str]]:
    """Map each package to the packages that it imports, wiring left out."""
    imports: dict[str, set[str]] = {package: set() for package in PACKAGE_ORDER}
    for name, others in import_graph().items():
        if not is_wiring(name):
            imports[package_of(name)] |= {package_of(one) for one in others if not is_wiring(one)}
    return {package: others - {package} for package, others in imports.items()}


def draw_diagram() -> str:
    """Draw a bar for the lines of each package, lowest first, and an arc for each import."""
    between, height = package_imports(), ROW * len(PACKAGE_ORDER) + 40
    at = {package: height - 30 - ROW * place for place, package in enumerate(PACKAGE_ORDER)}
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            'font-family="sans-serif" font-size="13">',
            "<title>The packages of crowdqc, each importing from those below it</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
            *_arcs(between, at),
            *_bars(at),
            "</svg>\n",
        ]
    )


def _bars(at: dict[str, int]) -> Iterator[str]:
    for package, y in at.items():
        lines, colour = count_lines(package), COLOURS[package.partition(".")[0]]
        yield f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(package)}</text>'
        yield (
            f'<rect x="{LEFT}" y="{y - 7}" width="{max(2, lines / SCALE):.0f}" height="14" '
            f'fill="{colour}"/>'
        )
        x = LEFT + lines / SCALE + 6
        yield f'<text x="{x:.0f}" y="{y + 4}" fill="#555" font-size="11">{lines:,}</text>'


def _arcs(between: dict[str, set[str]], at: dict[str, int]) -> Iterator[str]:
    start = LEFT + 330
    for package, others in between.items():
        for other in sorted(others):
            colour = COLOURS[package.partition(".")[0]]
            rise = at[other] - at[package]
            reach = 20 + abs(at[package] - at[other]) * 0.3
            yield (
                f'<path d="M{start} {at[package]} q{reach:.0f} {rise / 2:.0f} 0 {rise}" '
                f'fill="none" stroke="{colour}" '
                'stroke-opacity=".25"/>'
            )


def write_table() -> str:
    """Write the packages in their order as a table."""
    rows = [f"| `{name.replace('.', '/')}` | {summarize(name)} |" for name in PACKAGE_ORDER]
    return "\n".join([BEGIN, "", "| package | contents |", "|---|---|", *rows, "", END])


def main() -> None:
    """Write the diagram, and the table into its page."""
    DIAGRAM.write_text(draw_diagram())
    page = PAGE.read_text()
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    PAGE.write_text(before + write_table() + after)


if __name__ == "__main__":
    main()
