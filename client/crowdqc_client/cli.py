"""The command line: every method of the client as ``crowdqc-client NOUN VERB``, with JSON out."""

from __future__ import annotations

import argparse
import csv
import inspect
import io
import json
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from crowdqc_client.core import TOKEN, URL
from crowdqc_client.errors import CrowdqcError
from crowdqc_client.synchronous import Client, Resource, Rows

REFUSED, WRONG = 1, 2  # exit codes
UNIONS = (typing.Union, types.UnionType)
EPILOG = f"""The environment names the server and your token: {URL} and {TOKEN}.
Rows come from a file of JSON, JSON lines or CSV; "-" reads standard input."""


def read_rows(path: str) -> list[dict[str, Any]]:
    """Read rows of a file: JSON lines, a JSON list, or CSV with a header."""
    text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig")
    if path.endswith(".csv"):
        return list(csv.DictReader(io.StringIO(text, newline="")))
    if text.lstrip().startswith("["):
        return list(json.loads(text))
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def read_object(text: str) -> Any:
    """Read a value as JSON."""
    return json.loads(text)


def read_list(text: str) -> list[Any]:
    """Read values as a JSON list, or separated by commas."""
    return list(json.loads(text)) if text.startswith("[") else text.split(",")


def read_bool(text: str) -> bool:
    """Read yes or no."""
    if text.lower() not in ("true", "false", "yes", "no"):
        raise ValueError(text)
    return text.lower() in ("true", "yes")


# Messages of argparse name the function: "invalid JSON value".
read_object.__name__, read_bool.__name__ = "JSON", "yes or no"


def reader_of(kind: Any) -> Callable[[str], Any]:
    """Return what reads an argument of this type."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Required, typing.NotRequired):
        return reader_of(inner[0])
    if kind in (int, float, str):
        return typing.cast(Callable[[str], Any], kind)
    if kind is bool:
        return read_bool
    if origin is list and inner[0] in (int, str):
        return read_list
    if origin is typing.Literal or (origin in UNIONS and str in inner):
        return str  # amounts too: the server reads their text
    numbers = [one for one in inner if one in (int, float)]
    return reader_of(numbers[0]) if origin in UNIONS and numbers else read_object


@dataclass(frozen=True)
class Argument:
    """An argument of a verb: a place on the line, or an option."""

    name: str
    kind: Any
    required: bool
    default: Any = None

    @property
    def is_rows(self) -> bool:
        """Whether it is read from a file of rows."""
        return typing.get_origin(self.kind) is Sequence

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add it to a parser."""
        names = [self.name] if self.required else [f"--{self.name.replace('_', '-')}"]
        kind = read_rows if self.is_rows else reader_of(self.kind)
        metavar = "FILE" if self.is_rows else None
        parser.add_argument(
            *names, type=kind, default=self.default, metavar=metavar, help=describe(self.kind)
        )


def describe(kind: Any) -> str | None:
    """Return the values that an argument may have; None for free text and numbers."""
    inner = typing.get_args(kind)
    if typing.get_origin(kind) is typing.NotRequired:
        return describe(inner[0])
    if typing.get_origin(kind) is typing.Literal:
        return ", ".join(map(str, inner))
    if typing.get_origin(kind) is Sequence:
        return "of rows"
    texts: dict[Callable[[str], Any], str] = {
        read_object: "as JSON",
        read_list: "separated by commas, or as JSON",
    }
    return texts.get(reader_of(kind))


def arguments_of(method: Callable[..., Any]) -> Iterator[Argument]:
    """Yield the arguments of a method; those of ``**changes`` one by one."""
    hints = typing.get_type_hints(method, include_extras=True)
    for name, parameter in inspect.signature(method).parameters.items():
        if name == "self":
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            body = typing.get_args(hints[name])[0]
            for field, kind in typing.get_type_hints(body, include_extras=True).items():
                yield Argument(field, kind, typing.get_origin(kind) is not typing.NotRequired)
            continue
        empty = parameter.default is parameter.empty
        yield Argument(name, hints[name], empty, None if empty else parameter.default)


def nouns() -> Mapping[str, type[Resource]]:
    """Return the groups of methods by their names on the client."""
    client = Client("http://localhost", "")
    client.close()
    found = {name: type(value) for name, value in vars(client).items()}
    return {name: kind for name, kind in found.items() if issubclass(kind, Resource)}


def verbs(resource: type[Resource]) -> Mapping[str, Callable[..., Any]]:
    """Return the methods of a group."""
    return {
        name: method
        for name, method in vars(resource).items()
        if not name.startswith("_") and inspect.isfunction(method)
    }


def summary(item: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(item) or "").partition("\n")[0]


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of ``NOUN VERB`` with the arguments of every method."""
    parser = argparse.ArgumentParser("crowdqc-client", description=__doc__, epilog=EPILOG)
    parser.add_argument("--url", help=f"else {URL}")
    top = parser.add_subparsers(dest="noun", required=True, metavar="NOUN")
    for noun, resource in nouns().items():
        below = top.add_parser(noun, help=summary(resource), epilog=EPILOG)
        inner = below.add_subparsers(dest="verb", required=True, metavar="VERB")
        for verb, method in verbs(resource).items():
            text = inspect.getdoc(method)
            line = inner.add_parser(
                verb.replace("_", "-"), help=summary(method), description=text, epilog=EPILOG
            )
            arguments = list(arguments_of(method))
            for argument in arguments:
                argument.add_to(line)
            line.set_defaults(method=method, arguments=arguments)
    return parser


def to_json(value: Any) -> Any:
    """Return what a method returned as JSON values."""
    if isinstance(value, Rows):
        return [row.model_dump(mode="json") for row in value]
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return [to_json(row) for row in value] if isinstance(value, Sequence) else value


def call(client: Client, chosen: argparse.Namespace) -> Any:
    """Call the method of a parsed line."""
    resource = getattr(client, chosen.noun)
    values = {one.name: getattr(chosen, one.name) for one in chosen.arguments}
    given = {name: value for name, value in values.items() if value is not None}
    return chosen.method(resource, **given)


def main(line: Sequence[str] | None = None) -> int:
    """Run a command line; return the exit code."""
    chosen = make_parser().parse_args(line)
    try:
        with Client(chosen.url) as client:
            value = call(client, chosen)
            if isinstance(value, bytes):
                sys.stdout.buffer.write(value)
            else:
                print(json.dumps(to_json(value), indent=2, ensure_ascii=False))
    except CrowdqcError as error:
        print(error, file=sys.stderr)
        for name, text in getattr(error, "fields", {}).items():
            print(f"  {name}: {text}", file=sys.stderr)
        return REFUSED
    except (OSError, TimeoutError, ValueError) as error:
        print(error, file=sys.stderr)
        return WRONG
    return 0


if __name__ == "__main__":
    sys.exit(main())
