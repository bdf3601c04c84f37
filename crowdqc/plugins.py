"""Plug-ins: those that CROWDQC_PLUGINS names are loaded, each as a whole or not at all."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from crowdqc.api import (
    API_VERSION,
    Additions,
    LabelMethod,
    Plugin,
    PluginError,
    RowFormat,
    TaskTemplate,
    TextRule,
)
from crowdqc.numbers import parse_whole

GROUP = "crowdqc.plugins"
BETWEEN = "__"  # no name of crowdqc's own has it, so that none is taken twice
LONGEST = 40  # characters of a full name, as runs store it
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
logger = logging.getLogger(__name__)
Named = TypeVar("Named", LabelMethod, TextRule, RowFormat, TaskTemplate)
# Called with each thing that a plug-in adds; raises PluginError where it cannot be taken.
Check = Callable[[Any], None]
_checks: list[Check] = []
_lock = threading.RLock()


@dataclass(frozen=True)
class Loaded:
    """A plug-in that was loaded, and what it adds by full names."""

    name: str
    title: str
    package: str  # its distribution, with the version
    methods: Mapping[str, LabelMethod]
    text_rules: Mapping[str, TextRule]
    row_formats: Mapping[str, RowFormat]
    templates: Mapping[str, TaskTemplate]


@dataclass(frozen=True)
class Failure:
    """A plug-in that CROWDQC_PLUGINS names and that was not loaded."""

    name: str
    reason: str


@dataclass(frozen=True)
class Plugins:
    """All plug-ins of this process."""

    loaded: Mapping[str, Loaded] = field(default_factory=dict)
    failures: Sequence[Failure] = ()

    def owner(self, full_name: str) -> Loaded | None:
        """Return the plug-in that a full name belongs to."""
        return self.loaded.get(full_name.partition(BETWEEN)[0])

    def text_rule(self, full_name: str) -> TextRule | None:
        """Return the text rule of this full name."""
        owner = self.owner(full_name)
        return owner.text_rules.get(full_name) if owner else None


_current: Plugins | None = None


def add_check(check: Check) -> None:
    """Add what a part of crowdqc demands of the things that plug-ins add."""
    if check not in _checks:
        _checks.append(check)


def is_outside(full_name: str) -> bool:
    """Whether a name is that of a plug-in's addition, loaded or not."""
    return BETWEEN in full_name


def current() -> Plugins:
    """Return the plug-ins of this process, loaded when this is first called."""
    global _current  # noqa: PLW0603
    if _current is None:
        with _lock:
            if _current is None:
                _current = load(settings.CROWDQC_PLUGINS)
    return _current


@contextmanager
def replaced(plugins: Plugins) -> Iterator[None]:
    """Use other plug-ins for a while, in tests."""
    global _current  # noqa: PLW0603
    before, _current = _current, plugins
    try:
        yield
    finally:
        _current = before


def load(names: Iterable[str]) -> Plugins:
    """Load plug-ins by the names of their entry points. What fails is logged, and adds nothing."""
    loaded: dict[str, Loaded] = {}
    failures: list[Failure] = []
    for name in dict.fromkeys(names):
        try:
            loaded[name] = _load(name)
        except PluginError as error:
            failures.append(Failure(name, str(error)))
            logger.error("Plug-in %s was not loaded: %s", name, error)
    return Plugins(loaded, failures)


def _load(name: str) -> Loaded:
    point = _entry_point(name)
    package = f"{point.dist.name} {point.dist.version}" if point.dist else ""
    try:
        declared = point.load()
    except Exception as error:
        raise PluginError(f"It cannot be imported: {_words(error)}") from error
    if not isinstance(declared, Plugin):
        raise PluginError(f"{point.value} is not declared with crowdqc.api.plugin.")
    _require_version(declared.api)
    additions = Additions()
    try:
        declared.register(additions)
        for addition in additions.all():
            _check_name(name, addition.slug)
            for check in _checks:
                check(addition)
        return Loaded(
            name,
            declared.title,
            package,
            _by_name(name, additions.methods),
            _by_name(name, additions.text_rules),
            _by_name(name, additions.row_formats),
            _by_name(name, additions.templates),
        )
    except PluginError:
        raise
    except Exception as error:
        raise PluginError(f"Its register function failed: {_words(error)}") from error


def _entry_point(name: str) -> EntryPoint:
    if not NAME.fullmatch(name):
        raise PluginError("A name has lower-case letters, digits and single underscores.")
    points = list(entry_points(group=GROUP, name=name))
    if not points:
        known = ", ".join(sorted(point.name for point in entry_points(group=GROUP)))
        raise PluginError(f"It is not installed. Installed are: {known or 'none'}.")
    if len(points) > 1:
        packages = ", ".join(sorted(point.dist.name for point in points if point.dist))
        raise PluginError(f"Several packages offer it: {packages}.")
    return points[0]


def _require_version(wanted: str) -> None:
    major, minor = (parse_whole(part, high=999) for part in wanted.partition(".")[::2])
    offered = ".".join(map(str, API_VERSION))
    if major is None or minor is None:
        raise PluginError(f"It names no version of crowdqc.api such as {offered}: {wanted!r}.")
    if major != API_VERSION[0] or minor > API_VERSION[1]:
        raise PluginError(f"It needs crowdqc.api {wanted}, and this is {offered}.")


def _check_name(plugin: str, slug: str) -> None:
    if not NAME.fullmatch(slug) or len(f"{plugin}{BETWEEN}{slug}") > LONGEST:
        raise PluginError(f"{slug!r} is no name, or longer than {LONGEST} with the plug-in's.")


def _by_name(plugin: str, rows: Sequence[Named]) -> dict[str, Named]:
    found = {f"{plugin}{BETWEEN}{row.slug}": row for row in rows}
    if len(found) < len(rows):
        raise PluginError("It adds two things of one kind by the same name.")
    return found


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


@register()
def check_plugins(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Report the plug-ins that CROWDQC_PLUGINS names and that were not loaded."""
    return [
        Error(
            f"Plug-in {failure.name} was not loaded: {failure.reason}",
            hint="Install it, mend it, or take it out of CROWDQC_PLUGINS. It adds nothing so far.",
            id="crowdqc.E030",
        )
        for failure in current().failures
    ]
