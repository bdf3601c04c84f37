"""Read a task's labels into pandas: python pandas_labels.py URL TOKEN TASK.

The token needs the scope read. Needs pandas beside the client.
"""

from __future__ import annotations

import io
import sys
from dataclasses import asdict

import pandas as pd
from crowdqc_client import Client


def label_frame(client: Client, task: int) -> pd.DataFrame:
    """A row an item: its texts and own columns, the final label, certainty and votes."""
    labels = pd.DataFrame(
        {**asdict(one), "label": one.final, "certainty": max(one.posterior.values(), default=None)}
        for one in client.official_labels(task)
    )
    items = pd.read_csv(io.BytesIO(client.export(task, "label_items")))
    labels = labels.rename(columns={"item_id": "key", "n": "votes"})
    return items.merge(labels[["key", "label", "certainty", "votes"]], on="key", how="left")


def main(url: str, token: str, task: str) -> None:
    frame = label_frame(Client(url, token), int(task))
    print(frame[["key", "label", "certainty", "votes"]].head(10).to_string(index=False))
    print(frame["label"].value_counts(normalize=True).to_string())


if __name__ == "__main__":
    main(*sys.argv[1:])
