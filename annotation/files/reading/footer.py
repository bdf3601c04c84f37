"""How many rows and columns the footer of a Parquet file names, read without the library.

The footer is Thrift's compact protocol; of it the first three fields are read: version, schema
(a list, the root before the columns) and number of rows. What it says need not be true.
"""

from __future__ import annotations

MARK = b"PAR1"
DEEP = 8  # structures within each other
MANY = 20_000  # elements of the schema that are looked at
STOP, TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
WHOLE = (4, 5, 6)  # 16, 32 and 64 bits
CHILDREN = 5  # field of a schema's element that only groups have


def footer_length(tail: bytes, size: int) -> int:
    """The footer's length by the last eight bytes. Raises ValueError."""
    length = int.from_bytes(tail[-8:-4], "little")
    if tail[-4:] != MARK or size < 12 or length > size - 12:
        raise ValueError("it is cut off or damaged")
    return length


def read_shape(footer: bytes) -> tuple[int, int]:
    """Rows and columns that the footer names. Raises ValueError."""
    try:
        return _shape(_Compact(footer))
    except IndexError as error:
        raise ValueError("its footer is cut off") from error


def _shape(read: _Compact) -> tuple[int, int]:
    columns, field = 0, 0
    while True:
        field, kind = read.field(field)
        if kind == STOP:
            raise ValueError("its footer names no number of rows")
        if field == 2 and kind == LIST:
            columns = _columns(read)
            if columns > MANY:
                return 0, columns
        elif field == 3 and kind in WHOLE:
            return read.whole(), columns
        else:
            read.skip(kind)


def _columns(read: _Compact) -> int:
    count, kind = read.sized()
    if count > MANY or kind != STRUCT:
        return count
    leaves = 0
    for _ in range(count):
        field, group = 0, False
        while True:
            field, inner = read.field(field)
            if inner == STOP:
                break
            group |= field == CHILDREN
            read.skip(inner)
        leaves += not group
    return leaves


class _Compact:
    """Values one after another."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        """Read the next byte."""
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        """Read an unsigned integer, 7 bits a byte, lowest first."""
        found, shift = 0, 0
        while True:
            byte = self.byte()
            found |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return found
            shift += 7
            if shift > 63:
                raise ValueError("its footer holds a number that is too large")

    def whole(self) -> int:
        """Read a signed integer (zigzag)."""
        raw = self.varint()
        return (raw >> 1) ^ -(raw & 1)

    def field(self, last: int) -> tuple[int, int]:
        """Number and type of the next field; type STOP at the end of a structure."""
        head = self.byte()
        if head & 0x0F == STOP:
            return last, STOP
        step = head >> 4
        return (last + step if step else self.whole()), head & 0x0F

    def sized(self) -> tuple[int, int]:
        """Length and type of a list."""
        head = self.byte()
        count = head >> 4
        return (self.varint() if count == 15 else count), head & 0x0F

    def skip(self, kind: int, depth: int = 0) -> None:
        """Pass over a value of this kind."""
        if depth > DEEP:
            raise ValueError("its footer is nested too deeply")
        if kind == BYTE:
            self.byte()
        elif kind in WHOLE:
            self.varint()
        elif kind == DOUBLE:
            self.at += 8
        elif kind == BINARY:
            length = self.varint()
            self.at += length
        elif kind in (LIST, SET):
            count, inner = self.sized()
            for _ in range(count):
                # In a list a truth is a byte of its own.
                self.skip(BYTE if inner in (TRUE, FALSE) else inner, depth + 1)
        elif kind == STRUCT:
            field, inner = self.field(0)
            while inner != STOP:
                self.skip(inner, depth + 1)
                field, inner = self.field(field)
        elif kind not in (TRUE, FALSE):
            raise ValueError("its footer cannot be read")
