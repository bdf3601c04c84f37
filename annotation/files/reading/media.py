"""Images and sound as they are kept: judged by their bytes, bounded, written anew.

An image is decoded and encoded again, so that nothing else in its file survives: no EXIF with the
place of a photo, no text, no profile, no second file behind the first. It is turned as its EXIF
says before that goes. Of sound the frames are kept and the tags dropped. SVG is a program, and is
no image here.
"""

from __future__ import annotations

import io
import re
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from PIL import Image, ImageOps

from crowdqc.errors import Invalid, LimitExceeded

MAX_BYTES = 10 * 2**20
MAX_PIXELS = 25_000_000
MAX_WRITTEN = 2 * MAX_BYTES  # what is written anew may be packed less well
MAX_SIDE = 65_535  # pixels, as of any JPEG: Pillow keeps an address for each line of an image
# A camera's JPEG has some 30 parts and at most 20 scans. A scan of 42 bytes took 10 ms to decode at
# 25 million pixels, so that 10 MB of them are some 40 minutes.
MAX_PARTS, MAX_SCANS = 5_000, 100
THUMBNAIL = (320, 320)  # pixels
KINDS = gettext_noop("Use JPEG, PNG, WebP or a still GIF; MP3 or WAV.")
EXTENSIONS = {
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/webp": "webp",
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
}
# How an image is written anew: by the format that it came in.
WRITTEN = {"JPEG": "JPEG", "PNG": "PNG", "WEBP": "WEBP", "GIF": "PNG"}
BROKEN = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    IndexError,
    struct.error,
)
# A marker with a length behind it, or the end: not one of those that stand alone in a scan.
MARKER = re.compile(rb"\xff([^\x00\x01\xd0-\xd7\xff])")
SCAN, BEGIN, END = b"\xda", b"\xd8", b"\xd9"
BOMBS = (Image.DecompressionBombError, Image.DecompressionBombWarning)
# A decoded image takes up to 100 MB: one at a time in a process. One more request may wait for its
# turn (``taking_turns``); others are sent away, as all threads of a process would wait here else.
_one = threading.Lock()
_at_once = threading.BoundedSemaphore(2)


@dataclass(frozen=True)
class Media:
    """A file that may be kept: its bytes as they are served, and what they are."""

    type: str
    data: bytes
    width: int = 0
    height: int = 0
    thumbnail: bytes = b""


def read_media(data: bytes, name: str) -> Media:
    """The file as it may be kept; Invalid names it and says what is wrong.

    Parameters
    ----------
    data : bytes
        The whole file, at most ``MAX_BYTES``.
    name : str
        What the file is called in the error; its ending says nothing here.
    """
    if len(data) > MAX_BYTES:
        raise refused(
            name,
            _("has more than %(max_bytes)s MB") % {"max_bytes": MAX_BYTES // 2**20},
            _("Make it smaller."),
        )
    if not data:
        raise refused(name, _("is empty"), KINDS)
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return Media("audio/wav", _bare_wave(data, name))
    if data[:3] == b"ID3" or _is_frame(data):
        return Media("audio/mpeg", _bare_mp3(data, name))
    format = _image_format(data)
    if not format:
        raise refused(name, _("is no image or sound that can be shown"), KINDS)
    if format == "JPEG" and _is_cut_up(data):
        raise refused(name, "is cut into too many parts", _("Save it again as a plain JPEG."))
    with _one:
        try:
            return _image(data, format, name)
        except BOMBS as error:
            raise _pixel_error(name) from error
        except BROKEN as error:
            raise refused(name, _("cannot be read as an image"), KINDS) from error


def looks_like_media(head: bytes) -> bool:
    """Whether a file with these first bytes is to be read as an image or as sound."""
    is_wave = head[:4] == b"RIFF" and head[8:12] == b"WAVE"
    return is_wave or head[:3] == b"ID3" or _is_frame(head) or bool(_image_format(head))


@contextmanager
def taking_turns() -> Iterator[None]:
    """Read the images of a request; TooMuch at once where two requests of this process do."""
    if not _at_once.acquire(blocking=False):
        raise LimitExceeded(_("Other images are being read just now. Try again in a moment."))
    try:
        yield
    finally:
        _at_once.release()


def pixels_of(data: bytes) -> int:
    """Return the number of pixels in an image's header without decoding it; 0 for other files."""
    format = _image_format(data)
    if not format:
        return 0
    try:
        with Image.open(io.BytesIO(data), formats=[format]) as image:
            return image.width * image.height
    except (*BOMBS, *BROKEN):
        return 0  # refused with its reason when it is read


def refused(name: str, wrong: str, mend: str) -> Invalid:
    """Make the error for a file that is refused, with its name and what to do."""
    return Invalid(
        _("%(name)s %(wrong)s.") % {"name": _(name[:80] or "The file"), "wrong": _(wrong)},
        fields={"file": _(mend)},
    )


def _image_format(data: bytes) -> str:
    """Return the image format of these first bytes in Pillow's words; "" if it is not accepted."""
    if data[:3] == b"\xff\xd8\xff":
        return "JPEG"
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return "PNG"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "GIF"
    return "WEBP" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


def _is_cut_up(data: bytes) -> bool:
    """Whether a JPEG has more parts or scans than any camera writes, up to its end."""
    at = parts = scans = 0
    while parts <= MAX_PARTS and scans <= MAX_SCANS:
        found = MARKER.search(data, at)
        if found is None or (found[1] == END and scans):
            return False
        # Before the first scan Pillow looks at filling between the parts byte by byte.
        parts += 1 if scans else 1 + data.count(b"\xff", at, found.start())
        scans += found[1] == SCAN
        at = found.end()
        if found[1] not in (BEGIN, END):
            at += max(2, int.from_bytes(data[at : at + 2], "big"))
    return True


def _image(data: bytes, format: str, name: str) -> Media:
    image = _decoded(data, format, name)
    image.info = {}  # an encoder would write some of it again
    out = io.BytesIO()
    image.save(out, WRITTEN[format], quality=92)
    written = out.getvalue()
    if len(written) > MAX_WRITTEN:
        raise refused(name, "is too large once it is unpacked", _("Make it smaller."))
    kind = f"image/{WRITTEN[format].lower()}"
    return Media(kind, written, image.width, image.height, _thumbnail(image))


def _decoded(data: bytes, format: str, name: str) -> Image.Image:
    """The pixels, turned as the file says; no second copy of them stays in memory."""
    with Image.open(io.BytesIO(data), formats=[format]) as image:
        if image.width * image.height > MAX_PIXELS:
            raise _pixel_error(name)  # by its head: no pixel was decoded
        if max(image.size) > MAX_SIDE:
            raise refused(
                name, f"has a side of more than {MAX_SIDE:,} pixels", _("Make it smaller.")
            )
        # A phone's JPEG may hold a preview as its second picture; the first one is the photo.
        if format != "JPEG" and getattr(image, "n_frames", 1) > 1:
            raise refused(name, _("is animated"), _("Export one frame of it."))
        ImageOps.exif_transpose(image, in_place=True)
        mode = "RGBA" if format != "JPEG" and image.has_transparency_data else "RGB"
        return image if image.mode == mode else image.convert(mode)


def _pixel_error(name: str) -> Invalid:
    return refused(
        name,
        _("has more than %(max_pixels)s million pixels") % {"max_pixels": MAX_PIXELS // 10**6},
        _("Make it smaller."),
    )


def _thumbnail(image: Image.Image) -> bytes:
    """A small JPEG of it, on white where it is transparent."""
    image.thumbnail(THUMBNAIL)
    ground = Image.new("RGB", image.size, "white")
    ground.paste(image, mask=image.getchannel("A") if image.mode == "RGBA" else None)
    out = io.BytesIO()
    ground.save(out, "JPEG", quality=80)
    return out.getvalue()


def _is_frame(data: bytes) -> bool:
    """Whether an MPEG audio frame of layer 3 begins here."""
    return len(data) > 3 and data[0] == 0xFF and data[1] & 0xE6 == 0xE2 and data[2] & 0xF0 != 0xF0


def _bare_mp3(data: bytes, name: str) -> bytes:
    """The frames of an MP3 without the tags before and behind them."""
    begin = 0  # nothing is copied before the last tag: 10 MB may hold a million empty ones
    while data[begin : begin + 3] == b"ID3" and len(data) - begin > 10:
        size = 0
        for byte in data[begin + 6 : begin + 10]:  # seven bits in each
            size = size << 7 | byte & 0x7F
        begin += 10 + size + (10 if data[begin + 5] & 0x10 else 0)
    data = data[begin:].lstrip(b"\0")
    if data[-128:-125] == b"TAG":
        data = data[:-128]
    if not _is_frame(data):
        raise refused(name, _("cannot be read as an MP3"), KINDS)
    return data


def _bare_wave(data: bytes, name: str) -> bytes:
    """A WAV of its format and its samples alone."""
    found: dict[bytes, bytes] = {}
    at = 12
    while at + 8 <= len(data):
        kind, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        if kind in (b"fmt ", b"data"):
            found.setdefault(kind, data[at + 8 : at + 8 + size])
        at += 8 + size + size % 2
    if not found.get(b"data") or len(found.get(b"fmt ", b"")) < 16:
        raise refused(name, _("cannot be read as a WAV"), KINDS)
    body = b"WAVE"
    for kind in (b"fmt ", b"data"):
        body += (
            kind
            + struct.pack("<I", len(found[kind]))
            + found[kind]
            + b"\0" * (len(found[kind]) % 2)
        )
    return b"RIFF" + struct.pack("<I", len(body)) + body
