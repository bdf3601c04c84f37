"""Extract, merge, compile and count the message catalogues.

``make messages`` rewrites ``locale/*/LC_MESSAGES/*.po`` and ``*.mo`` and prints how many texts
of each package are translated. Babel replaces GNU gettext, and Django's own ``templatize`` turns a
template into what Babel can read (docs/develop/translate.md).
"""

from __future__ import annotations

import ast
import datetime as dt
import io
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

from tests.support.source import parse_source

ROOT = Path(__file__).resolve().parents[2]
LOCALE = ROOT / "locale"
LANGUAGES = ("de", "es")
DOMAINS = ("django", "djangojs")
WRITTEN = dt.datetime(2026, 11, 27, tzinfo=dt.UTC)
KEYWORDS = {
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "_": None,
}
# Counts are phrases of their own: ``{{ n|plural:"answer,answers" }}`` and ``plural(n, "answer")``.
COUNTED = re.compile(r'\|plural:"([^",]+)(?:,([^"]+))?"')
COUNTED_CODE = re.compile(r'\bplural\([^"\n]*?,\s*"([^"]+)"(?:,\s*"([^"]+)")?\)')
NOUN = re.compile(r"\b(?:item_noun|answer_noun|submitted_noun|recorded_noun)\b[^=\n]*=\s*(.*)")
SEARCHED = ("annotation", "crowdqc", "evaluation", "templates", "static/js")
NOUNS = (
    *("question", "answer", "pair", "judgment", "text", "rating", "response", "dimension"),
    *("session", "checklist", "item", "label"),
)
# Where everything that is said is translated, and the tests demand it: what workers read.
WORKERS = (
    "templates/annotation/work/",
    "templates/annotation/task_types/_attribute_row.html",
    "templates/annotation/task_types/_thumbnail.html",
    "templates/annotation/recruitment/entry/",
    "templates/annotation/notifications/notices/",
    "templates/annotation/conversations/_form.html",
    "templates/annotation/conversations/_list.html",
    "templates/annotation/conversations/_messages.html",
    "templates/annotation/conversations/own.html",
    "templates/annotation/accounts/_events.html",
    "templates/annotation/accounts/_notices.html",
    "templates/annotation/accounts/_tokens.html",
    "templates/annotation/accounts/confirm_identity.html",
    "templates/annotation/accounts/entrance.html",
    "templates/annotation/accounts/landing.html",
    "templates/annotation/accounts/stepup_resume.html",
    "templates/annotation/accounts/projects/account",
    "templates/annotation/accounts/projects/join",
    "templates/annotation/accounts/projects/nobody_yet.html",
    "templates/annotation/accounts/projects/project_list.html",
    "templates/annotation/gallery/_own_file.html",
    "templates/annotation/payouts/details.html",
    "templates/account/",
    "templates/mfa/",
    "templates/socialaccount/",
    "templates/mail/",
    "templates/_includes/",
    "templates/evaluation/people/data/",
    "templates/evaluation/people/workers/own_card.html",
    "templates/evaluation/people/workers/_",
    "templates/evaluation/writing/replay/",
    "templates/400.html",
    "templates/403.html",
    "templates/403_csrf.html",
    "templates/404.html",
    "templates/500.html",
    "templates/503.html",
    "templates/base.html",
    "templates/bare.html",
    "templates/plain.html",
    "templates/refusal.html",
    "templates/skeleton.html",
    "annotation/accounts/account_views.py",
    "annotation/accounts/projects/consent_words.py",
    "annotation/accounts/projects/views.py",
    "annotation/accounts/security/middleware.py",
    "annotation/accounts/security/stepup.py",
    "annotation/accounts/security/log.py",
    "annotation/accounts/signing/",
    "annotation/accounts/tokens/actions.py",
    "annotation/authoring/selectors/steps.py",
    "annotation/chats/page.py",
    "annotation/chats/steps.py",
    "annotation/chats/units.py",
    "annotation/conversations/actions.py",
    "annotation/conversations/forms.py",
    "annotation/conversations/worker_views.py",
    "annotation/formats/exports/person.py",
    "annotation/installation/middleware.py",
    "annotation/models/access.py",
    "annotation/models/assignments.py",
    "annotation/models/people.py",
    "annotation/models/security.py",
    "annotation/notifications/actions/notices.py",
    "annotation/notifications/kinds.py",
    "annotation/work/actions/exclusions.py",
    "annotation/panels/actions/panels.py",
    "annotation/panels/actions/qualification.py",
    "annotation/payouts/actions/",
    "annotation/payouts/views/details.py",
    "annotation/recruitment/actions/key_sets.py",
    "annotation/recruitment/platforms/entry_params.py",
    "annotation/recruitment/views/entry.py",
    "annotation/privacy/actions/erasure.py",
    "annotation/privacy/selectors/erasure.py",
    "annotation/records/views.py",
    "annotation/templatetags/",
    "annotation/work/",
    "crowdqc/limits.py",
    "crowdqc/numbers.py",
    "crowdqc/web/",
    "evaluation/people/person_data.py",
    "evaluation/people/selectors/scores.py",
    "evaluation/people/views/data.py",
    "evaluation/writing/replay/",
    "evaluation/writing/words.py",
    "evaluation/shell.py",
    "static/js/",
)
# Of a file that workers and others share, what workers do not read.
NOT_FOR_WORKERS = (
    "annotation/work/snapshots/",
    "annotation/chats/page.py",
    "annotation/conversations/actions.py",
    "annotation/work/views/page_api.py",
    "annotation/work/actions/events.py",
    "templates/_includes/tally.html",
    "templates/_includes/steps.html",
    "templates/_includes/rail_warnings.html",
    "templates/_includes/results/",
    "templates/_includes/warning_count.html",
    "annotation/payouts/actions/",
    "crowdqc/web/terms.py",
    "crowdqc/web/manual.py",
)
# ... and of the types' checks, what a worker can be told.
CHECKS = (
    "“%(still)s” not judged yet.",
    "“%(still)s” and %(more)s more not judged yet.",
    "Line %(line)s of %(total)s is not answered yet.",
    "%(open)s of %(total)s lines are not answered yet, the first is line %(line)s.",
    (
        "At least %(wanted)s attribute is wanted; there are none.",
        "At least %(wanted)s attributes are wanted; there are none.",
    ),
    (
        "At least %(wanted)s attributes are wanted; there is %(there)s attribute.",
        "At least %(wanted)s attributes are wanted; there are %(there)s attributes.",
    ),
    "“%(scale)s” is not rated yet.",
    "“%(dimension)s” asks for left or right.",
    "The %(unseen)s response has not been on your screen. Open it, then go on.",
    "Neither response has been on your screen. Open both, then go on.",
    "“I don’t know” is not offered here; write an answer.",
    "There is no answer yet.",
    "A transcript is not offered here; type the attributes.",
    "Record what you say: nothing is recorded yet.",
    "Attributes %(first)s and %(number)s say the same; remove one.",
)
# ... but for this file.
FOR_WORKERS = ("annotation/payouts/actions/rejections.py", "annotation/payouts/details/")
# Of files that are mostly for others: functions, classes, names and keys whose texts workers read.
PARTS: dict[str, tuple[str, ...]] = {
    "annotation/accounts/demo.py": ("offered_accounts",),
    "annotation/installation/public_demo.py": ("PublicDemo",),
    "annotation/accounts/projects/actions.py": ("open_invitation", "accept_invitation"),
    "annotation/accounts/projects/forms.py": ("ProjectForm", "FirstProjectForm"),
    "annotation/conversations/actions.py": (
        "write_as_staff",
        "announce",
        "_write",
        "report_message",
        "_lock_message",
    ),
    "annotation/models/qualification.py": ("Verdict",),
    "evaluation/labels/adapter.py": ("competence_words",),
    "evaluation/pairwise/adapter.py": ("ATTENTION",),
    "evaluation/pairwise/selectors/workers.py": ("WHY",),
    "evaluation/runs/adapters.py": ("KNOWN", "BY_DIMENSION", "whole_label"),
    "evaluation/payouts/selectors/card.py": ("Time", "CANNOT_SCORE"),
    "evaluation/people/selectors/card.py": ("CANNOT_COMPETENCE", "CANNOT_PARTS", "CANNOT_AGREE"),
    **{
        f"annotation/task_types/{name}/type.py": ("in_words", "check")
        for name in ("checklist", "labels", "think_aloud", "writing")
    },
    "annotation/task_types/pairwise/type.py": ("in_words", "check", "TEMPLATE", "DEFAULT"),
    "annotation/task_types/rating/type.py": ("in_words", "check", "TEMPLATE", "COMPLETENESS"),
    "annotation/task_types/labels/fields.py": ("label_of",),
    "annotation/task_types/texts.py": ("check_words", "drafted_text"),
    "evaluation/charts/boards.py": ("Estimate", "forest_cell"),
    "evaluation/charts/replay.py": ("LANES", "_sentence", "_lengths"),
    "annotation/pairs/actions/pair_design.py": ("check",),
    "annotation/models/recruitment.py": ("Payment", "PaymentWay"),
    "annotation/panels/selectors.py": ("WAITS", "ADMITTED", "DECLINED", "STOPPED"),
    "annotation/records/selectors/audit.py": ("own_account_entries",),
    "annotation/records/selectors/audit_words.py": ("OWN",),
    "annotation/accounts/tokens/selectors.py": ("list_tokens", "TokenRow", "_row"),
    "annotation/payouts/actions/ledger.py": ("_tell_worker",),
    "annotation/payouts/actions/payments.py": ("confirm", "_book_correction_payment"),
    "annotation/payouts/actions/settle.py": ("_write_rejections", "_approved_text"),
    "crowdqc/web/terms.py": (
        *("interval", "rank", "competence", "first-round", "owed", "rho"),
        "hourly",
    ),
}
IN_PART = "#workers"


def for_workers(path: str) -> bool:
    """Whether workers read what this file says."""
    if path.startswith(FOR_WORKERS) or path.endswith(IN_PART):
        return True
    if re.fullmatch(
        r"annotation/task_types/\w+/(worker_views|page|explanation|questionnaire|rules)\.py", path
    ):
        return True
    if re.fullmatch(r"templates/annotation/task_types/\w+_answer\.html", path):
        return True
    return path.startswith(WORKERS) and not path.startswith(NOT_FOR_WORKERS)


def sources() -> dict[str, list[str]]:
    """Files by the domain of their catalogue."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *SEARCHED],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\n")
    files = sorted(set(one for one in listed if (ROOT / one).is_file()))
    code = [one for one in files if one.endswith(".py") and "/migrations/" not in one]
    pages = [one for one in files if one.startswith("templates/")]
    scripts = [one for one in files if one.startswith("static/js/")]
    return {"django": [*code, *pages], "djangojs": scripts}


def found_in(path: str) -> list[tuple[str | None, tuple[str, ...]]]:
    """What a file says: (context, (text,) or (one, many))."""
    return _found_in((ROOT / path).read_text(), path)


def _found_in(raw: str, path: str) -> list[tuple[str | None, tuple[str, ...]]]:
    if path.startswith("templates/"):
        rows = _of_template(raw)
        return rows + [(None, _counts(*pair)) for pair in COUNTED.findall(raw)]
    if path.endswith(".js"):
        return _of_script(raw)
    rows = []
    for _line, said, _comments, context in extract(
        "python", io.BytesIO(raw.encode()), KEYWORDS, options={"encoding": "utf-8"}
    ):
        texts = said if isinstance(said, tuple) else (said,)
        rows.append((context, tuple(str(one) for one in texts)))
    rows += [(None, _counts(*pair)) for pair in COUNTED_CODE.findall(raw)]
    if path.startswith("annotation/task_types/"):
        for noun in nouns(raw):
            rows += [("noun", (noun,)), ("nouns", (f"{noun}s",)), (None, _counts(noun, ""))]
    return rows


def _parts(raw: str, names: tuple[str, ...]) -> str:
    """The code of these functions, classes and names, and of these keys of dictionaries."""
    parts = []
    for node in ast.walk(parse_source(raw)):
        found: list[tuple[Any, ast.AST]] = []
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found = [(node.name, node)]
        elif isinstance(node, ast.Assign):
            found = [(getattr(one, "id", ""), node) for one in node.targets]
        elif isinstance(node, ast.AnnAssign):
            found = [(getattr(node.target, "id", ""), node)]
        elif isinstance(node, ast.Dict):
            found = [
                (getattr(k, "value", ""), v) for k, v in zip(node.keys, node.values, strict=True)
            ]
        parts += [ast.get_source_segment(raw, part) or "" for name, part in found if name in names]
    return "\n".join(parts)


def nouns(raw: str) -> list[str]:
    """What a type of task calls its items and what is given to them."""
    return [noun for line in NOUN.findall(raw) for noun in re.findall(r'"(\w[\w ]*)"', line)]


# What templatize makes of the tags; around them stands no code at all.
TEXT = r"""u?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
CALL = re.compile(rf"(?<!\w)(gettext|ngettext|pgettext|npgettext|_)\({TEXT}(?:, ?{TEXT})?")


# Babel's own reader takes a quote in a regular expression for the beginning of a text.
SCRIPT_CALL = re.compile(
    r"(?<![\w.])(gettext|ngettext|pgettext|npgettext)\(\s*"
    r'("(?:[^"\\]|\\.)*")(?:,\s*("(?:[^"\\]|\\.)*"))?(?:,\s*("(?:[^"\\]|\\.)*"))?'
)


def _of_script(raw: str) -> list[tuple[str | None, tuple[str, ...]]]:
    rows: list[tuple[str | None, tuple[str, ...]]] = []
    for name, *quoted in SCRIPT_CALL.findall(raw):
        texts = tuple(ast.literal_eval(one) for one in quoted if one)
        rows.append((texts[0], texts[1:]) if name in ("pgettext", "npgettext") else (None, texts))
    return rows


def _of_template(raw: str) -> list[tuple[str | None, tuple[str, ...]]]:
    rows: list[tuple[str | None, tuple[str, ...]]] = []
    for name, first, second in CALL.findall(templatize(raw)):
        texts = tuple(ast.literal_eval(one) for one in (first, second) if one)
        # Percent signs are doubled for gettext's own reader, and single at run time.
        rows.append((texts[0], texts[1:]) if name == "pgettext" else (None, texts))
    return rows


def _counts(one: str, many: str) -> tuple[str, str]:
    return f"%(count)s {one}", f"%(count)s {many or one + 's'}"


def collected() -> dict[str, Catalog]:
    """Everything that can be translated, by domain; each text knows the files that say it."""
    found = {}
    for domain, files in sources().items():
        found[domain] = Catalog(fuzzy=False)
        for path in files:
            rows = [(path, row) for row in found_in(path)]
            if path in PARTS:
                part = _parts((ROOT / path).read_text(), PARTS[path])
                rows += [(path + IN_PART, row) for row in _found_in(part, path)]
            for place, (context, texts) in rows:
                if texts and texts[0]:
                    key = texts[0] if len(texts) == 1 else texts[:2]
                    found[domain].add(key, locations=[(place, 0)], context=context)
    return found


def read(language: str, domain: str) -> Catalog:
    """The catalogue as it is kept."""
    path = LOCALE / language / "LC_MESSAGES" / f"{domain}.po"
    if not path.exists():
        return Catalog(locale=language)
    with path.open("rb") as file:
        return read_po(file, locale=language)


def compiled(catalog: Catalog) -> bytes:
    """The catalogue as programs read it."""
    out = io.BytesIO()
    write_mo(out, catalog)
    return out.getvalue()


def texts_of(message: object) -> list[str]:
    """The forms of a message or of its translation."""
    return list(message) if isinstance(message, (tuple, list)) else [str(message)]


def wanted(message: Message) -> bool:
    """Whether it has to be translated: workers read it."""
    if message.context == "nouns":
        return False  # said of several on pages of requesters alone
    counted = {_counts(noun, "") for noun in NOUNS}
    return bool(message.id) and (
        message.context == "noun"
        or message.id in CHECKS
        or message.id in counted
        or any(for_workers(path) for path, _line in message.locations)
    )


def missing(language: str, domain: str, template: Catalog) -> list[str]:
    """What workers read and the catalogue does not say."""
    kept = read(language, domain)
    found = []
    for message in template:
        if wanted(message):
            there = kept.get(message.id, message.context)
            if there is None or there.fuzzy or not all(texts_of(there.string)):
                found.append(texts_of(message.id)[0])
    return found


def update() -> None:
    """Merge what the code says into the catalogues, and compile them."""
    for domain, template in collected().items():
        for language in LANGUAGES:
            kept = read(language, domain)
            # A head without times, so that what did not change is the same file.
            merged = Catalog(
                locale=language,
                project="crowdqc",
                header_comment="# Texts of crowdqc; see docs/develop/translate.md.",
                creation_date=WRITTEN,
                revision_date=WRITTEN,
                last_translator="crowdqc",
                language_team=language,
                msgid_bugs_address="",
                fuzzy=False,
            )
            for message in template:
                if not wanted(message):
                    continue
                old = kept.get(message.id, message.context)
                if old and isinstance(old.id, str) != isinstance(message.id, str):
                    old = None  # it has become a count
                merged.add(message.id, old.string if old else None, context=message.context)
            folder = LOCALE / language / "LC_MESSAGES"
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / f"{domain}.po").open("wb") as file:
                write_po(file, merged, omit_header=False, sort_output=True, width=99)
            (folder / f"{domain}.mo").write_bytes(compiled(read(language, domain)))


def coverage() -> list[str]:
    """Report a line per package: texts that can be translated, and how many are."""
    rows: dict[str, Counter[str]] = {}
    for domain, template in collected().items():
        kept = {language: read(language, domain) for language in LANGUAGES}
        for message in template:
            if not message.id:
                continue
            packages = {"/".join(path.split("/")[:2]) for path, _line in message.locations}
            if wanted(message):
                packages.add("WORKERS' PAGES")
            for package in packages | {"ALL"}:
                count = rows.setdefault(package, Counter())
                count["texts"] += 1
                for language in LANGUAGES:
                    there = kept[language].get(message.id, message.context)
                    count[language] += bool(there and all(texts_of(there.string)))
    return [
        f"{package:<32} {count['texts']:5} texts"
        + "".join(f"  {code} {count[code] / count['texts']:4.0%}" for code in LANGUAGES)
        for package, count in sorted(rows.items())
    ]


if __name__ == "__main__":
    update()
    print("\n".join(coverage()))
