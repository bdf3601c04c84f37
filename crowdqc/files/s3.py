"""S3 buckets by django-storages (docs/admin/storage.md)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.utils.deconstruct import deconstructible
from storages.backends.s3 import S3File, S3Storage

from crowdqc.files.storages import PIECE

# A part of a large file: S3 takes 10,000 of them, so 160 GB.
PART = 16 << 20
# A bucket is part of the installation, as its database is: it answers soon, or has failed.
CONFIG = Config(
    connect_timeout=5,
    read_timeout=20,
    retries={"max_attempts": 3, "mode": "standard"},
    # Services other than Amazon's refuse checksums that were not asked for. Ours are compared.
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
)


@contextmanager
def raise_os_errors() -> Iterator[None]:
    """Turn errors of a bucket into OSError, like those of a disk."""
    try:
        yield
    except ClientError as error:
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 404:
            raise FileNotFoundError(str(error)) from error
        raise OSError(f"S3: {error}") from error
    except BotoCoreError as error:
        raise OSError(f"S3: {error}") from error


class _Part(S3File):
    """A file that is written in parts of equal size."""

    _multipart: Any
    _file: Any

    def __init__(self, name: str, mode: str, storage: Any) -> None:
        super().__init__(name, mode, storage, buffer_size=PART)

    def write(self, content: Any) -> Any:
        with raise_os_errors():
            return super().write(content)

    def close(self) -> None:
        try:
            with raise_os_errors():
                super().close()
        finally:
            self._let_go()

    def abort(self) -> None:
        """Discard the file, in place of ``close``."""
        if self._multipart is not None:
            with raise_os_errors():
                self._multipart.abort()
        self._let_go()

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = self._multipart = None
        self._is_dirty, self._closed = False, True

    def __exit__(self, kind: Any, *rest: Any) -> None:
        """Discard a file that could not be written to its end."""
        if kind is None:
            self.close()
        else:
            self.abort()


@deconstructible
class Bucket(S3Storage):
    """Files in a private bucket."""

    transactional = False

    def get_default_settings(self) -> dict[str, Any]:
        """Make files private, never overwrite, and limit waiting."""
        return super().get_default_settings() | {
            "default_acl": None,
            "file_overwrite": True,
            "max_memory_size": PART,
        }

    def __init__(self, **options: Any) -> None:
        # At an address of its own a service seldom has a host name for each bucket.
        style = "path" if options.get("endpoint_url") else "auto"
        config = CONFIG.merge(Config(s3={"addressing_style": style}))
        super().__init__(client_config=config, **options)

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the content in pieces. Raises FileNotFoundError."""
        with raise_os_errors():
            body = self._object(name).get()["Body"]
            yield from body.iter_chunks(PIECE)

    def reader(self, name: str) -> io.BufferedReader:
        """Return the content as a stream that is read once."""
        with raise_os_errors():
            return io.BufferedReader(self._object(name).get()["Body"], PIECE)

    def _object(self, name: str) -> Any:
        return self.bucket.Object(self._normalize_name(name))

    def _open(self, name: str, mode: str = "rb") -> Any:
        with raise_os_errors():
            return _Part(self._normalize_name(name), mode, self)

    def _save(self, name: str, content: Any) -> str:
        with raise_os_errors():
            saved: str = super()._save(name, content)
            return saved

    def delete(self, name: str) -> None:
        with raise_os_errors():
            super().delete(name)
