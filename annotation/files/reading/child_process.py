"""The process that reads one Parquet file from its standard input; see ``parquet``.

It writes JSON, a line each: the columns, lists of rows as texts, and how it ended.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from annotation.files.reading.limits import (
    Limits,
    check_columns,
    check_decoded,
    check_head,
    check_rows,
)
from annotation.files.reading.values import as_text
from crowdqc.errors import Invalid

BATCH = 500  # rows that are unpacked at a time


def main(told: dict[str, int]) -> None:
    """Read the file to its end, or say what is wrong with it."""
    # Whoever reads files reads English; the application's settings would take a second to load.
    settings.configure(USE_I18N=False)
    memory, seconds = told.pop("memory"), told.pop("seconds")
    limits = Limits(**told)
    # Memory that is freed goes back at once, and the limit counts what is used.
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    import pyarrow
    import pyarrow.parquet

    used = _mapped()
    resource.setrlimit(resource.RLIMIT_DATA, (used + memory, used + memory))
    try:
        _read(pyarrow, limits)
        write_line({"done": True})
    except Invalid as refused:
        write_line({"wrong": refused.message, "mend": refused.fields["file"]})
    except (pyarrow.ArrowException, OSError, ValueError, UnicodeDecodeError) as error:
        if isinstance(error, pyarrow.ArrowMemoryError):
            raise
        wrong = f"The file cannot be read as parquet: {str(error)[:300]}."
        write_line({"wrong": wrong, "mend": "Write it again."})


def _mapped() -> int:
    """Bytes of memory that count under the limit now."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))


def _read(pyarrow: Any, limits: Limits) -> None:
    file = pyarrow.parquet.ParquetFile(
        sys.stdin.buffer,
        pre_buffer=False,
        buffer_size=1024 * 1024,
        thrift_string_size_limit=limits.size,
        thrift_container_size_limit=1_000_000,
    )
    meta = file.metadata
    check_rows(meta.num_rows, limits)
    check_columns(meta.num_columns, limits)
    groups = (meta.row_group(number) for number in range(meta.num_row_groups))
    check_decoded(sum(group.total_byte_size for group in groups), limits)
    columns = list(file.schema_arrow.names)
    check_head(columns, limits)
    write_line({"columns": columns})
    decoded = 0
    for batch in file.iter_batches(BATCH, use_threads=False):
        check_decoded(batch.nbytes, limits)
        rows = []
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            texts = [as_text(value) for value in row]
            decoded += sum(map(len, texts))
            check_decoded(decoded, limits)
            for name, text in zip(columns, texts, strict=True):
                if len(text) > limits.cell:
                    raise Invalid(
                        _("A value of %(name)s has %(text)s characters; %(cell)s is the most.")
                        % {"name": name, "text": f"{len(text):,}", "cell": f"{limits.cell:,}"},
                        fields={"file": _("Shorten it, or leave the row out.")},
                    )
            rows.append(texts)
        write_line(rows)


def write_line(told: Any) -> None:
    """One line to the process that asked."""
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
    sys.stdout.flush()
