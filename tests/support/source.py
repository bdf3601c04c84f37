"""Python's source as a tree."""

from __future__ import annotations

import ast
import gc


def parse_source(text: str) -> ast.Module:
    """Parse Python's source while nothing is collected.

    Python 3.11 counts the depth of a tree in one place: code that a collection runs during the
    conversion can end it in "AST constructor recursion depth mismatch".
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(text)
    finally:
        if was_on:
            gc.enable()
