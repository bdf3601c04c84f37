"""Conversations and traces into a task that labels, compares or rates them."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import OutputWrapper

from annotation.formats.registry import chat_format
from evaluation.published.formats.base import Options, task_numbered
from evaluation.published.formats.free_text import into_task


class Chats:
    slug = "chats"
    help = "conversations and traces (JSON, JSON Lines, Parquet, Inspect logs), into a task"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--task", type=int, required=True, help="the task's id")
        parser.add_argument(
            "--skip-bad", action="store_true", help="leave bad records out and import the rest"
        )
        parser.set_defaults(map=[], all_by="")

    def run(self, options: Options, out: OutputWrapper, err: OutputWrapper) -> None:
        task = task_numbered(options["task"])
        into_task(chat_format(task), options, out, err)
