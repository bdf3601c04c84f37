"""Tables of plain lists: a template names each column once, with its head and its cell.

::

    {% table rows as row caption=_("Panels of the project") class="data two-line" %}
      {% column _("Panel") class="l1" %}<a href="…">{{ row.name }}</a>{% endcolumn %}
      {% column _("Members") num class="l1r" label=_("Members") %}{{ row.now|count }}{% endcolumn %}
    {% endtable %}
"""

from __future__ import annotations

from typing import Any

from django import template
from django.template.base import (
    FilterExpression,
    Node,
    NodeList,
    Parser,
    TextNode,
    Token,
    TokenType,
    token_kwargs,
)
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()
KINDS = ("num", "act", "plot")  # classes of a head, and of cells without other classes
# ``row_head``: cells are heads of their rows; ``auto``: of texts in any direction of writing.
FLAGS = (*KINDS, "row_head", "hidden", "auto")
OPTIONS = {"class", "label", "term", "head", "when", "unless", "fades"}
Options = dict[str, FilterExpression]


class ColumnNode(Node):
    """A column: ``label`` stands beside its cells on a narrow screen.

    ``fades`` is a number of which 0 is paler, ``term`` the entry of the glossary that the head
    explains; ``when`` and ``unless`` say whether a page has the column. A body that begins with
    ``<td`` or ``<th`` is the whole cell.
    """

    child_nodelists = ("nodelist",)

    def __init__(
        self, title: FilterExpression, flags: set[str], options: Options, body: NodeList
    ) -> None:
        self.title, self.flags, self.options, self.nodelist = title, flags, options, body
        self.help: Node | None = None
        first = body[0].s.lstrip() if body and isinstance(body[0], TextNode) else ""
        self.is_cell = first.startswith(("<td", "<th"))

    def option(self, name: str, context: template.Context) -> Any:
        found = self.options.get(name)
        return "" if found is None else found.resolve(context)

    def is_shown(self, context: template.Context) -> bool:
        if "when" in self.options:
            return bool(self.option("when", context))
        return not self.option("unless", context)

    def head_html(self, context: template.Context) -> SafeString:
        """Render the head of the column."""
        kind = " ".join(one for one in KINDS if one in self.flags)
        classes = f"{kind} {self.option('head', context)}".strip()
        title: Any = self.title.resolve(context)
        if "hidden" in self.flags:
            title = format_html('<span class="hidden">{}</span>', title)
        if self.help is not None:
            title = format_html("{} {}", title, self.help.render_annotated(context))
        return format_html('<th scope="col"{}>{}</th>', _attributes(("class", classes)), title)

    def opening(self, context: template.Context) -> SafeString:
        """Return the HTML attributes that all cells of the column share."""
        kind = " ".join(one for one in KINDS if one in self.flags)
        return _attributes(
            ("scope", "row" if "row_head" in self.flags else ""),
            ("class", " ".join(filter(None, [kind, self.option("class", context)]))),
            ("dir", "auto" if "auto" in self.flags else ""),
            ("data-label", self.option("label", context)),
        )

    def cell(self, context: template.Context, opening: SafeString) -> SafeString:
        """Render the column's cell for the row in the context."""
        html = self.nodelist.render(context)
        if self.is_cell:
            return html
        if "fades" in self.options and not self.option("fades", context):
            classes = " ".join(filter(None, ["num", self.option("class", context), "zero"]))
            label = ("data-label", self.option("label", context))
            opening = _attributes(("class", classes), label)
        tag = "th" if "row_head" in self.flags else "td"
        return format_html("<{0}{1}>{2}</{0}>", tag, opening, html)


class TableNode(Node):
    """Rows under columns.

    ``row_class`` is resolved for each row, ``id`` with ``key`` names it ("model-5"), ``empty``
    stands there without rows, ``bare`` is without what scrolls.
    """

    child_nodelists = ("columns",)

    def __init__(
        self,
        rows: FilterExpression,
        names: list[str],
        options: Options,
        columns: NodeList,
        *,
        is_bare: bool,
    ) -> None:
        self.rows, self.names, self.options, self.columns = rows, names, options, columns
        self.is_bare = is_bare

    def render(self, context: template.Context) -> SafeString:
        """Render the table within its scrolling container."""
        shown = [one for one in self.columns if isinstance(one, ColumnNode)]
        shown = [one for one in shown if one.is_shown(context)]
        heads = format_html_join("", "{}", ((one.head_html(context),) for one in shown))
        found = list(self.rows.resolve(context) or ())
        columns = [(one, one.opening(context)) for one in shown]
        lines = []
        with context.push():
            for at, row in enumerate(found):
                values = [row] if len(self.names) == 1 else row
                for name, value in zip(self.names, values, strict=True):
                    context[name] = value
                context["forloop"] = {
                    "counter": at + 1,
                    "counter0": at,
                    "first": at == 0,
                    "last": at == len(found) - 1,
                }
                cells = format_html_join(
                    "", "{}", ((one.cell(context, opening),) for one, opening in columns)
                )
                key = self._option("key", context)
                attributes = _attributes(
                    ("id", f"{self._option('id', context)}-{key}" if key else ""),
                    ("class", self._option("row_class", context)),
                )
                lines.append((attributes, cells))
        if not lines and (empty := self._option("empty", context)):
            cell = format_html('<td colspan="{}" class="dim">{}</td>', len(shown), empty)
            lines.append((SafeString(""), cell))
        html = format_html(
            '<table{}><caption class="hidden">{}</caption>'
            "<thead><tr>{}</tr></thead><tbody>{}</tbody></table>",
            _attributes(("class", self._option("class", context))),
            self._option("caption", context),
            heads,
            format_html_join("", "<tr{}>{}</tr>", lines),
        )
        return html if self.is_bare else format_html('<div class="scroll">{}</div>', html)

    def _option(self, name: str, context: template.Context) -> Any:
        found = self.options.get(name)
        return "" if found is None else found.resolve(context)


def _attributes(*pairs: tuple[str, Any]) -> SafeString:
    return format_html_join("", ' {}="{}"', (one for one in pairs if one[1]))


@register.tag("column")
def column(parser: Parser, token: Token) -> ColumnNode:
    """``{% column TITLE [num] [class="…"] [label=…] [term="…"] [when=…] %}CELL{% endcolumn %}``."""
    _name, title, *bits = token.split_contents()
    flags = {one for one in bits if one in FLAGS}
    rest = [one for one in bits if one not in flags]
    if any(one.startswith("_(") and "%" in one for one in (title, *rest)):
        raise template.TemplateSyntaxError(f"Translate {title} before: {{% translate … as … %}}.")
    options = token_kwargs(rest, parser)
    if rest or set(options) - OPTIONS:
        raise template.TemplateSyntaxError(f"A column takes {OPTIONS} and {FLAGS}, not {bits}.")
    body = parser.parse(("endcolumn",))
    parser.delete_first_token()
    found = ColumnNode(parser.compile_filter(title), flags, options, body)
    if "term" in options:
        slug = options["term"].token
        found.help = parser.tags["help"](parser, Token(TokenType.BLOCK, f"help {slug}"))
    return found


@register.tag("table")
def table(parser: Parser, token: Token) -> TableNode:
    """``{% table ROWS as ROW [caption=…] [class="…"] [row_class=…] [id="…" key=…] [bare] %}``."""
    bits = token.split_contents()
    if len(bits) < 4 or bits[2] != "as":
        raise template.TemplateSyntaxError("A table is written {% table ROWS as ROW … %}.")
    rest = [one for one in bits[4:] if one != "bare"]
    options = token_kwargs(rest, parser)
    if rest:
        raise template.TemplateSyntaxError(f"A table does not take {rest}.")
    columns = parser.parse(("endtable",))
    parser.delete_first_token()
    rows = parser.compile_filter(bits[1])
    return TableNode(rows, bits[3].split(","), options, columns, is_bare="bare" in bits)
