"""Formats of plug-ins: each row is converted, then read as a row of a format that is here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from annotation.files.reading.importer import Field, Importer, Reader
from annotation.files.reading.rows import Row
from crowdqc.api import RowFormat


class Converted(Importer):
    """The reader of a plug-in's format, over the reader of the kind that it is made into."""

    def __init__(self, slug: str, outside: RowFormat, inner: Importer) -> None:
        self.slug, self.title = slug, outside.title
        self.outside, self.inner = outside, inner
        self.fields = tuple(
            Field(column.name, column.label, column.required, column.aliases)
            for column in outside.columns
        )

    def read(self, reader: Reader, rows: Iterable[Row], known: Any) -> None:
        converted = list(self._converted(reader, rows))
        columns = list(dict.fromkeys(name for row in converted for name in row.values))
        mapping = self.inner.guess(columns, converted)
        self.inner.read(Reader(mapping, reader.checked), converted, known)

    def _converted(self, reader: Reader, rows: Iterable[Row]) -> Iterator[Row]:
        names = [field.name for field in self.fields]
        for row in rows:
            values = {name: reader.value(row, name) for name in names}
            try:
                made = self.outside.convert(values)
            except ValueError as error:
                reader.add_error(row, names[:1], str(error), _("Change the row, or leave it out."))
                continue
            yield Row(row.line, _texts(made))


def _texts(made: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): "" if value is None else str(value) for name, value in made.items()}
