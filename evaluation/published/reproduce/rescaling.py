"""The tables of explanation-based rescaling, measured again from the published scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crowdqc.errors import Invalid
from evaluation.methods.core.base import FloatArray
from evaluation.methods.rescaling.data import Annotations, incomplete, shared_pairs
from evaluation.methods.rescaling.method import (
    Agreement,
    agreement,
    label_means,
    rescale,
    without_ties,
)
from evaluation.published.reproduce import inquisitive
from evaluation.published.reproduce.columns import columns, numbers
from evaluation.published.reproduce.rows import Row

# Per cent of ratings: missing all, missing major, missing minor, complete.
TABLE_3 = {
    "all systems": (18, 4, 11, 67),
    "text-davinci": (50, 7, 10, 33),
    "text-davinci-003": (8, 3, 12, 77),
    "GPT-4": (8, 3, 8, 81),
    "expert human": (11, 8, 11, 70),
}
TABLE_6 = (0.9533, 36.2455, 64.4969, 91.5800)
# Mean positive change, pairs with one; mean negative change, pairs with one; > .1; < -.1.
TABLE_7 = {"all": (0.095, 16, -0.073, 12, 5, 3), "incomplete": (0.206, 26, -0.068, 2, 18, 1)}
# Without rescaling, with it.
TABLE_8 = {"all": (0.3305, 0.3535), "incomplete": (-0.03421, 0.1522), "no ties": (0.1627, 0.2194)}
LAMBDAS = (0.0, 0.1, 0.3, 0.5, 0.8, 1.0)
# The columns "EBR + AR".
TABLE_10 = {
    "all": (0.3644, 0.3715, 0.3733, 0.3737, 0.3759, 0.3655),
    "incomplete": (0.1699, 0.1705, 0.1656, 0.1515, 0.1035, 0.0274),
}
# Annotators: tau-b of the raw ratings, its change under rescaling, incomplete ratings only.
TABLE_11 = {
    (0, 4): (-0.7917, 0.7768),
    (0, 1): (-0.1908, 0.3836),
    (2, 3): (-0.1080, 0.3832),
    (0, 3): (-0.3857, 0.3791),
    (2, 5): (0.0636, 0.3767),
    (2, 7): (-0.0192, 0.3200),
    (2, 6): (-0.0681, 0.3009),
    (0, 6): (-0.0504, 0.3007),
    (5, 7): (0.0678, 0.2380),
    (3, 5): (-0.0725, 0.2050),
    (4, 5): (-0.0776, 0.1917),
    (4, 7): (-0.2556, 0.1888),
    (2, 4): (0.0576, 0.1853),
    (5, 6): (-0.0305, 0.1623),
    (0, 5): (-0.1944, 0.1542),
    (1, 2): (0.1440, 0.1490),
    (1, 4): (-0.2168, 0.1268),
    (1, 5): (0.1777, 0.1091),
    (1, 6): (0.1895, 0.0958),
    (6, 7): (0.0094, 0.0949),
    (3, 4): (-0.0165, 0.0723),
    (4, 6): (-0.1687, 0.0714),
    (3, 7): (0.0344, 0.0427),
    (0, 2): (0.2165, 0.0269),
    (3, 6): (0.1550, 0.0205),
    (1, 3): (0.2831, 0.0009),
    (1, 7): (0.3358, -0.0297),
    (0, 7): (-0.0459, -0.1071),
}


TITLE = "Explanation-based rescaling on INQUISITIVE-BROAD (Wadhwa et al. 2024)"
LEFT_OUT = (
    "Not measured: scores from other prompts (without the article, explanation only, with question "
    "or answer: part of Tables 8, 9, 10 and 11), which were not published; Table 4, which "
    "needs an expert's judgments; sentences per article, as the articles are not public. The "
    "repository's own script does not give the paper's numbers; these recipes do."
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
DECIMALS = {"Table 2": 2, "Table 6": 4, "Table 8": 4, "Table 10": 4, "Table 11": 4}
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
    """Compute all rows of the reproduction; ``repetitions`` are noisy draws to break ties."""
    published = read(folder)
    data = published.data
    joined = shared_pairs(data)
    scores = rescale(data)
    say(f"Agreement of {len(joined)} pairs of annotators")
    found = {
        "all": agreement(data, joined, data.rating, scores),
        "incomplete": agreement(data, incomplete(data, joined), data.rating, scores),
    }
    rows = [
        *inquisitive.size_rows(inquisitive.read_items(folder)),
        *distribution_rows(published),
        *inquisitive.label_rows(data, published.system, published.inquisitive),
        *inquisitive.rating_rows(data, published.system),
        *inquisitive.score_rows(data, scores),
        *label_rows(data, scores),
    ]
    rows += [*change_rows(found), *aggregate_rows(found)]
    say(f"Without ties, {repetitions} draws")
    rng = np.random.default_rng(seed)
    untied = without_ties(joined, data.rating, scores, rng=rng, draws=repetitions)
    rows += untied_rows(untied, repetitions)
    say("Ensembles with the annotator's mean")
    return [*rows, *ensemble_rows(published), *pair_rows(found["incomplete"], data)]


def distribution_rows(published: Published) -> Iterator[Row]:
    """Table 3: how often each label was given."""
    for name, start in SYSTEMS.items():
        kept = np.char.startswith(published.system, start)
        share = np.bincount(published.data.label[kept], minlength=len(LABELS)) / kept.sum()
        together = "few-shot and zero-shot answers together" if name == "text-davinci-003" else ""
        for label, value, figure in zip(LABELS, TABLE_3[name], share, strict=True):
            note = together if round(100 * figure) == value else "the printed row adds up to 100"
            yield Row("Table 3", f"{name}, {label}, per cent", "ratings", value, 100 * figure, note)


def label_rows(data: Annotations, scores: FloatArray) -> list[Row]:
    """Table 6: mean rescaled score of each label; does not reproduce, however it is weighted."""
    rows = []
    for k, (name, value) in enumerate(zip(LABELS, TABLE_6, strict=True)):
        each = [
            float(scores[(data.label == k) & (data.worker == worker)].mean())
            for worker in range(len(data.workers))
        ]
        outside = not min(each) <= value <= max(each)
        note = (
            f"does not reproduce; annotators' own means are {min(each):.2f} to {max(each):.2f}"
            + (": no weights of them give the printed figure" if outside else "")
        )
        mean = float(scores[data.label == k].mean())
        rows.append(Row("Table 6", f"mean score of {name}", "all annotations", value, mean, note))
    return rows


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


def aggregate_rows(found: dict[str, Agreement]) -> Iterator[Row]:
    """Table 8: mean tau-b over pairs, with the interval of the change that the paper lacks."""
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
        yield Row("Table 8", "tau-b without rescaling", protocol, TABLE_8[setting][0], mean.before)
        yield Row(
            "Table 8", "tau-b with rescaling", protocol, TABLE_8[setting][1], mean.after, change
        )


def untied_rows(untied: tuple[float, float], draws: int) -> list[Row]:
    """Table 8, ties broken by noise."""
    note = "the published noise and its seed are not stated; a draw moves by about .01"
    protocol = f"no ties; Gaussian noise of sd .01, mean of {draws} draws"
    names = ("tau-b without rescaling", "tau-b with rescaling")
    return [
        Row("Table 8", name, protocol, value, figure, note)
        for name, value, figure in zip(names, TABLE_8["no ties"], untied, strict=True)
    ]


def ensemble_rows(published: Published) -> Iterator[Row]:
    """Table 10, EBR + AR, on the INQUISITIVE part, g from all annotations."""
    data, part = published.data, published.data.take(published.inquisitive)
    joined, means, own = shared_pairs(part), label_means(data), label_means(part)
    settings = {"all": joined, "incomplete": incomplete(part, joined)}
    for setting, rows_of_join in settings.items():
        for weight, value in zip(LAMBDAS, TABLE_10[setting], strict=True):
            figure, other = (
                agreement(part, rows_of_join, scores, scores).mean.after
                for scores in (rescale(part, g, ensemble=weight) for g in (means, own))
            )
            note = (
                f"with g from INQUISITIVE alone {other:.4f}; which g was used is not stated"
                if weight not in (0, 1)
                else ""
            )
            quantity = f"EBR + AR, lambda {weight}, tau-b"
            protocol = f"INQUISITIVE, {setting}; g from all annotations"
            yield Row("Table 10", quantity, protocol, value, figure, note)


def pair_rows(found: Agreement, data: Annotations) -> Iterator[Row]:
    """Table 11: each pair's tau-b of raw ratings, and its change, incomplete ratings only."""
    places = {
        (data.workers[a], data.workers[b]): k
        for k, (a, b) in enumerate(zip(found.joined.first, found.joined.second, strict=True))
    }
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
        yield Row(
            "Table 11",
            f"{who}, tau-b of raw ratings",
            "incomplete",
            raw,
            float(found.before.value[k]),
            f"n {n}",
        )
        yield Row(
            "Table 11",
            f"{who}, change under rescaling",
            "incomplete",
            change,
            float(found.difference[k]),
            interval,
        )
