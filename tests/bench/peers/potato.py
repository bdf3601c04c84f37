"""Potato as its documentation starts it: its own server, one text box, three answers an item."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from tests.bench.peers import tools
from tests.bench.peers.environments import command_of

CONFIGURATION = """
annotation_task_name: bench
task_dir: .
data_files: [items.jsonl]
item_properties: {id_key: id, text_key: text}
output_annotation_dir: annotation_output/
output_annotation_format: json
max_annotations_per_item: 3
assignment_strategy: fixed_order
require_password: false
authentication: {method: in_memory}
user_config: {allow_all_users: true, users: []}
annotation_schemes:
  - {annotation_type: text, name: answer, description: "What does it mean?"}
site_dir: default
"""
FIELD = re.compile(r'(?:id|name)="instance_id"[^>]*value="([^"]*)"')


def sign_in(person: tools.Person) -> None:
    """Without a password, and to the first item."""
    person.ask("sign in", "POST", "/auth", form={"email": person.name, "pass": ""})
    see(person)


def see(person: tools.Person) -> None:
    """The page of the item at hand."""
    _, page = person.ask("next", "GET", "/annotate")
    found = FIELD.search(str(page))
    if found is None:
        raise RuntimeError("Potato's page names no item.")
    person.state["item"] = found[1]


def turn(person: tools.Person) -> None:
    """What its page sends: the answer, the step to the next item, and the page of that."""
    answer = {
        "instance_id": person.state["item"],
        "annotations": {"answer:::text_box": tools.ANSWER},
    }
    person.ask("submit", "POST", "/updateinstance", body=answer)
    step = {"X-Potato-Navigation": "1"}
    person.ask("step", "POST", "/annotate", body={"action": "next_instance"}, headers=step)
    see(person)


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tools.Tool]:
    """A server with ``tools.QUESTIONS`` items. Raises NotHere."""
    command, port = command_of("potato"), tools.free_port()
    (folder / "config.yaml").write_text(CONFIGURATION)
    rows = [
        {"id": f"i-{n}", "text": f"What is meant by term number {n}?"}
        for n in range(tools.QUESTIONS)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = [command, "start", "config.yaml", "-p", str(port), "--host", "127.0.0.1"]
    with tools.started(arguments, folder, {}, port) as pid:
        yield tools.Tool("Potato 2.12.1", port, [pid], sign_in, turn)
