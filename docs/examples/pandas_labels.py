"""Read a task's labels into pandas: python pandas_labels.py TASK.

Needs crowdqc-client with pandas. CROWDQC_URL and CROWDQC_TOKEN say where and as whom; the token
needs the scope read.
"""

from __future__ import annotations

import io
import sys

import pandas as pd

from crowdqc_client import Client


def label_frame(client: Client, task: int) -> pd.DataFrame:
    """A row an item: its texts and own columns, the final label, certainty and votes."""
    labels = pd.DataFrame(
        {
            "item_id": one.item_id,
            "label": one.decided_label or one.label,
            "certainty": max(one.posterior.values(), default=None),
            "votes": one.n,
        }
        for one in client.results.labels(task)
    )
    items = pd.read_csv(io.BytesIO(client.tasks.export(task, "label_items")))
    return items.merge(labels, on="item_id", how="left")


def main(task: str) -> None:
    frame = label_frame(Client(), int(task))
    print(frame[["item_id", "label", "certainty", "votes"]].head(10).to_string(index=False))
    print(frame["label"].value_counts(normalize=True).to_string())


if __name__ == "__main__":
    main(*sys.argv[1:])
