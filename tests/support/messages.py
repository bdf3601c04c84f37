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

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

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
    "ngettext_noop": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "_": None,
    "_lazy": None,
    "_t": None,
}
# Counts are phrases of their own: ``{{ n|plural:"answer,answers" }}`` and ``plural(n, "answer")``.
COUNTED = re.compile(r'\|plural:"([^",]+)(?:,([^"]+))?"')
NOUN = re.compile(
    r"^\s+(?:(?:answer|item|known|line|new|paid|recorded|submitted)_noun\b[^=\n]*= "
    r"|noun=(?=\"))(.*)",
    re.MULTILINE,
)
GIVEN = re.compile(r"^\s+(?:answer|new)_noun\b[^=\n]*= (.*)", re.MULTILINE)
SEARCHED = ("annotation", "crowdqc", "evaluation", "templates", "static/js")


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
    rows += [(None, _counts(*pair)) for pair in _counted(ast.parse(raw))]
    if not path.startswith("evaluation/methods/"):
        for noun in nouns(raw):
            rows += [("noun", (noun,)), ("nouns", (f"{noun}s",)), (None, _counts(noun, ""))]
        rows += [(None, _counts(f"new {noun}", "")) for noun in nouns(raw, GIVEN)]
    return rows


def _counted(code: ast.Module) -> list[tuple[str, str]]:
    """Nouns of calls of ``plural`` in a module: (one, many), "" for many with an s."""
    found = []
    for call in ast.walk(code):
        if isinstance(call, ast.Call) and len(call.args) > 1:
            name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func
            if (name.id if isinstance(name, ast.Name) else name) == "plural":
                many = _texts_in(call.args[2]) if len(call.args) > 2 else []
                found += [(one, (many or [""])[0]) for one in _texts_in(call.args[1])]
    return found


def _texts_in(node: ast.expr) -> list[str]:
    """The text that an expression is, or both of a condition."""
    if isinstance(node, ast.IfExp):
        return _texts_in(node.body) + _texts_in(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def nouns(raw: str, pattern: re.Pattern[str] = NOUN) -> list[str]:
    """What is counted and named: a task's items, what is given to them, rows of boards."""
    return [noun for line in pattern.findall(raw) for noun in re.findall(r'"(\w[\w ]*)"', line)]


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
            for context, texts in found_in(path):
                if texts and texts[0]:
                    key = texts[0] if len(texts) == 1 else texts[:2]
                    found[domain].add(key, locations=[(path, 0)], context=context)
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


def missing(language: str, domain: str, template: Catalog) -> list[str]:
    """Texts of the code that the catalogue lacks."""
    kept = read(language, domain)
    found = []
    for message in template:
        there = kept.get(message.id, message.context)
        if message.id and (there is None or there.fuzzy or not all(texts_of(there.string))):
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
                if not message.id:
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
