"""Import a file: the same checks and the same writes as in the browser and over the API."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crowdqc.errors import DomainError
from evaluation.published.formats import FORMATS
from evaluation.published.formats.base import refusal_text


class Command(BaseCommand):
    help = (
        "Import free text, responses with their logs, texts to be judged, judgments or a "
        "published study. All of a file is taken or none of it, and what is there already is not "
        "added again. Exit status 1 where it is refused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        formats = parser.add_subparsers(dest="format", metavar="FORMAT", required=True)
        for slug, one in FORMATS.items():
            own = formats.add_parser(slug, help=one.help, description=f"Import {one.help}.")
            own.add_argument("file", type=Path, help="the file, or of a published study the folder")
            own.add_argument("--by", required=True, help="username of a requester of the project")
            one.add_arguments(own)

    def handle(self, *args: Any, **options: Any) -> None:
        # Progress bars end their lines themselves, and are no errors.
        self.stdout.ending = self.stderr.ending = ""
        self.stderr.style_func = None
        try:
            FORMATS[options["format"]].run(options, self.stdout, self.stderr)
        except DomainError as error:
            raise CommandError(refusal_text(error)) from error
