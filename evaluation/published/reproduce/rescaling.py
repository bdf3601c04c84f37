"""The tables of explanation-based rescaling, measured again from the published scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crowdqc.errors import Invalid
from evaluation.methods.core.base import FloatArray
from evaluation.methods.rescaling.data import Annotations, incomplete, shared
from evaluation.methods.rescaling.method import (
    Agreement,
    agreement,
    label_means,
    rescale,
    without_ties,
)
from evaluation.published.reproduce.columns import columns, numbers
from evaluation.published.reproduce.rescaling_published import (
    LAMBDAS,
    TABLE_3,
    TABLE_6,
    TABLE_7,
    TABLE_8,
    TABLE_10,
    TABLE_11,
)
from evaluation.published.reproduce.rows import Row

TITLE = "Explanation-based rescaling on INQUISITIVE-BROAD (Wadhwa et al. 2024)"
LEFT_OUT = (
    "Not measured: scores from other prompts (without the article, explanation only, with question "
    "or answer: part of Tables 8, 9, 10 and 11), which were not published; Tables 4 and 5, which "
    "need an expert's judgments or an unnamed subset. The repository's own script does not give "
    "the paper's numbers; these recipes do."
)
PART = "explanation-rescaling"
LABELS = ("missing_all", "missing_major", "missing_minor", "complete")
VALUES = (0.0, 30.0, 70.0, 100.0)
DRAWS = 50
SYSTEMS = {
    "all systems": "",
    "text-davinci": "davinci",
    "text-davinci-003": "text-davinci-003",
    "GPT-4": "gpt4",
    "expert human": "human",
}
JOIN = "inner join on the item, repeated ratings cross-multiplied"
Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Published:
    """The annotations, and of each one (n,) its system and whether it is of INQUISITIVE."""

    data: Annotations
    system: NDArray[np.str_]
    inquisitive: NDArray[np.bool_]


def read(folder: Path) -> Published:
    """The published annotations. Raises Invalid naming the file, the column or the row."""
    items = columns(folder, PART, "ebr_items.csv.gz", ("item_id", "dataset", "system"))
    name = "ebr_annotations.csv.gz"
    rows = columns(
        folder, PART, name, ("item_id", "worker_id", "complete_label", "feedback", "ebr_num")
    )
    wrong = next((label for label in rows["complete_label"] if label not in LABELS), None)
    if wrong is not None:
        raise Invalid(f"{name} has a complete_label {wrong!r}.", fields={"data": "label"})
    data = Annotations.from_names(
        rows["worker_id"],
        rows["item_id"],
        rows["complete_label"],
        numbers(name, "ebr_num", rows["ebr_num"], missing=True),
        labels=LABELS,
        values=VALUES,
        explained=[bool(text.strip()) for text in rows["feedback"]],
    )
    place = {item: k for k, item in enumerate(items["item_id"])}
    unknown = next((item for item in rows["item_id"] if item not in place), None)
    if unknown is not None:
        raise Invalid(f"{name} has an item {unknown!r} that ebr_items.csv.gz lacks.")
    at = [place[item] for item in rows["item_id"]]
    return Published(
        data,
        np.array(items["system"])[at],
        (np.array(items["dataset"]) == "inq")[at],
    )


def reproduce(folder: Path, *, say: Say, seed: int = 0, repetitions: int = DRAWS) -> list[Row]:
    """All rows; ``repetitions`` is the number of noisy draws of the setting without ties."""
    published = read(folder)
    data = published.data
    joined = shared(data)
    scores = rescale(data)
    say(f"Agreement of {len(joined)} pairs of annotators")
    found = {
        "all": agreement(data, joined, data.rating, scores),
        "incomplete": agreement(data, incomplete(data, joined), data.rating, scores),
    }
    rows = [*distribution_rows(published), binary_row(data), *label_rows(data, scores)]
    rows += change_rows(found) + aggregate_rows(found)
    say(f"Without ties, {repetitions} draws")
    rng = np.random.default_rng(seed)
    untied = without_ties(joined, data.rating, scores, rng=rng, draws=repetitions)
    rows += untied_rows(untied, repetitions)
    say("Ensembles with the annotator's mean")
    return rows + ensemble_rows(published) + pair_rows(found["incomplete"], data)


def distribution_rows(published: Published) -> list[Row]:
    """Table 3: how often each label was given."""
    rows = []
    for name, start in SYSTEMS.items():
        kept = np.char.startswith(published.system, start)
        share = np.bincount(published.data.label[kept], minlength=len(LABELS)) / kept.sum()
        note = "few-shot and zero-shot answers together" if name == "text-davinci-003" else ""
        for label, value, figure in zip(LABELS, TABLE_3[name], share, strict=True):
            rows.append(
                Row("Table 3", f"{name}, {label}, per cent", "ratings", value, 100 * figure, note)
            )
    return rows


def binary_row(data: Annotations) -> Row:
    """Section 4.3: tau-b of complete against not complete."""
    best = (data.label == len(LABELS) - 1).astype(np.float64)
    found = agreement(data, shared(data), best, best)
    return Row(
        "Section 4.3",
        "tau-b, complete or not, mean over pairs",
        JOIN,
        0.301,
        found.mean.before,
        "the .175 given beside it for four labels is not Table 8's .3305",
    )


def label_rows(data: Annotations, scores: FloatArray) -> list[Row]:
    """Table 6: mean rescaled score of each label; does not reproduce."""
    note = "does not reproduce from the published scores, with or without weighting annotators"
    return [
        Row(
            "Table 6",
            f"mean score of {name}",
            "all annotations",
            value,
            float(scores[data.label == k].mean()),
            note,
        )
        for k, (name, value) in enumerate(zip(LABELS, TABLE_6, strict=True))
    ]


def change_rows(found: dict[str, Agreement]) -> list[Row]:
    """Table 7: changes of the pairs' tau-b."""
    rows = []
    for setting, values in TABLE_7.items():
        d = found[setting].difference
        d = d[np.isfinite(d)]
        up, down = d[d > 0], d[d < 0]
        measured = {
            "mean positive change of tau-b": up.mean() if len(up) else 0.0,
            "pairs with a positive change": len(up),
            "mean negative change of tau-b": down.mean() if len(down) else 0.0,
            "pairs with a negative change": len(down),
            "pairs with a change > .1": (d > 0.1).sum(),
            "pairs with a change < -.1": (d < -0.1).sum(),
        }
        rows += [
            Row("Table 7", quantity, setting, value, float(figure))
            for (quantity, figure), value in zip(measured.items(), values, strict=True)
        ]
    return rows


def aggregate_rows(found: dict[str, Agreement]) -> list[Row]:
    """Table 8: mean tau-b over pairs, with the interval of the change that the paper lacks."""
    rows = []
    for setting, table in found.items():
        mean = table.mean
        change = (
            f"change {mean.after - mean.before:+.4f}, 95 % interval over items "
            f"[{mean.low:+.4f}, {mean.high:+.4f}]"
            if not mean.reason
            else f"change {mean.after - mean.before:+.4f}; {mean.reason}"
        )
        if mean.low <= 0 <= mean.high:
            change += ": not different from 0"
        protocol = f"{setting}; {JOIN}"
        rows.append(
            Row("Table 8", "tau-b without rescaling", protocol, TABLE_8[setting][0], mean.before)
        )
        rows.append(
            Row(
                "Table 8", "tau-b with rescaling", protocol, TABLE_8[setting][1], mean.after, change
            )
        )
    return rows


def untied_rows(untied: tuple[float, float], draws: int) -> list[Row]:
    """Table 8, ties broken by noise."""
    note = "the published noise and its seed are not stated; a draw moves by about .01"
    protocol = f"no ties; Gaussian noise of sd .01, mean of {draws} draws"
    names = ("tau-b without rescaling", "tau-b with rescaling")
    return [
        Row("Table 8", name, protocol, value, figure, note)
        for name, value, figure in zip(names, TABLE_8["no ties"], untied, strict=True)
    ]


def ensemble_rows(published: Published) -> list[Row]:
    """Table 10, EBR + AR, on the INQUISITIVE part, g from all annotations."""
    data, part = published.data, published.data.take(published.inquisitive)
    joined, means, own = shared(part), label_means(data), label_means(part)
    settings = {"all": joined, "incomplete": incomplete(part, joined)}
    rows = []
    for setting, rows_of_join in settings.items():
        for weight, value in zip(LAMBDAS, TABLE_10[setting], strict=True):
            figure, other = (
                agreement(part, rows_of_join, scores, scores).mean.after
                for scores in (rescale(part, g, ensemble=weight) for g in (means, own))
            )
            note = f"with g from INQUISITIVE alone {other:.4f}" if weight not in (0, 1) else ""
            quantity = f"EBR + AR, lambda {weight}, tau-b"
            protocol = f"INQUISITIVE, {setting}; g from all annotations"
            rows.append(Row("Table 10", quantity, protocol, value, figure, note))
    return rows


def pair_rows(found: Agreement, data: Annotations) -> list[Row]:
    """Table 11: each pair's tau-b of raw ratings, and its change, incomplete ratings only."""
    places = {
        (data.workers[a], data.workers[b]): k
        for k, (a, b) in enumerate(zip(found.joined.first, found.joined.second, strict=True))
    }
    rows = []
    for (a, b), (raw, change) in TABLE_11.items():
        k = places.get((str(a), str(b)))
        if k is None or not np.isfinite(found.difference[k]):
            raise Invalid(f"Annotators {a} and {b} share too few items for tau-b.")
        n, low, high = int(found.before.n[k]), found.low[k], found.high[k]
        interval = (
            f"n {n}, 95 % interval [{low:+.2f}, {high:+.2f}]"
            if np.isfinite(low)
            else f"n {n}: too few items for an interval"
        )
        who = f"annotators {a} and {b}"
        rows.append(
            Row(
                "Table 11",
                f"{who}, tau-b of raw ratings",
                "incomplete",
                raw,
                float(found.before.value[k]),
                f"n {n}",
            )
        )
        rows.append(
            Row(
                "Table 11",
                f"{who}, change under rescaling",
                "incomplete",
                change,
                float(found.difference[k]),
                interval,
            )
        )
    return rows
