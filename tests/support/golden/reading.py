"""What is recorded of an answer: what people and programs read of it, without its markup."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from urllib.parse import urljoin

from lxml import html

Record = dict[str, Any]
MOST_JSON = 200_000  # bytes from which on an answer is recorded by its hash
FINDINGS = {
    "verdict",
    "verdict-note",
    "next-step",
    "note",
    "notice",
    "warn",
    "sentence",
    "reading",
    "chart-note",
    "lead",
    "under-table",
    "empty-line",
    "action",
    "state-line",
}
BEFORE_MARK = re.compile(r" ([.,;:!?)\]%’”])")
AFTER_MARK = re.compile(r"([(\[“‘]) ")


def text_of(element: html.HtmlElement) -> str:
    """The words of an element, as one line whatever its markup is."""
    line = " ".join(" ".join(element.itertext()).split())
    return AFTER_MARK.sub(r"\1", BEFORE_MARK.sub(r"\1", line))


def clean(root: html.HtmlElement) -> html.HtmlElement:
    """The document without scripts; what a "?" explains is named and not repeated."""
    for element in list(root.iter("script", "style", "template")):
        element.drop_tree()
    for element in list(root.iter(html.etree.Comment)):
        element.drop_tree()
    for mark in root.xpath("//button[contains(@class, 'help-mark')]"):
        mark.text = f"(?{mark.get('popovertarget', '').removeprefix('help-')})"
    for popover in root.xpath("//*[contains(@class, 'popover') and @popover]"):
        popover.drop_tree()
    return root


def parse(content: str) -> html.HtmlElement | None:
    """The document, cleaned; None where there is nothing in it."""
    return clean(html.document_fromstring(content)) if content.strip() else None


def classes(element: html.HtmlElement) -> set[str]:
    return set((element.get("class") or "").split())


def cell(element: html.HtmlElement) -> str:
    """A cell's words; in front of them what a narrow screen writes there."""
    label = " ".join((element.get("data-label") or "").split())
    return f"[{label}] {text_of(element)}" if label else text_of(element)


def table(element: html.HtmlElement) -> Record:
    """A table's caption and the cells of each of its rows."""
    caption = element.find("caption")
    return {
        "caption": "" if caption is None else text_of(caption),
        "rows": [
            [cell(one) for one in row.iterchildren("th", "td")]
            for row in element.iter("tr")
            if next(row.iterancestors("table")) is element
        ],
    }


def _inside(element: html.HtmlElement, found: set[html.HtmlElement]) -> bool:
    return any(one in found or one.tag == "table" for one in element.iterancestors())


def findings(main: html.HtmlElement) -> Iterator[list[Any]]:
    """What the page says in sentences: class, words, and where its links lead."""
    found: set[html.HtmlElement] = set()
    for element in main.iter(html.etree.Element):
        kinds = sorted(classes(element) & FINDINGS)
        parent = element.getparent()
        if not kinds and element.tag == "p" and parent is not None:
            kinds = ["section-head"] if "section-head" in classes(parent) else []
        if not kinds or _inside(element, found):
            continue
        found.add(element)
        said = text_of(element)
        if said:
            links = [f"{text_of(one)} -> {one.get('href')}" for one in element.iter("a")]
            yield [" ".join(kinds), said, *links]


def facts(main: html.HtmlElement) -> list[str]:
    """Key figures: each list of terms, a line a term."""
    lines = []
    for box in main.iter("dl"):
        term = ""
        for one in box.iter("dt", "dd"):
            if one.tag == "dt":
                term = text_of(one)
            else:
                lines.append(f"{term}: {text_of(one)}")
    return lines


def words_before_figure(main: html.HtmlElement) -> int | None:
    """Words under the page's head before the first number; None where there is no number."""
    count = 0
    for text in _shown(main):
        for word in text.split():
            if re.search(r"\d", word):
                return count
            count += bool(re.search(r"\w", word))
    return None


HIDDEN = {"hidden", "page-head", "crumbs", "popover"}


def _shown(element: html.HtmlElement) -> Iterator[str]:
    """Texts in their order, without what is hidden, drawn or the page's head."""
    if element.tag in ("svg", "nav", "select", "option") or element.get("hidden") is not None:
        return
    if classes(element) & HIDDEN:
        return
    if element.text:
        yield element.text
    for child in element:
        if isinstance(child.tag, str):
            yield from _shown(child)
        if child.tail:
            yield child.tail


def charts(main: html.HtmlElement) -> list[str]:
    """Each drawing: what it is called, and a digest of how it is drawn."""
    found = []
    for svg in main.iter("svg"):
        if (
            next(svg.iterancestors("svg"), None) is None
            and next(svg.iterancestors("table"), None) is None
        ):
            name = svg.get("aria-label") or text_of(svg)[:60]
            drawn = " ".join(html.tostring(svg, encoding="unicode", with_tail=False).split())
            found.append(f"{name} #{sha256(drawn.encode()).hexdigest()[:8]}")
    return found


def page(content: str) -> Record:
    """A page, or a part of one."""
    root = parse(content)
    if root is None:
        return {"empty": True}
    main = root.find(".//main")
    main = root if main is None else main
    title = root.find(".//title")
    found: Record = {
        "title": "" if title is None else text_of(title),
        "headings": [f"{one.tag} {text_of(one)}" for one in root.iter("h1", "h2", "h3")],
        "tables": [table(one) for one in root.iter("table")],
        "findings": list(findings(main)),
        "facts": facts(main),
        "charts": charts(main),
        "words before a figure": words_before_figure(main),
    }
    numbers = [
        f"{one.get('data-at')} = {one.get('value')}"
        for one in root.iter("data")
        if one.get("data-at")
    ]
    if numbers:
        found["numbers"] = numbers
    return {name: value for name, value in found.items() if value not in ([], "")}


def links(content: str, address: str) -> list[str]:
    """Where a page leads to, as whole addresses of this instance."""
    root = parse(content)
    if root is None:
        return []
    found = [one.get("href") for one in root.iter("a")] + root.xpath("//@hx-get")
    whole = {urljoin(address, one.strip()).partition("#")[0] for one in found if one}
    return sorted(one for one in whole if one.startswith("/"))


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def csv_file(content: bytes) -> Record:
    text = content.decode("utf-8-sig")
    rows = csv.reader(io.StringIO(text))
    return {
        "header": ",".join(next(rows, [])),
        "lines": sum(1 for _ in rows),
        "sha256": digest(content),
    }


def archive(content: bytes) -> Record:
    """Names, and what each member is: numbers of a report, the header of a table, or its hash."""
    members: Record = {}
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        for name in file.namelist():
            data = file.read(name)
            data = gzip.decompress(data) if name.endswith(".gz") else data
            members[name] = csv_file(data) if name.endswith(".csv") else {"sha256": digest(data)}
            if name.endswith("manifest.json") and len(data) < MOST_JSON:
                members[name] = {"json": json.loads(data)}
    return {"members": members}


def json_answer(content: bytes) -> Record:
    if len(content) <= MOST_JSON:
        return {"json": json.loads(content)}
    told = json.loads(content)
    about = sorted(told) if isinstance(told, dict) else len(told)
    return {"json of": about, "bytes": len(content), "sha256": digest(content)}


def body(kind: str, content: bytes) -> Record:
    """What is recorded of a body of this type."""
    if kind == "text/html":
        return page(content.decode())
    if kind == "text/csv":
        return csv_file(content)
    if kind == "application/json" and content:
        return json_answer(content)
    if kind == "application/zip":
        return archive(content)
    return {"bytes": len(content), "sha256": digest(content)} if content else {}
