"""Templates of which all that no request changes is written once a language.

Half of a worker's page are words of ours and addresses of files: some hundred nodes, each of which
the framework looks up, translates and escapes anew for every page. Addresses of views differ by
numbers only, and the framework looks for each among all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from django.conf import settings
from django.template.base import FilterExpression, Node, NodeList, TextNode, TokenType
from django.template.defaulttags import CommentNode, LoadNode, URLNode
from django.template.library import SimpleNode
from django.template.loaders import base, cached
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.templatetags.static import StaticNode
from django.urls import NoReverseMatch, get_script_prefix, reverse
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString
from django.utils.translation import get_language

Tag = TypeVar("Tag", bound=Callable[..., Any])


def constant(tag: Tag) -> Tag:
    """Declare that a simple tag gives the same for the same arguments, within a language."""
    tag.is_constant = True  # type: ignore[attr-defined]
    return tag


class Constant(Node):
    """Neighbouring nodes whose text depends on the language alone."""

    child_nodelists = ()

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = nodes
        self._texts: dict[tuple[str | None, bool], SafeString] = {}

    def render(self, context: Any) -> SafeString:
        key = get_language(), context.autoescape
        if key not in self._texts:
            self._texts[key] = NodeList(self._nodes).render(context)
        return self._texts[key]


# Numbers that stand in no address, to find the places of others by.
PLACES = (7_000_000_000_001, 7_000_000_000_002, 7_000_000_000_003, 7_000_000_000_004)


class Address(Node):
    """A template node for a URL with numbers as arguments; it resolves the pattern only once."""

    child_nodelists = ()

    def __init__(self, node: URLNode) -> None:
        self._node = node
        self.token, self.origin = node.token, node.origin
        self._known: dict[tuple[str, str, bool], list[str]] = {}

    def render(self, context: Any) -> str:
        numbers = [arg.resolve(context) for arg in self._node.args]
        if not all(type(number) is int and number >= 0 for number in numbers):
            return str(self._node.render(context))
        key = settings.ROOT_URLCONF, get_script_prefix(), context.autoescape
        if key not in self._known:
            found = str(self._node.render(context))
            parts = self._parts(context, len(numbers))
            if _filled(parts, numbers) != found:  # numbers that only some addresses take
                return found
            self._known[key] = parts
        return _filled(self._known[key], numbers)

    def _parts(self, context: Any, count: int) -> list[str]:
        """Return the address's pieces before, between and after its numbers."""
        try:
            url = reverse(self._node.view_name.resolve(context), args=PLACES[:count])
        except NoReverseMatch:
            return []
        parts = re.split("|".join(map(str, PLACES)), url)
        return [conditional_escape(part) for part in parts] if context.autoescape else parts


def _filled(parts: list[str], numbers: list[int]) -> str:
    return "".join(f"{part}{number}" for part, number in zip(parts, [*numbers, ""], strict=False))


def _quicker(node: Node) -> Node:
    """The node, or what writes the same address in less time."""
    if not isinstance(node, URLNode) or node.kwargs or node.asvar:
        return node
    is_known = len(node.args) <= len(PLACES) and _is_literal(node.view_name)
    return Address(node) if is_known else node


def _is_literal(value: FilterExpression | None) -> bool:
    """Whether an argument is a text, a number or a translated text, and no variable."""
    if value is None:
        return True
    return not value.filters and getattr(value.var, "lookups", None) is None


def _is_constant(node: Node) -> bool:
    """Whether a node writes the same to every page of a language."""
    match node:
        case TextNode() | CommentNode() | LoadNode():
            return True
        case TranslateNode():
            named = node.message_context
            return not node.asvar and _is_literal(node.filter_expression) and _is_literal(named)
        case BlockTranslateNode():
            varies = bool(node.extra_context or node.plural or node.asvar)
            is_text = all(token.token_type == TokenType.TEXT for token in node.singular)
            return not varies and is_text and _is_literal(node.message_context)
        case StaticNode():
            return not node.varname and _is_literal(node.path)
        case SimpleNode():
            is_told = bool(node.takes_context or node.target_var)
            is_same = hasattr(node.func, "is_constant") and not is_told
            return is_same and all(map(_is_literal, (*node.args, *node.kwargs.values())))
    return False


def fold(nodes: NodeList) -> None:
    """Replace runs of constant template nodes by one node each, at every depth, in place."""
    found: list[Node] = []
    run: list[Node] = []

    def close() -> None:
        is_text = all(isinstance(node, TextNode) for node in run)
        found.extend(run if is_text else [Constant(run.copy())])
        run.clear()

    for node in nodes:
        if _is_constant(node):
            run.append(node)
            continue
        close()
        found.append(_quicker(node))
        for name in node.child_nodelists:
            inner = vars(node).get(name)
            if isinstance(inner, NodeList):
                fold(inner)
        for _condition, inner in getattr(node, "conditions_nodelists", ()):
            fold(inner)
    close()
    nodes[:] = found


class _Folding(base.Loader):
    def get_template(self, template_name: str, skip: Any = None) -> Any:
        template = super().get_template(template_name, skip)
        fold(template.nodelist)
        return template


class Loader(cached.Loader, _Folding):
    """The framework's, keeping templates that are folded."""
