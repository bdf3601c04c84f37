"""Keys by the million: which came before, where, and with which text, in some 40 bytes each.

Only digests are kept, so that a key takes the same room however long it is.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator, Set
from hashlib import blake2b
from struct import Struct

FIRST_SIZE = 1 << 10  # slots; a power of two
HALVES = Struct(">QQ").unpack


def text_print(text: str) -> bytes:
    """Return a hash of a text (16 bytes), for comparing texts without keeping them."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


def short_print(text: str) -> int:
    """Return a hash of a text as an integer of 64 bits, for comparing two texts only."""
    return int.from_bytes(text_print(text)[:8], "big")


class Keys:
    """Different keys in the order in which they came: each has a place from 0.

    A hash table with open addressing over arrays: 16 bytes of digest a key, and 8 to 16 of slots.
    """

    def __init__(self) -> None:
        self._slots = array("I", bytes(4 * FIRST_SIZE))  # place + 1; 0 is empty
        self._high, self._low = array("Q"), array("Q")

    def __len__(self) -> int:
        return len(self._low)

    def __contains__(self, key: Hashable) -> bool:
        return self.find(key) is not None

    def find(self, key: Hashable) -> int | None:
        """The place of a key, if it is there."""
        high, low = _halves(key)
        place = self._slots[self._slot(high, low)]
        return place - 1 if place else None

    def add(self, key: Hashable) -> tuple[int, bool]:
        """The place of a key, and whether it is new."""
        high, low = _halves(key)
        slot = self._slot(high, low)
        if place := self._slots[slot]:
            return place - 1, False
        self._high.append(high)
        self._low.append(low)
        self._slots[slot] = len(self._low)
        if 2 * len(self._low) > len(self._slots):
            self._grow()
        return len(self._low) - 1, True

    def _slot(self, high: int, low: int) -> int:
        """The slot of a key, or the empty one where it would stand."""
        slots, mask = self._slots, len(self._slots) - 1
        slot = low & mask
        while place := slots[slot]:
            if self._low[place - 1] == low and self._high[place - 1] == high:
                break
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        self._slots = slots = array("I", bytes(8 * len(self._slots)))
        mask = len(slots) - 1
        for place, low in enumerate(self._low, 1):
            slot = low & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = place


def _halves(key: Hashable) -> tuple[int, int]:
    return HALVES(text_print(repr(key)))


class LineSet(Set[int | None]):
    """Lines of a file, a bit each; None stands for what has no line."""

    def __init__(self) -> None:
        self._bits, self._count = bytearray(), 0

    def add(self, line: int | None) -> None:
        """Note one line, once or again."""
        at, bit = divmod(line or 0, 8)
        if at >= len(self._bits):
            self._bits.extend(bytes(at + 1 - len(self._bits)))
        if not self._bits[at] & 1 << bit:
            self._bits[at] |= 1 << bit
            self._count += 1

    def __contains__(self, line: object) -> bool:
        at, bit = divmod(line if isinstance(line, int) else 0, 8)
        return at < len(self._bits) and bool(self._bits[at] & 1 << bit)

    def __iter__(self) -> Iterator[int | None]:
        for at, bits in enumerate(self._bits):
            yield from (8 * at + bit or None for bit in range(8) if bits & 1 << bit)

    def __len__(self) -> int:
        return self._count

    @classmethod
    def _from_iterable(cls, lines: Iterable[int | None]) -> set[int | None]:
        return set(lines)


class Counts:
    """How often each key came."""

    def __init__(self) -> None:
        self.keys, self._counts = Keys(), array("I")

    def add(self, key: Hashable) -> int:
        """Add one to a key's count; return the count before."""
        place, new = self.keys.add(key)
        if new:
            self._counts.append(0)
        before = self._counts[place]
        self._counts[place] = before + 1
        return before

    def take(self, key: Hashable) -> bool:
        """Take one off a key's count; return whether any was left."""
        place = self.keys.find(key)
        if place is None or not self._counts[place]:
            return False
        self._counts[place] -= 1
        return True


class TextDigests:
    """Texts by key, of which only equality can be asked."""

    def __init__(self, pairs: Iterable[tuple[Hashable, str]] = ()) -> None:
        self._keys, self._texts = Keys(), array("Q")
        for key, text in pairs:
            place, new = self._keys.add(key)
            digest = short_print(text.strip())
            if new:
                self._texts.append(digest)
            else:
                self._texts[place] = digest

    def get(self, key: Hashable) -> int | None:
        """The print of the key's text, if there is one."""
        place = self._keys.find(key)
        return None if place is None else self._texts[place]

    def __contains__(self, key: Hashable) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)


class FirstSeen:
    """Where each key of a file stood first, and with which text."""

    def __init__(self) -> None:
        self._keys, self._lines, self._texts = Keys(), array("I"), array("Q")

    def setdefault(self, key: Hashable, line: int, text: str) -> tuple[int, bool]:
        """Return the line where the key came first, and whether its text was the same."""
        digest = short_print(text)
        place, new = self._keys.add(key)
        if new:
            self._lines.append(line)
            self._texts.append(digest)
            return line, True
        return self._lines[place], self._texts[place] == digest
