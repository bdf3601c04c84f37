"""One stylesheet and one script for workers' pages, and one of each for all others.

``static/worker.css`` imports stylesheets into cascade layers, those of pages for the ``body`` with
their class alone (``scope``), and ``static/worker.js`` imports ES modules. A finder serves
``bundles/worker.css`` and its like instead, made of the same files without comments and spaces: on
each request where they change (development, tests), once by ``collectstatic`` in production.
"""

from __future__ import annotations

import os
import posixpath
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import rjsmin
import tinycss2
from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

FOLDER = "bundles"
NAMES = ("worker.css", "worker.js", "staff.css", "staff.js")

CSS_IMPORT = re.compile(
    r'^@import "(?P<path>[^"]+)"(?: layer\((?P<layer>[\w-]+)\))?(?: scope\((?P<scope>.+)\))?;\n',
    re.MULTILINE,
)
CSS_URL = re.compile(r'url\("(?!data:)([^"]+)"\)')
JS_IMPORT = re.compile(
    r'^import (?:\{ (?P<names>[\w, ]+) \} from )?"(?P<path>[^"]+)";\n', re.MULTILINE
)
JS_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|function|class) (\w+))", re.MULTILINE)


class BundleError(ValueError):
    """A source that imports or exports in a form that is not understood, or itself."""


def _beside(name: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def bundle_styles(root: Path, name: str) -> str:
    """Return a stylesheet with its imports included and its URLs adapted to the bundle's folder."""
    text = (root / name).read_text()

    def included(match: re.Match[str]) -> str:
        body = bundle_styles(root, _beside(name, match["path"]))
        if match["scope"]:
            # Nested, as @scope matches no input, textarea or details in WebKit (2.50).
            body = f":where({match['scope']}) {{\n{body}}}\n"
        return f"@layer {match['layer']} {{\n{body}}}\n" if match["layer"] else body

    def moved(match: re.Match[str]) -> str:
        return f'url("{posixpath.relpath(_beside(name, match[1]), FOLDER)}")'

    text = CSS_IMPORT.sub(included, CSS_URL.sub(moved, text))
    if "@import" in text:
        raise BundleError(f'{name}: write @import "path.css" layer(name);')
    return text


@lru_cache(maxsize=len(NAMES))  # a finder is asked on each request in development and tests
def minify_styles(text: str) -> str:
    """The same rules without comments, and without spaces where they mean nothing."""
    return str(tinycss2.serialize(_shorten(tinycss2.parse_component_value_list(text, True))))


def _shorten(tokens: list[Any]) -> list[Any]:
    """Component values with one space where there were several; none beside ``,``, ``;``, ``{}``.

    A space elsewhere may be a descendant combinator, or part of ``calc()``.
    """
    kept: list[Any] = []
    for one in tokens:
        if one.type == "comment" or (
            one.type == "whitespace" and kept and kept[-1].type == "whitespace"
        ):
            continue
        kept.append(one)
        if one.type == "function":
            one.arguments = _shorten(one.arguments)
        elif one.type in ("{} block", "() block", "[] block"):
            one.content = _shorten(one.content)
        elif one.type == "whitespace":
            one.value = " "
    ends = {0, len(kept) - 1}
    return [
        one
        for at, one in enumerate(kept)
        if one.type != "whitespace"
        or not (at in ends or _is_separator(kept[at - 1]) or _is_separator(kept[at + 1]))
    ]


def _is_separator(token: Any) -> bool:
    return token.type == "{} block" or token in (",", ";")


def bundle_scripts(root: Path, name: str) -> str:
    """Return a script with all modules that it imports, each wrapped in a function."""
    parts: dict[str, str] = {}
    open_: list[str] = []

    def variable(module: str) -> str:
        return "module_" + re.sub(r"\W", "_", module)

    def add(module: str) -> None:
        if module in parts:
            return
        if module in open_:
            raise BundleError(" imports ".join([*open_, module]))
        open_.append(module)

        def imported(match: re.Match[str]) -> str:
            other = _beside(module, match["path"])
            add(other)
            names = match["names"]
            return f"const {{ {names} }} = {variable(other)};\n" if names else ""

        text = JS_IMPORT.sub(imported, (root / module).read_text())
        names = JS_EXPORT.findall(text)
        text = JS_EXPORT.sub("", text)
        if re.search(r"^(import|export)\b", text, re.MULTILINE):
            raise BundleError(f"{module}: imports and exports are lines of their own, by name")
        parts[module] = (
            f"// {module}\nconst {variable(module)} = (() => {{\n{text.rstrip()}\n"
            f"return {{ {', '.join(names)} }};\n}})();\n"
        )
        open_.pop()

    add(name)
    return "".join(parts.values())


class BundleFinder(BaseFinder):
    """Finds the bundles, which it writes into the folder of the instance's own data."""

    def __init__(self, app_names: Sequence[str] | None = None, *args: Any, **kwargs: Any) -> None:
        self.sources = Path(settings.STATICFILES_DIRS[0])
        self.folder = Path(settings.HOME) / "static-bundles"
        self.storage = FileSystemStorage(self.folder)
        super().__init__(*args, **kwargs)

    def check(self, **kwargs: Any) -> list[Any]:
        """Return no problems: there is nothing to set."""
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        """Return the path of a bundle, rebuilt if its sources changed."""
        folder, _, name = path.partition("/")
        if folder != FOLDER or name not in NAMES:
            return []
        built = self._build(name)
        return [built] if find_all else built

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, FileSystemStorage]]:
        """Yield all bundles, for ``collectstatic``."""
        for name in NAMES:
            self._build(name)
            yield f"{FOLDER}/{name}", self.storage

    def _build(self, name: str) -> str:
        make: Callable[[Path, str], str] = (
            bundle_styles if name.endswith(".css") else bundle_scripts
        )
        minify: Callable[[str], str] = minify_styles if name.endswith(".css") else rjsmin.jsmin
        target, text = self.folder / FOLDER / name, minify(make(self.sources, name))
        # Left alone where it is the same: browsers ask whether it is newer than what they have.
        if not target.is_file() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False) as file:
                file.write(text)
            os.chmod(file.name, 0o644)
            os.replace(file.name, target)  # at once, as several processes may write it
        return str(target)
