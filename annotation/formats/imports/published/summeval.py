"""SummEval as published: summaries of news articles, expert scores, and scores of model judges.

Fabbri et al. (2021) for articles, summaries and people; the judges' scores stand in a file of
their own, which may be missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from annotation.formats.imports.published.files import Source
from crowdqc.errors import Invalid

DIMENSIONS = ("coherence", "consistency", "fluency", "relevance")
ARTICLES, SUMMARIES = "summeval_articles.csv.gz", "summeval_summaries_human.csv.gz"
JUDGES = "summeval_llm_judge_scores.csv.gz"
MOST = 5.0  # of a score
Say = Callable[[str], None]
Scores = dict[str, dict[str, float]]  # dimension -> key of a text -> score


@dataclass(frozen=True)
class Summary:
    """One summary of one article by one system."""

    key: str
    article: str
    system: str
    text: str


@dataclass(frozen=True)
class SummEval:
    """Everything that the folder holds; judges by (evaluator, prompt)."""

    articles: dict[str, str]
    summaries: list[Summary]
    people: Scores
    judges: dict[tuple[str, str], Scores] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @property
    def judged(self) -> int:
        """Number of judges' scores."""
        return sum(len(given) for one in self.judges.values() for given in one.values())


def key_of(article: str, summary: str) -> str:
    """Return the key that the project uses for a summary."""
    return f"summeval-{article}-{summary}"


def read_folder(folder: Path, *, say: Say = lambda line: None) -> SummEval:
    """Read and check a folder; raises Invalid naming the file, and the rows where some are bad."""
    if not folder.is_dir():
        raise Invalid(f"{folder} is not a folder.", fields={"file": "Name the study’s folder."})
    articles = _articles(folder)
    summaries, people = _summaries(folder, articles)
    say(f"{len(summaries):,} summaries of {len(articles):,} articles")
    source = Source(
        folder,
        JUDGES,
        needed=("evaluator", "prompt", "dimension", "article_id", "summary_id", "score"),
    )
    if not source.exists:
        return SummEval(articles, summaries, people, missing=[JUDGES])
    found = SummEval(articles, summaries, people, _judges(source, people))
    say(f"{found.judged:,} scores of {len(found.judges):,} judges")
    return found


def _articles(folder: Path) -> dict[str, str]:
    source, found = Source(folder, ARTICLES, needed=("article_id", "article")), {}
    for row in source.rows():
        if row["article_id"] in found:
            source.add_error("article_id", row["article_id"], "This article is there twice.")
        elif not row["article"].strip():
            source.add_error("article", "", "The article is empty.")
        found[row["article_id"]] = row["article"].strip()
    return found


def _summaries(folder: Path, articles: dict[str, str]) -> tuple[list[Summary], Scores]:
    source = Source(
        folder, SUMMARIES, needed=("article_id", "summary_id", "system", "summary", *DIMENSIONS)
    )
    found: dict[str, Summary] = {}
    people: Scores = {dimension: {} for dimension in DIMENSIONS}
    for row in source.rows():
        key = key_of(row["article_id"], row["summary_id"])
        if not source.known(row, "article_id", articles, "article"):
            continue
        if key in found:
            source.add_error("summary_id", row["summary_id"], "This summary is there twice.")
            continue
        if not row["summary"].strip():
            source.add_error("summary", "", "The summary is empty.")
            continue
        found[key] = Summary(key, row["article_id"], row["system"], row["summary"].strip())
        for dimension in DIMENSIONS:
            people[dimension][key] = source.number(row, dimension, most=MOST)
    return list(found.values()), people


def _judges(source: Source, people: Scores) -> dict[tuple[str, str], Scores]:
    known = people[DIMENSIONS[0]]
    found: dict[tuple[str, str], Scores] = {}
    for row in source.rows():
        key = key_of(row["article_id"], row["summary_id"])
        if not source.known(row, "dimension", DIMENSIONS, "dimension"):
            continue
        if key not in known:
            source.add_error("summary_id", row["summary_id"], "There is no such summary.")
            continue
        mine = found.setdefault((row["evaluator"], row["prompt"]), {})
        given = mine.setdefault(row["dimension"], {})
        if key in given:
            source.add_error(
                "summary_id", row["summary_id"], "This judge scores the summary twice."
            )
            continue
        given[key] = _score(source, row["score"])
    return found


def _score(source: Source, raw: str) -> float:
    """A judge's score; -1 stands for an answer without one, and for it in what was published."""
    try:
        value = float(raw)
    except ValueError:
        value = float("nan")
    if not -1 <= value <= MOST:
        source.add_error("score", raw, f"This is not a number from 0 to {MOST:g}, nor -1.")
        return 0.0
    return value
