"""Values as Python and MongoDB write them, read as JSON.

Nothing is evaluated: the text of Python's literals is rewritten sign by sign, and what comes of it
is read, and bounded, as any other JSON.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any

from crowdqc.files.json_input import Unreadable, read_json

# Each alternative goes on to the end of what it begins, so that no sign is looked at twice.
TOKEN = re.compile(
    r"""[uUbB]?(?P<text>'(?:[^'\\]|\\.?)*+(?:'|\Z)|"(?:[^"\\]|\\.?)*+(?:"|\Z))"""
    r"|(?P<number>-?\d[\w.]*+)|(?P<word>[A-Za-z_][\w.]*+)|(?P<comma>,\s*+(?=[\]})]))|(?P<sign>[()])",
    re.DOTALL,
)
KEY_END = re.compile(r"\s*+:")
WORDS = {"None": "null", "True": "true", "False": "false", "nan": "NaN"}
# What wraps a value: as constructors of Python and the shell of MongoDB, and in its JSON.
CONSTRUCTORS = {
    *("ObjectId", "ISODate", "NumberInt", "NumberLong", "NumberDecimal", "Decimal", "UUID"),
    *("Timestamp", "array", "np.array", "np.float64", "np.int64", "np.str_"),
}
WRAPPERS = {
    *("$oid", "$date", "$numberInt", "$numberLong", "$numberDouble", "$numberDecimal"),
    *("$uuid", "$symbol"),
}
WRAPPED = re.compile(r'\{\s*"\$(?:oid|date|number|uuid|symbol)')
PRINTED = re.compile(r"\s*(?:[\[({]\s*)+[uUbB]?'")  # a dict or list by Python
BARE_WORD = re.compile(r"[:,\[]\s*(?:None|True|False|[A-Z]\w+\()")
STRING = re.compile(r'"(?:[^"\\]|\\.?)*+(?:"|\Z)', re.DOTALL)


def read_value(text: str, **how: Any) -> Any:
    """Read a value as JSON, else as Python writes it, without wrappers of MongoDB.

    ``how`` as of ``read_json``. Raises Unreadable, for the JSON.
    """
    try:
        value = read_json(text, any_text=True, **how)
    except Unreadable:
        if not is_printed(text):
            raise
        text = json_of_python(text)
        value = read_json(text, any_text=True, **how)
    return unwrap(value) if WRAPPED.search(text) else value


def is_printed(text: str) -> bool:
    """Whether a text that is no JSON looks like a value that Python printed."""
    return bool(PRINTED.match(text)) or bool(
        text.lstrip()[:1] in ("[", "{", "(") and BARE_WORD.search(STRING.sub('""', text))
    )


def json_of_python(text: str) -> str:
    """Rewrite literals of Python as JSON; what is no literal stays, and is then no JSON."""
    ends: list[str] = []  # what becomes of the bracket that closes each open one
    is_wrapped = False  # whether a constructor stands before a bracket

    def rewrite(token: re.Match[str]) -> str:
        nonlocal is_wrapped
        kind, found = token.lastgroup, token[0]
        if kind == "text":
            found = _quoted(token["text"])
        elif kind == "number" and KEY_END.match(text, token.end()):
            found = f'"{found}"'
        elif kind == "word":
            is_wrapped = found in CONSTRUCTORS
            return "" if is_wrapped else WORDS.get(found, found)
        elif kind == "comma":
            found = ""
        elif found == "(":
            ends.append("" if is_wrapped else "]")
            found = "" if is_wrapped else "["
        elif found == ")":
            found = ends.pop() if ends else ")"
        is_wrapped = False
        return found

    return TOKEN.sub(rewrite, text)


def _quoted(literal: str) -> str:
    """A text in quotation marks of Python as one of JSON."""
    if "\\" not in literal and literal[-1:] == literal[:1] and len(literal) > 1:
        return json.dumps(literal[1:-1])
    literal = literal.replace("\r", "\\r").replace("\n", "\\n")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on escapes that Python does not know
            return json.dumps(ast.literal_eval(literal))
    except (SyntaxError, ValueError):
        return literal


def unwrap(value: Any) -> Any:
    """Take values out of the objects in which MongoDB names their types."""
    if isinstance(value, list):
        return [unwrap(one) for one in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and (name := next(iter(value))) in WRAPPERS:
        return unwrap(value[name])
    return {name: unwrap(inner) for name, inner in value.items()}
