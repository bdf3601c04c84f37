"""How many labels of people a judge saves on seven published sets.

``python -m tests.studies.labels_saved DATA [draws]``: of every set 100 items (a third where there
are fewer than 300) are drawn as if only they had labels of people, the others have the judge's
alone. Estimated is the share of the most frequent class, or the mean rating, over all items; an
item's value is the mean over its people. The judge is the model with the highest advantage
probability. Printed: the mean share of labels saved, how often both intervals hold the value over
all items (they are for all such items, so a share above .95 is what is expected of a draw without
replacement), and how often there is no estimate, for the most frequent reason.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import django
import numpy as np

from evaluation.methods.replacement import annotator
from evaluation.methods.replacement.combined import NoEstimate, check_judge, combine_means

LABELS = 100


def by_item(folder: Path, name: str, score: str) -> tuple[str, np.ndarray, np.ndarray]:
    """The best judge's name, people's and its value (items,) of the set's quantity."""
    from evaluation.published.reproduce.alttest import MODELS, arrays, read

    people = read(folder / "alttest" / name / "human_annotations.json")
    models = read(folder / "alttest" / name / "llm_annotations.json")
    best = max(
        MODELS,
        key=lambda model: (
            annotator.judge(
                annotator.compare_labels(
                    *arrays(people, models[model], score), people=tuple(people), score=score
                ),
                0.1,
            ).advantage_probability
        ),
    )
    _, item, value, judged = arrays(people, models[best], score)
    if score == "accuracy":
        frequent = np.bincount(value.astype(int)).argmax()
        value, judged = (
            (value == frequent) * 1.0,
            np.where(np.isnan(judged), np.nan, judged == frequent),
        )
    n = np.bincount(item, minlength=len(judged))
    both = (n > 0) & ~np.isnan(judged)
    mean = np.bincount(item, weights=value, minlength=len(judged))[both] / n[both]
    return best, mean, judged[both].astype(float)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crowdqc.settings")
    django.setup()
    from evaluation.published.reproduce.alttest import PRINTED

    folder, draws = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 500
    print("set            judge         items  labels  saved  people hold  both hold  none  why")
    for name, (score, *_) in PRINTED.items():
        best, human, judge = by_item(folder, name, score)
        rng, items = np.random.default_rng(0), len(human)
        n = LABELS if items >= 3 * LABELS else items // 3
        saved, held, reasons = [], np.zeros(2), Counter[str]()
        for _ in range(draws):
            order = rng.permutation(items)
            ours, others = order[:n], order[n:]
            try:
                check_judge(human[ours], judge[ours], judge[others])
            except NoEstimate as reason:
                reasons[str(reason)[:60]] += 1
                continue
            found = combine_means(human[ours], judge[ours], judge[others])
            saved.append(found.saved)
            held += [one.low <= human.mean() <= one.high for one in (found.people, found.both)]
        given = max(len(saved), 1)
        why = reasons.most_common(1)[0][0] if reasons else ""
        print(
            f"{name:13}  {best:12}  {items:5d}  {n:6d}  {np.mean(saved or [np.nan]):5.2f}  "
            f"{held[0] / given:11.3f}  {held[1] / given:9.3f}  {1 - len(saved) / draws:4.2f}  {why}"
        )


if __name__ == "__main__":
    main()
