"""Tags and filters of every page; a builtin library, so templates load nothing.

Filters write numbers (``crowdqc.numbers``); tags draw the small marks. All widths come from
attributes, none from styles, since the policy forbids inline style.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, Protocol
from urllib.parse import urlencode
from uuid import uuid4

from django import template
from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotation import hooks
from annotation.accounts.security.log import name_browser
from annotation.models import Task
from annotation.payouts.notes import translate_note
from annotation.payouts.selectors.ledger import parse_month
from annotation.records.installation_state import current_state
from crowdqc import numbers
from crowdqc.deployment.installation import read_version
from crowdqc.web import manual
from crowdqc.web.templates import constant
from crowdqc.web.terms import TERMS

register = template.Library()

RING = '<circle class="ring" cx="6" cy="6" r="5.1"/>'
DISC = '<circle class="solid" cx="6" cy="6" r="5.75"/>'
CHECK = '<path class="cut" d="M3.6 6.2 5.3 7.8 8.4 4.4"/>'
MARKS = {
    "draft": '<circle class="ring dashed" cx="6" cy="6" r="5.1"/>',
    "open": RING + '<path class="solid" d="M6 2.8a3.2 3.2 0 0 1 0 6.4z"/>',
    "paused": RING + '<path class="hand" d="M4.8 4.2v3.6M7.2 4.2v3.6"/>',
    "closed": DISC + CHECK,
    "done": DISC + CHECK,
    "running": RING + '<path class="solid" d="M6 2.8a3.2 3.2 0 0 1 0 6.4z"/>',
    "waiting": RING + '<path class="hand" d="M6 3.4V6l1.7 1.3"/>',
    "warn": '<path class="hand" d="M6 1.2 11.3 10.8H.7zM6 4.9v2.6M6 9v.1"/>',
    "bad": DISC + '<path class="cut" d="M4.1 4.1 7.9 7.9M7.9 4.1 4.1 7.9"/>',
    "undecided": RING
    + '<path class="hand" d="M4.5 4.7a1.5 1.5 0 1 1 2.2 1.3Q6 6.4 6 7M6 8.8v.1"/>',
    "offline": RING + '<path class="hand" d="M2.5 9.5 9.5 2.5"/>',
    # Kinds of steps of a trace.
    "model": RING + '<circle class="solid" cx="6" cy="6" r="2"/>',
    "tool": '<path class="hand" d="M1.5 1.5h9v9h-9zM4 6h4"/>',
    "retriever": '<path class="hand" d="M8.8 5a3.8 3.8 0 1 1-7.6 0 3.8 3.8 0 1 1 7.6 0"/>'
    '<path class="hand" d="M8 8l3.4 3.4"/>',
    "agent": '<path class="hand" d="M1 2.5h10M1 6h10M1 9.5h10"/>',
    "other": '<path class="hand" d="M1 2.5h10M1 6h10M1 9.5h10"/>',
}
KEYS = {
    "interval": (
        34,
        '<path class="interval" d="M1 6h32"/><circle class="dot" cx="17" cy="6" r="4"/>',
    ),
    "thin": (
        26,
        '<path class="interval thin" d="M0 6h26"/><circle class="dot" cx="13" cy="6" r="4.5"/>',
    ),
    "diamond": (10, '<path class="diamond" d="M5 1.8 9.2 6 5 10.2.8 6z"/>'),
    "reference": (6, '<path class="reference" d="M3 0v12"/>'),
    "band": (12, '<path class="band" d="M0 0h12v12H0z"/>'),
    "square": (9, '<path class="square" d="M0 2h8v8H0z"/>'),
    "ring": (11, '<circle class="ringed" cx="5.5" cy="6" r="4.4"/>'),
    "cross": (10, '<path class="cross" d="M1.2 2.2l7.6 7.6m0-7.6-7.6 7.6"/>'),
    "line": (22, '<path class="line" d="M0 6h22"/>'),
    "dot": (9, '<circle class="dot" cx="4.5" cy="6" r="4"/>'),
}


# Numbers and times -----------------------------------------------------------------------------


@register.filter
def score(value: numbers.Number | None, digits: int = 3) -> str:
    """Format a score like ``.871``."""
    return numbers.score(value, digits)


@register.filter
def probability(value: numbers.Number | None, digits: int = 2) -> str:
    """Format an estimated probability like ``.87``, or ``>.99``."""
    return numbers.probability(value, digits)


@register.filter
def written_number(value: str) -> str:
    """Format a number that a requester wrote with a point, like ``2.5``."""
    return numbers.written(str(value))


@register.simple_tag
def interval(low: numbers.Number | None, high: numbers.Number | None, digits: int = 3) -> str:
    """Format an interval like ``.846–.892``, with every digit beside it for a page's file."""
    if low is None or high is None:
        return numbers.interval(low, high, digits)
    words = numbers.interval(low, high, digits)
    return format_html('<data value="{}|{}">{}</data>', repr(float(low)), repr(float(high)), words)


@register.filter
def signed(value: numbers.Number | None, digits: int = 2) -> str:
    """Format a number with its sign, like ``+ .02``."""
    return numbers.format_signed(value, digits)


@register.filter
def percent(value: numbers.Number | None, digits: int = 0) -> str:
    """A share from 0 to 1 as ``61%``."""
    return numbers.percent(value, digits)


@register.simple_tag
def share(part: numbers.Number | None, whole: numbers.Number | None, digits: int = 0) -> str:
    """Format the share of a part in a whole, like ``78%``; "none" for a share of nothing."""
    if part is None or not whole:
        return _("none")
    return numbers.percent(float(part) / float(whole), digits)


@register.filter
def count(value: numbers.Number | None) -> str:
    """Format a whole number with separators of thousands, like ``1,272``."""
    return numbers.count(value)


@register.filter
def decimal(value: numbers.Number, digits: int = 1) -> str:
    """Format a number with so many decimals, like ``1.0``."""
    return numbers.decimal(value, digits)


@register.filter
def cut_middle(text: str, most: int) -> str:
    """Shorten a text to ``most`` characters by cutting out its middle."""
    if len(text) <= most:
        return text
    end = (most - 3) // 3
    return f"{text[: most - 3 - end].rstrip()} … {text[-end:].lstrip()}"


@register.filter
def amount(value: numbers.Number | None) -> str:
    """``1,100.00``, for columns whose head names the currency."""
    return numbers.amount(value)


@register.filter
def money(value: numbers.Number | None, currency: str = "EUR") -> str:
    """Format an amount of money, like ``€1.80``."""
    return numbers.money(value, currency)


@register.filter
def small_money(value: numbers.Number, currency: str = "EUR") -> str:
    """Format the pay for one of many, like ``€0.0125``."""
    return numbers.small_money(value, currency, digits=3)


@register.filter
def currency_sign(currency: str) -> str:
    """``€``, for the heads of columns."""
    return numbers.currency_sign(currency)


@register.filter
def duration(value: numbers.Number | timedelta | None) -> str:
    """``9 min 40 s`` from seconds or a timedelta."""
    return numbers.duration(value)


@register.filter
def clock(value: numbers.Number | timedelta | None) -> str:
    """Format a duration, like ``41:12``."""
    return numbers.clock(value)


@register.filter
def ago(value: datetime | None) -> str:
    """``41 min ago``; dates in the person's time zone."""
    return numbers.ago(value and timezone.localtime(value), now=timezone.localtime())


@register.filter
def short_date(value: date | None) -> str:
    """Format a date, like ``11 Nov``."""
    if isinstance(value, datetime) and timezone.is_aware(value):
        value = timezone.localtime(value)
    return numbers.short_date(value, today=timezone.localdate())


@register.filter
def long_date(value: date) -> str:
    """Format a date in full, like ``11 November 2026``."""
    if isinstance(value, datetime) and timezone.is_aware(value):
        value = timezone.localtime(value)
    return numbers.long_date(value)


@register.filter
def moment(value: datetime | None) -> str:
    """Format a time with its date, like ``21 Nov 08:12``."""
    return numbers.moment(value)


@register.filter
def word(value: int) -> str:
    """Write a small whole number in words, like ``four``."""
    return numbers.word(value)


@register.filter
def plural(value: numbers.Number, forms: str) -> str:
    """``{{ n|plural:"answer,answers" }}`` reads ``1 answer``."""
    one, _comma, many = forms.partition(",")
    return numbers.plural(value, one, many or None)


@register.filter("note")
def note_of_books(text: str) -> str:
    """Return a note of the books in the reader's language."""
    return translate_note(text)


@register.filter("month")
def month_name(month: str) -> str:
    """``November 2026`` for ``2026-11``."""
    day = parse_month(month)
    return numbers.month(day) if day else month


@register.filter
def browser(stored: str) -> str:
    """Return a stored browser in the reader's language."""
    return name_browser(stored)


@register.filter
def named(noun: str) -> str:
    """Translate the noun of a task type's item, such as ``question``."""
    return pgettext("noun", noun)


@register.filter
def ready_made(text: str) -> str:
    """Translate a text of a version that the builder offered, such as "Overall quality"."""
    from annotation.task_types.ready_made import translate_ready_made  # sign-in does without

    return translate_ready_made(text)


@register.filter
def mid_sentence(title: str) -> str:
    """Write a title as within a sentence: in lower case, but for German."""
    return numbers.mid_sentence(title)


@register.filter
def role_word(role: str) -> str:
    """Translate a role in a project, such as ``manager``."""
    return pgettext("role", role)


@register.filter
def organisation_role(role: str) -> str:
    """Translate a role in an organisation, such as ``owner``; "" for none."""
    return pgettext("organisation", role) if role else ""


@register.filter("many")
def plural_noun(noun: str) -> str:
    """Return the plural of a task type's noun, translated: ``questions``."""
    return numbers.several(noun)


@register.filter
def part(sentence: str, number: int) -> str:
    """Return a part of a sentence with fields: before the first (0), after it (1), and so on.

    The sentence is one text, ``{% blocktranslate asvar sentence with field="|" %}after {{ field }}
    texts{% endblocktranslate %}``; the page writes an input where each field stands.
    """
    return "".join(sentence.split("|")[number : number + 1]).strip()


@register.filter
def short_hash(value: str | None) -> str:
    """The first eight characters of a hash."""
    return value[:8] if value else _("none")


# Marks -----------------------------------------------------------------------------------------


@register.simple_tag
def docs_url() -> str:
    """Return the address of the documentation; "" if it is not built."""
    return reverse("manual") if manual.is_built() else ""


@register.simple_tag
def plan_url(task: Task) -> str:
    """Return the address of the task's plan; "" where nothing can be simulated."""
    return hooks.plan_url(task)


@register.simple_tag(takes_context=True)
def help(context: template.Context, slug: str) -> SafeString:
    """Render a "?" that explains a term, at its first place on the page.

    Phrasing content alone, so that it may stand in a heading, a paragraph or a head of a column.
    """
    if slug not in TERMS:
        raise template.TemplateSyntaxError(f"No term {slug!r}; known: {sorted(TERMS)}.")
    request = context.get("request")
    if request is not None:
        explained = vars(request).setdefault("explained_terms", set())
        if slug in explained:
            return SafeString("")
        explained.add(slug)
    term = TERMS[slug]
    usual = format_html_join(
        "",
        '<span class="popover-row"><b>{}</b><span>{}</span></span>',
        term.usual,
    )
    more = SafeString("")
    if manual.is_built():
        page, hash_mark, anchor = term.page.partition("#")
        url = reverse("manual_page", args=[f"{page.removesuffix('.md')}.html"])
        more = format_html('<a href="{}{}{}">{}</a>', url, hash_mark, anchor, _("Read more"))
    return format_html(
        '<button type="button" class="help-mark" popovertarget="help-{slug}" '
        'aria-label="{about}">?</button>'
        '<span id="help-{slug}" class="popover" popover role="group" aria-label="{title}">'
        '<b class="popover-title">{title}</b><span class="popover-what">{what}</span>'
        '<span class="popover-usual">{usual}</span>{more}</span>',
        slug=slug,
        about=_("What is this? %(term)s") % {"term": term.title},
        title=term.title,
        what=term.what,
        usual=usual,
        more=more,
    )


class HasTerms(Protocol):
    """What writes itself, with a "?" beside its terms."""

    def markup(self, explain: Callable[[str], SafeString]) -> SafeString: ...


@register.simple_tag(takes_context=True)
def with_terms(context: template.Context, part: HasTerms) -> SafeString:
    """Render the cells of a row, with a "?" beside their terms."""
    return part.markup(partial(help, context))


@register.simple_tag
def when_it_misleads(method: str) -> SafeString:
    """Link to the limits of a method in the manual ("When it misleads"); "" if it is not built."""
    if not manual.is_built():
        return SafeString("")
    url = reverse("manual_page", args=[f"methods/{method}.html"])
    return format_html('<p><a href="{}#when-it-misleads">{}</a></p>', url, _("When it misleads"))


@register.simple_tag
def app_version() -> str:
    """The version of crowdqc, for people who are signed in."""
    return read_version()


@register.simple_tag
def form_key() -> SafeString:
    """Render a hidden field with a unique key, so that sending a form twice acts once."""
    return format_html('<input type="hidden" name="key" value="{}">', uuid4())


@register.simple_tag
@constant
def mark(state: str, label: str = "") -> SafeString:
    """Render the small mark of a state; ``label`` names it where no text is beside it."""
    if state not in MARKS:
        raise template.TemplateSyntaxError(f"No mark for state {state!r}; known: {sorted(MARKS)}.")
    naming = format_html('role="img" aria-label="{}"', label) if label else 'aria-hidden="true"'
    return mark_safe(  # noqa: S308 - parts are constants or escaped
        f'<svg class="mark mark-{state}" viewBox="0 0 12 12" width="12" height="12" {naming}>'
        f"{MARKS[state]}</svg>"
    )


@register.simple_tag
def state(name: str, text: str, sentence: str = "") -> SafeString:
    """Mark and word; with a sentence, the state line of a page header."""
    head = format_html('<span class="state">{}{}</span>', mark(name), text)
    return format_html('{}<span class="sentence">{}</span>', head, sentence) if sentence else head


@register.simple_tag
@constant
def brand_mark() -> SafeString:
    """The sign of crowdqc: an interval with its dot."""
    return mark_safe(
        '<svg viewBox="0 0 22 12" width="22" height="12" aria-hidden="true">'
        '<path d="M0 6h22" stroke="currentColor" stroke-width="2"/>'
        '<circle cx="9" cy="6" r="4.5" fill="currentColor"/></svg>'
    )


@register.simple_tag
def ring(percent_done: float) -> SafeString:
    """Render the progress ring of a running job; ``percent_done`` from 0 to 100."""
    done = min(100.0, max(0.0, float(percent_done or 0)))
    return mark_safe(  # noqa: S308 - one number among constants
        '<svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">'
        '<circle class="ring-track" cx="7" cy="7" r="5.5"/>'
        f'<circle class="ring-done" cx="7" cy="7" r="5.5" pathLength="100" '
        f'stroke-dasharray="{done:.0f} 100" transform="rotate(-90 7 7)"/></svg>'
    )


@register.simple_tag
def progress(done: numbers.Number, total: numbers.Number, label: str = "") -> SafeString:
    """Render a progress bar with a label for screen readers."""
    full = max(float(total or 0), 0.0)
    now = min(max(float(done or 0), 0.0), full)
    text = label or _("%(done)s of %(total)s") % {
        "done": numbers.count(done),
        "total": numbers.count(total),
    }
    return format_html(
        '<progress value="{}" max="{}" aria-label="{}"></progress>',
        f"{now:g}",
        f"{full or 1:g}",
        text,
    )


@register.simple_tag
@constant
def key(kind: str) -> SafeString:
    """Render a sign for legends: interval, thin, diamond, reference, band, square, ..."""
    if kind not in KEYS:
        raise template.TemplateSyntaxError(f"No legend sign {kind!r}; known: {sorted(KEYS)}.")
    width, body = KEYS[kind]
    return mark_safe(  # noqa: S308 - constants only
        f'<svg class="chart" viewBox="0 0 {width} 12" width="{width}" height="12" '
        f'aria-hidden="true">{body}</svg>'
    )


@register.filter
def heat(value: float | None, top: float = 0.5) -> str:
    """Return the class of a heat map's cell: ``h0`` to ``h5`` in six steps from 0 to ``top``."""
    if value is None:
        return "h0"
    return f"h{min(5, max(0, int(6 * float(value) / float(top))))}"


# Small helpers ---------------------------------------------------------------------------------


@register.filter
def recipe_text(pairs: Iterable[tuple[str, Any]]) -> str:
    """The recipe as one line for the clipboard."""
    return "; ".join(f"{name} {value}" for name, value in pairs)


@register.inclusion_tag("_includes/shell/site_notice.html")
def site_notice() -> dict[str, Any]:
    """Draw what the owner of the installation tells everybody on every page."""
    return {"site": current_state()}


@register.simple_tag(takes_context=True)
def page_query(context: template.Context, page: int, name: str = "") -> str:
    """Return the current query string with another page number, as "page" or under a name."""
    name = name or "page"
    request = context.get("request")
    pairs = [] if request is None else [p for p in request.GET.lists() if p[0] != name]
    return "?" + urlencode([(k, v) for k, vs in pairs for v in vs] + [(name, str(page))])


# Accounts --------------------------------------------------------------------------------------


@register.simple_tag
def offered_languages() -> list[tuple[str, str]]:
    """Return the codes of the languages of pages, each with its own name for itself."""
    return list(settings.LANGUAGES)


@register.simple_tag(takes_context=True)
def confirmation(context: dict[str, Any]) -> dict[str, str]:
    """Return what a confirmation is for, where it was left, and a demo account's password."""
    from annotation.accounts.demo import PASSWORD, offered_accounts
    from annotation.accounts.security.middleware import asked_confirmation

    request = context["request"]
    asked = dict(asked_confirmation(request))
    if any(one["username"] == request.user.username for one in offered_accounts()):
        asked["password"] = PASSWORD
    return asked


@register.inclusion_tag("annotation/accounts/_second_factor.html", takes_context=True)
def second_factor_banner(context: dict[str, Any]) -> dict[str, Any]:
    """Return the context of the banner for approvers who lack the required second factor."""
    from annotation.accounts.security.stepup import lacks_second_factor
    from annotation.payouts.actions.rules import why_not_decide_in

    access = context.get("access")
    lacking = (
        access is not None
        and lacks_second_factor(access.project, access.user)
        and not why_not_decide_in(access.project, access.user)
    )
    return {"lacking": lacking}
