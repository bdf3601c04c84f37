"""Rankings as PrefLib counts them: ``12: 1,3,{2,4}`` below the names of the alternatives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from django.utils.translation import gettext as _

from annotation.files.reading.rows import MAX_SHOWN, Problem, Row

COLUMNS = ["count", "ranking"]
NAME = re.compile(r"# ALTERNATIVE NAME (\d+): *(.*)")
LINE = re.compile(r"(\d+) *: *(.*)")
PLACES = re.compile(r"\{([\d, ]*)\}|(\d+)")


def is_preflib(head: bytes) -> bool:
    """Whether a file begins with the names of alternatives."""
    return head.startswith(b"#") and b"\n# ALTERNATIVE NAME 1:" in head


def read_rankings(lines: Iterable[str]) -> Iterator[Row | Problem]:
    """Rows of a count and an order of names: ``owl > wren = tern``."""
    names: dict[str, str] = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if named := NAME.match(line):
            names[named[1]] = named[2].strip() or named[1]
        elif (ranked := LINE.fullmatch(line)) is not None:
            groups = [re.findall(r"\d+", a or b) for a, b in PLACES.findall(ranked[2])]
            order = " > ".join(" = ".join(names.get(one, one) for one in group) for group in groups)
            yield Row(number, {"count": ranked[1], "ranking": order})
        elif line and not line.startswith("#"):
            yield Problem(number, "", line[:MAX_SHOWN], _("This is no ranking."), _("Left out."))
