"""An example plug-in of crowdqc: a method, a check of ORCID ids, a template, a format."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from crowdqc.api import (
    Additions,
    FileColumn,
    LabelEstimates,
    LabelMethod,
    LabelVotes,
    Option,
    RowFormat,
    TaskTemplate,
    TextRule,
    plugin,
)


def fit_shrunken_shares(
    votes: LabelVotes, *, rng: np.random.Generator, prior: float
) -> LabelEstimates:
    """Estimate labels by shares of votes, shrunk to how often each label is given at all.

    ``prior`` counts as so many votes of an item. A worker's quality is the share of votes that go
    with the label of the others; it has no interval. Nothing here is random.
    """
    counts = np.zeros((votes.items, len(votes.labels)))
    np.add.at(counts, (votes.item, votes.label), 1.0)
    overall = counts.sum(axis=0) / counts.sum()
    others = counts[votes.item] - np.eye(len(votes.labels))[votes.label] + prior * overall
    agrees = votes.label == others.argmax(axis=1)
    given = np.bincount(votes.worker, minlength=votes.workers)
    hits = np.bincount(votes.worker, weights=agrees, minlength=votes.workers)
    quality = np.divide(hits, given, out=np.full(votes.workers, np.nan), where=given > 0)
    shares = counts + prior * overall
    return LabelEstimates(
        probability=shares / shares.sum(axis=1, keepdims=True),
        quality=quality,
        notes={"Votes": len(votes.label), "Votes that the prior counts as": prior},
    )


METHOD = LabelMethod(
    slug="shrunken_shares",
    title="Shrunken shares",
    version="1",
    fit=fit_shrunken_shares,
    options=(
        Option(
            "prior",
            "Prior",
            1.0,
            "number",
            low=0.01,
            high=100,
            help="Votes of an item that the overall shares count as.",
        ),
    ),
)


def check_orcid(text: str) -> str:
    """Return an ORCID id with its hyphens; ValueError where its check digit is wrong."""
    digits = re.sub(r"[\s-]", "", text.strip().removeprefix("https://orcid.org/")).upper()
    if not re.fullmatch(r"\d{15}[\dX]", digits):
        raise ValueError("An ORCID id has 16 digits, such as 0000-0002-1825-0097.")
    total = 0
    for digit in digits[:15]:
        total = (total + int(digit)) * 2
    rest = (12 - total % 11) % 11
    if digits[15] != ("X" if rest == 10 else str(rest)):
        raise ValueError("The last digit does not fit the others. Check the id.")
    return "-".join(digits[at : at + 4] for at in range(0, 16, 4))


def convert_survey(row: Mapping[str, str]) -> Mapping[str, str]:
    """Make an item to label of a survey's response; ValueError without a text."""
    text = row["comment"].strip()
    if not text:
        raise ValueError("The response has no comment.")
    return {"item_id": f"response-{row['response']}", "text": text}


AUTHORS = TaskTemplate(
    slug="authors",
    title="Authors of comments",
    sentence="Workers judge a comment and find its author.",
    result="Labels, and ORCID ids in one form",
    type="labels",
    rules={
        "instructions": "Read the comment. Then look its author up.",
        "redundancy": 3,
        "settings": {
            "fields": [
                {
                    "name": "mood",
                    "question": "What is its mood?",
                    "kind": "choose_one",
                    "options": [
                        {"value": "good", "label": "Good"},
                        {"value": "bad", "label": "Bad"},
                    ],
                },
                {
                    "name": "author",
                    "question": "What is the ORCID id of its author?",
                    "kind": "short_text",
                    "required": False,
                    "rule": "example__orcid",
                },
            ]
        },
    },
    into="label_items",
    rows=({"item_id": "template-example-1", "text": "The harbour froze again."},),
)


@plugin(api="1.0", title="Example")
def register(additions: Additions) -> None:
    """Add a method, a check of text fields, a template and an import format."""
    additions.add_method(METHOD)
    additions.add_text_rule(TextRule("orcid", "ORCID id", check_orcid))
    additions.add_template(AUTHORS)
    additions.add_row_format(
        RowFormat(
            slug="survey",
            title="Comments of a survey",
            into="label_items",
            columns=(
                FileColumn("response", "Response", aliases=("response id",)),
                FileColumn("comment", "Comment", aliases=("free text",)),
            ),
            convert=convert_survey,
        )
    )
