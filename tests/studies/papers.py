"""Where each table of the four papers is in the product, and what it measures.

``python -m tests.studies.papers NAME ...`` runs reproductions (``manage.py reproduce``) and keeps
their counts and headline figures in ``docs/methods/papers.json``, from which
``docs/methods/papers.md`` is made. ``--rows NAME=FILE`` takes rows that ``--json`` printed instead.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
MEASURED = ROOT / "docs" / "methods" / "papers.json"
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Entry:
    """What a paper describes, and where it is: a page of the manual, and tables of a command.

    ``tables`` are the names that rows of ``command`` have. ``headline`` begins the quantity whose
    figures are shown. ``missing`` says what is not measured, or is not in crowdqc.
    """

    section: str
    printed: str
    subject: str
    page: str
    command: str = ""
    tables: tuple[str, ...] = ()
    headline: str = ""
    missing: str = ""


AQER, BASELINES = "aqer.md", "baselines.md"
WRITE, PAIR = "../guides/requester.md", "bradley-terry.md"
ENCODER = "published encoder (RoBERTa-large) not measured"
OWN_DATA = "the two Wikipedia data sets are not public"
DRAWN = "drawn only; no printed figures"
NO_SCORES = "scores of other prompts are not public"

PAPERS: dict[str, tuple[Entry, ...]] = {
    "AQER": (
        Entry("4.1.2", "Figure 1", "bounds of the error", AQER, "aqer-simulations",
              ("Figure 1",), missing=DRAWN),
        Entry("4.2, 6.1", "Table 3", "workers scored without a key", AQER, "aqer-cs",
              ("Table 3",), "AQER, MiniLM, Pearson", f"{ENCODER}; {OWN_DATA}"),
        Entry("5.4, H", "Table 3", "simpler methods beside it", BASELINES, "aqer-cs",
              ("Table 3",), "Roy et al., sequences up to 2, Pearson", "LLM as a judge not run"),
        Entry("6.2", "Figure 3", "models' answers against graders", BASELINES, "aqer-cs",
              ("Figure 3",), missing=f"{DRAWN}; the models' answers are not public"),
        Entry("A", "Tables A1, A2", "two graders, and how questions go with the rest", AQER,
              missing=OWN_DATA),
        Entry("B1, B2", "Table B1", "other similarities and starts", AQER, "aqer-cs",
              ("Table B1",), "negative Euclidean", "GPT-3 and entailment not measured"),
        Entry("B3", "-", "proof of convergence", AQER, missing="a proof; nothing to measure"),
        Entry("C", "Table C1", "with and without iterating", AQER, "aqer-cs", ("Table C1",),
              "improvement by iterating", ENCODER),
        Entry("D", "Table D1", "rank correlation", BASELINES, "aqer-cs", ("Table D1",),
              "AQER, MiniLM, Spearman", ENCODER),
        Entry("6.1.4, E", "Figure E1", "fewer questions", AQER, "aqer-cs", ("Figure E1",),
              "10 questions, MiniLM, Pearson", ENCODER),
        Entry("F", "Figure F1", "low-quality workers who agree", AQER, "aqer-simulations",
              ("Figure F1",), "correlation at which the sign flips"),
        Entry("F, K", "Figures F2 to F4", "few, noisy and biased workers; wrong answers", AQER,
              "aqer-simulations", ("Figure F2", "Figure F3", "Figure F4", "App. K"),
              missing=DRAWN),
        Entry("G", "Tables G1, G2", "bags of words and majority vote", BASELINES, "aqer-cs",
              ("Table G1", "Table G2"), "bag of words, weighted majority"),
        Entry("6.3.2, I", "Figure I1", "the best answer to a question", BASELINES, "aqer-cs",
              ("Figure I1",), missing=DRAWN),
        Entry("L", "Figure L1", "another prompt", "../guides/requester.md",
              missing="the models' answers are not public"),
        Entry("M", "Table M1", "screening, choosing models, incentives", "../guides/manager.md"),
        Entry("6.1.5, N", "Table N1", "answers dealt at random", BASELINES, "aqer-cs",
              ("Table N1",), "20 % random assignment, MiniLM", ENCODER),
        Entry("P", "Table P2", "cosine with the key against grades", AQER, "aqer-cs",
              ("Table P2",), "cosine with the key against grades, MiniLM", OWN_DATA),
    ),
    "CrowdRAG": (
        Entry("1", "Table 1", "size, time and cost", WRITE, "crowdrag", ("Table 1",),
              "pairwise judgments of people", "fees are not in the data"),
        Entry("1", "Table 1", "responses", WRITE, "crowdrag-writing", ("Table 1",),
              "minutes per response"),
        Entry("3.1.3 to 3.1.5", "text", "writers and questionnaires", WRITE, "crowdrag-writing",
              ("section 3.1",), "correlation of knowledge"),
        Entry("3.1.4", "text", "signals of writing", WRITE, "crowdrag-signals", ("Signals",),
              missing="keys and pastes were not published"),
        Entry("3.2", "Table 2", "questions on pairs; pairs, workers, time", PAIR, "crowdrag",
              ("section 3.2",), "unique pairs"),
        Entry("4.1", "Figure 1", "words, statements, documents", WRITE, "crowdrag-writing",
              ("section 4.1", "Figure 1"), "documents per response, human"),
        Entry("4.2", "Table 3", "documents chosen (Jaccard) and order (Spearman)", WRITE,
              "crowdrag-writing", ("Table 3",), "Jaccard, human and LLM, average"),
        Entry("4.2", "Figure 2", "rank and citation", WRITE, "crowdrag-writing", ("Figure 2",),
              "rank of cited passages, average, human"),
        Entry("4.4", "Figure 3", "text reuse", WRITE, "crowdrag-writing", ("Figure 3",),
              "statements under BLEU 25, news, human"),
        Entry("4.5", "Figure 4", "where citations stand", WRITE, "crowdrag-writing",
              ("Figure 4",), missing=DRAWN),
        Entry("4.6", "Figure 5", "readability", WRITE, "crowdrag-writing", ("Figure 5",),
              "centre of Flesch reading ease, text, LLM", "hyphenation points for syllables"),
        Entry("5.1", "Table 4", "agreement and competence", "agreement.md", "crowdrag",
              ("Table 4",), "alpha, all pairs, C*, mean", "published MACE run has no seed"),
        Entry("5.1", "Table 5", "order effects", "agreement.md", "crowdrag", ("Table 5",),
              "alpha, both directions, mean"),
        Entry("5.1", "Table 6", "how dimensions go together", "agreement.md", "crowdrag",
              ("Table 6",), "tau-b, topical correctness and overall quality"),
        Entry("5.2", "Table 7", "grades by origin and style", PAIR, "crowdrag", ("Table 7",),
              "mean grade, bullet, LLM, logical coherence"),
        Entry("5.3", "Table 8", "similarity to the best text", PAIR, "crowdrag", ("Table 8",),
              "Spearman, full ranking, BLEU, logical coherence",
              "published BERTScore model; the printed rows stand under the wrong labels: moved, "
              "all 28 of BLEU and ROUGE-L agree"),
        Entry("5.4", "Table 9", "a model as judge", "alternative-annotator-test.md", "crowdrag",
              ("Table 9",), "alpha of the LLM with gold, combined, topical"),
    ),
    "Explanation-based rescaling": (
        Entry("3.1", "Tables 1, 2", "questions and answers", "rescaling.md", "rescaling",
              ("Table 1", "Table 2"), "questions, INQUISITIVE", "the tokeniser is not stated"),
        Entry("4.1", "Table 3", "labels by system", "rescaling.md", "rescaling", ("Table 3",),
              "all systems, complete"),
        Entry("4.2", "Table 4", "audit of explanations", "rescaling.md",
              missing="the expert's verdicts are not public"),
        Entry("4.3", "Table 5", "labels by annotator", "rescaling.md", "rescaling", ("Table 5",),
              "annotator 6, missing_all"),
        Entry("4, 4.3", "text", "agreement on ratings", "rescaling.md", "rescaling",
              ("Section 4", "Section 4.3"), "Fleiss' kappa"),
        Entry("5.2, 5.3", "Table 6", "mean score of a label", "rescaling.md", "rescaling",
              ("Table 6", "Section 5.2"), "mean score of missing_major", NO_SCORES),
        Entry("6.2", "Table 7", "change by pair of annotators", "rescaling.md", "rescaling",
              ("Table 7",), "pairs with a positive change"),
        Entry("6.2", "Table 8", "mean agreement before and after", "rescaling.md", "rescaling",
              ("Table 8",), "tau-b with rescaling", NO_SCORES),
        Entry("6.3", "Figure 5", "one pair in detail", "rescaling.md", "rescaling",
              ("Section 6.3", "Figure 5"), "annotators 0 and 4, both score it below 100"),
        Entry("7.1", "Table 9", "other prompts", "rescaling.md", missing=NO_SCORES),
        Entry("7.2", "Table 10", "mixed with the annotator's mean", "rescaling.md", "rescaling",
              ("Table 10",), "EBR + AR, lambda 0.3", f"the mean used is not stated; {NO_SCORES}"),
        Entry("E", "Table 11", "all 28 pairs", "rescaling.md", "rescaling", ("Table 11",),
              "annotators 0 and 4, change"),
    ),
    "InteractEval": (
        Entry("3.3", "Table 1", "thinking aloud, people and models", "checklists.md",
              missing="four people described; nothing to measure"),
        Entry("3.4, 3.5", "equation 1", "checklists and their scores", "checklists.md",
              missing="checklists and judgments are not public"),
        Entry("4.3.1", "equation 2", "correlation by article (other judges)", "checklists.md",
              "summeval", ("out_summeval_corr.csv",),
              "gpt-4-0314 rts, coherence, Spearman"),
        Entry("5.1", "Table 2", "against other measures", "checklists.md", "interacteval",
              ("Table 2",), "InteractEval, GPT-4, average, Spearman",
              "only whether printed averages are means of printed columns"),
        Entry("5.2", "Table 3", "single models", "checklists.md", "interacteval", ("Table 3",),
              "GPT-4, average, Spearman", "as for Table 2"),
        Entry("5.3", "Table 4", "Fisher's z between conditions", "checklists.md", "interacteval",
              ("Table 4",), "z, SL against Comb, coherence, Spearman",
              "follows from Tables 2 and 3 for no number of texts"),
        Entry("5.3", "Figures 4 to 7", "conditions, diversity, topics, similarity",
              "checklists.md", missing="attributes are not public"),
        Entry("4.4, G", "text", "sets of attributes compared blind", "checklists.md",
              missing="the interviews are not public"),
    ),
}  # fmt: skip


def measured() -> dict[str, Any]:
    """Counts by command and table, and headline figures."""
    return dict(json.loads(MEASURED.read_text())) if MEASURED.exists() else {}


def summary(command: str, rows: Rows) -> dict[str, Any]:
    """What is kept of a command's rows: counts by table, and headlines of its entries."""
    tables: dict[str, dict[str, int]] = {}
    for row in rows:
        own = tables.setdefault(row["table"], {"rows": 0, "printed": 0, "within_rounding": 0})
        own["rows"] += 1
        if row["is_counted"]:
            own["printed"] += 1
            own["within_rounding"] += bool(row["is_within_rounding"])
    headlines = {}
    for entry in (entry for entries in PAPERS.values() for entry in entries):
        if entry.command == command and entry.headline:
            row = next(row for row in rows if _is_headline(entry, row))
            headlines[f"{entry.tables[0]}: {entry.headline}"] = {
                name: row[name] for name in ("quantity", "protocol", "published", "measured")
            }
    return {"tables": tables, "headlines": headlines}


def _is_headline(entry: Entry, row: Mapping[str, Any]) -> bool:
    own = row["table"] in entry.tables and row["quantity"].startswith(entry.headline)
    return bool(own and row["is_counted"])


def counts_part() -> str:
    """Markdown: printed figures compared and those within rounding, a row a paper."""
    found = measured()
    lines = [
        "| paper | printed figures compared | within rounding | commands |",
        "|---|---|---|---|",
    ]
    for paper, entries in PAPERS.items():
        names = sorted({entry.command for entry in entries if entry.command} - {"summeval"})
        tables = [table for name in names for table in found[name]["tables"].values()]
        printed, within = (
            sum(table[key] for table in tables) for key in ("printed", "within_rounding")
        )
        commands = ", ".join(f"`{name}`" for name in names)
        lines.append(f"| {paper} | {printed} | {within} | {commands} |")
    return "\n".join(lines) + "\n"


def paper_part(paper: str) -> str:
    """Markdown: the table of one paper."""
    head = ("in the paper", "in crowdqc", "command", "within rounding", "headline", "missing")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    found = measured()
    for entry in PAPERS[paper]:
        place = ", ".join(part for part in (entry.printed, entry.section) if part != "-")
        title = entry.page.rpartition("/")[2].removesuffix(".md").replace("-", " ")
        cells = (
            f"{place}: {entry.subject}",
            f"[{title}]({entry.page})",
            f"`{entry.command}`" if entry.command else "-",
            *_figures(entry, found.get(entry.command, {})),
            entry.missing or "-",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _figures(entry: Entry, found: Mapping[str, Any]) -> tuple[str, str]:
    """Agreement within rounding, and the headline with its figures; dashes for none."""
    tables = [found["tables"][name] for name in entry.tables if name in found["tables"]]
    printed = sum(table["printed"] for table in tables)
    share = f"{sum(table['within_rounding'] for table in tables)} of {printed}" if printed else "-"
    if not entry.headline:
        return share, "-"
    row = found["headlines"][f"{entry.tables[0]}: {entry.headline}"]
    figures = f"printed {_number(row['published'])}, measured {_number(row['measured'])}"
    return share, f"{row['quantity']}: {figures}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def keep(found: Mapping[str, Rows]) -> None:
    """Put the summaries of these commands in the file, beside those of others."""
    kept = measured() | {name: summary(name, rows) for name, rows in found.items()}
    MEASURED.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")


def run(names: Iterable[str]) -> dict[str, Rows]:
    """Measure the commands anew; the data is named by CROWDQC_DATA."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    import django

    django.setup()
    from evaluation.published.reproduce import REPRODUCTIONS
    from evaluation.published.reproduce.data import data_folder

    return {
        name: [
            row.as_comparison()
            for row in REPRODUCTIONS[name].measure(data_folder(), say=print, seed=0)
        ]
        for name in names
    }


def main() -> None:
    """Measure the commands named, or read their rows, and keep what the page shows."""
    parser = argparse.ArgumentParser(prog="python -m tests.studies.papers")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rows", action="append", default=[], metavar="NAME=FILE")
    options = parser.parse_args()
    read = dict(pair.split("=", 1) for pair in options.rows)
    keep({name: json.loads(Path(path).read_text()) for name, path in read.items()})
    keep(run(options.names))


if __name__ == "__main__":
    main()
