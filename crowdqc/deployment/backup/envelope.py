"""Encrypted stream: AES-256-GCM pieces under a passphrase-derived key (scrypt).

A first line says what the file is. Each piece is a length and a ciphertext; its nonce holds its
number and whether it is the last (the STREAM construction), and the first line is authenticated
with each. So a piece that is changed, missing, doubled or out of order is found where it stands,
and a file that was cut off has no last piece. Nothing is in memory but one piece.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from typing import Any, BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from crowdqc.errors import Invalid
from crowdqc.files.json_input import Unreadable, read_json

MAGIC = b"crowdqc backup "
FORMAT = 1
PIECE = 1 << 20  # bytes of plaintext
TAG = 16
LONGEST_HEADER = 1000
# About 130 MB and a third of a second: a passphrase is tried that slowly.
COST = {"n": 1 << 17, "r": 8, "p": 1}
SHORTEST_PASSPHRASE = 12


class BadBackup(Invalid):
    """A file that is not a complete, readable backup; the message says why."""


CUT_OFF = "The file ends too early. It was cut off, for example by a full disk."
DAMAGED = "The file is damaged: its content does not match its checksum."


def check_passphrase(passphrase: str) -> str:
    """Return the passphrase, or raise Invalid if it is too short."""
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise Invalid(f"The passphrase needs at least {SHORTEST_PASSPHRASE} characters.")
    return passphrase


def _cipher(passphrase: str, salt: bytes, cost: dict[str, int]) -> AESGCM:
    derived = Scrypt(salt=salt, length=32, **cost).derive(passphrase.encode())
    return AESGCM(derived)


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


class SealingWriter:
    """A writable file; without ``close`` it counts as truncated."""

    def __init__(self, out: BinaryIO, passphrase: str) -> None:
        salt = secrets.token_bytes(16)
        told = {"format": FORMAT, "salt": base64.b64encode(salt).decode(), **COST}
        self._header = MAGIC + json.dumps(told).encode() + b"\n"
        self._cipher = _cipher(check_passphrase(passphrase), salt, COST)
        self._out, self._waiting, self._number = out, bytearray(), 0
        out.write(self._header)

    def write(self, data: bytes) -> int:
        """Write content."""
        self._waiting += data
        while len(self._waiting) > PIECE:
            self._piece(bytes(self._waiting[:PIECE]), last=False)
            del self._waiting[:PIECE]
        return len(data)

    def flush(self) -> None:
        """Do nothing: a piece is written when it is full."""

    def close(self) -> None:
        """Write the last piece."""
        self._piece(bytes(self._waiting), last=True)

    def _piece(self, plain: bytes, *, last: bool) -> None:
        sealed = self._cipher.encrypt(_nonce(self._number, last=last), plain, self._header)
        self._out.write(len(sealed).to_bytes(4, "big") + sealed)
        self._number += 1


class SealedReader:
    """Read an encrypted file; every returned byte is authenticated."""

    def __init__(self, source: BinaryIO, passphrase: str) -> None:
        self._source, self._passphrase = source, passphrase
        self._ready, self._number, self._ended = bytearray(), 0, False
        self._open()

    def _open(self) -> None:
        self._header = self._source.readline(LONGEST_HEADER)
        try:
            told: dict[str, Any] = read_json(self._header.removeprefix(MAGIC))
            version = told["format"]
        except (Unreadable, KeyError, TypeError):
            raise BadBackup(DAMAGED) from None
        if not isinstance(version, int) or version > FORMAT:
            raise BadBackup(
                f"The backup has format {version}, and this crowdqc reads up to {FORMAT}. "
                "Update crowdqc first."
            )
        try:
            cost = {name: told[name] for name in COST}
            salt = base64.b64decode(told["salt"])
            if any(not 1 <= cost[name] <= 4 * most for name, most in COST.items()):
                raise ValueError(cost)  # it would take all memory before anything is checked
            self._cipher = _cipher(self._passphrase, salt, cost)
        except (ValueError, KeyError, TypeError):
            raise BadBackup(DAMAGED) from None

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, b"" at the end; BadBackup if a piece was altered."""
        while not self._ended and (size < 0 or len(self._ready) < size):
            self._next()
        size = len(self._ready) if size < 0 else size
        found = bytes(self._ready[:size])
        del self._ready[:size]
        return found

    def _next(self) -> None:
        length = self._exactly(4)
        size = int.from_bytes(length, "big")
        if not TAG <= size <= PIECE + TAG:
            raise BadBackup(DAMAGED)
        sealed = self._exactly(size)
        for last in (False, True):
            try:
                plain = self._cipher.decrypt(_nonce(self._number, last=last), sealed, self._header)
            except InvalidTag:
                continue
            break
        else:
            wrong = "The passphrase is wrong, or the file is damaged."
            raise BadBackup(wrong if self._number == 0 else DAMAGED)
        self._ready += plain
        self._number += 1
        if last:
            self._ended = True
            if self._source.read(1):
                raise BadBackup("The file is damaged: something was added to its end.")

    def _exactly(self, size: int) -> bytes:
        found = self._source.read(size)
        if len(found) < size:
            raise BadBackup(CUT_OFF)
        return found


def is_sealed(head: bytes) -> bool:
    """Whether a file with this beginning is encrypted."""
    return head.startswith(MAGIC)


def read_passphrase(path: os.PathLike[str] | str) -> str:
    """Read the first line of a file; Invalid if unreadable or too short."""
    try:
        with open(path, encoding="utf-8") as file:
            line = file.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"The passphrase cannot be read from {path}: {error}.") from None
    return check_passphrase(line)
