"""A spoken answer as it is kept: judged by its bytes, bounded in size and time, written anew.

Of WebM (RFC 8794, RFC 9559) the Opus packets (RFC 6716) and their times are kept, and everything
else is written by us: no tags, no second track, no name of the program or device that made it. A
browser that records does not yet know how long it will; what is written here says so and has an
index, so that a player shows the length and can go to any place. Of WAV the samples are kept.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.files.reading.media import read_media, refused
from crowdqc.errors import Invalid

MAX_RECORDING = 16 * 2**20  # bytes: an hour of Opus as browsers record speech, at 36 kbit/s
KINDS = gettext_noop("Record it in the browser, or send WebM with Opus, or WAV.")
WHAT = gettext_noop("The recording")
EXTENSIONS = {"audio/webm": "webm", "audio/wav": "wav"}
EBML, SEGMENT, TRACKS, CLUSTER = b"\x1aE\xdf\xa3", b"\x18S\x80g", b"\x16T\xaek", b"\x1fC\xb6u"
INFO, CUES, DOCTYPE, SCALE = b"\x15I\xa9f", b"\x1cS\xbbk", b"\x42\x82", b"\x2a\xd7\xb1"
TRACK, NUMBER, KIND, CODEC, PRIVATE = b"\xae", b"\xd7", b"\x83", b"\x86", b"\x63\xa2"
TIME, GROUP, BLOCK, SIMPLE = b"\xe7", b"\xa0", b"\xa1", b"\xa3"
INSIDE = (SEGMENT, CLUSTER, GROUP)  # their parts are read as they come, whatever their own size
MILLISECOND = 1_000_000  # nanoseconds: the only scale of time that browsers write
CLUSTER_MS = 10_000  # a block's time within its cluster has 15 bits
MAX_PARTS = 2_000_000  # a file of empty parts would be walked through for minutes
# RFC 6716, 3.1: milliseconds of a frame by the upper five bits of a packet's first byte.
SILK, HYBRID, CELT = (10.0, 20.0, 40.0, 60.0), (10.0, 20.0), (2.5, 5.0, 10.0, 20.0)
PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE


@dataclass(frozen=True)
class Recording:
    """Sound that may be kept: its bytes as they are served, what they are, and how long."""

    type: str
    data: bytes
    seconds: float


class _Broken(Exception):
    """The bytes are not what they begin as."""


def read_recording(data: bytes, *, most_seconds: float) -> Recording:
    """The recording as it may be kept; Invalid says what is wrong with it.

    Parameters
    ----------
    data : bytes
        The whole file, at most ``MAX_RECORDING``.
    most_seconds : float
        The longest that it may play.
    """
    if len(data) > MAX_RECORDING:
        most = MAX_RECORDING // 2**20
        raise refused(
            WHAT, _("has more than %(most)s MB") % {"most": most}, _("Make a shorter one.")
        )
    if not data:
        raise refused(WHAT, _("is empty"), KINDS)
    if data[:4] == EBML:
        try:
            return _webm(data, most_seconds)
        except (_Broken, IndexError, struct.error) as error:
            raise refused(WHAT, _("cannot be read as WebM with Opus"), KINDS) from error
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return _wave(data, most_seconds)
    raise refused(WHAT, _("is no sound that can be played"), KINDS)


def _too_long(most_seconds: float) -> Invalid:
    minutes = f"{most_seconds / 60:.3g}"
    noun = "minute" if minutes == "1" else "minutes"
    return refused(
        WHAT,
        _("is longer than %(minutes)s %(noun)s") % {"minutes": minutes, "noun": noun},
        _("Make a shorter one."),
    )


# WAV ---------------------------------------------------------------------------------------------


def _wave(data: bytes, most_seconds: float) -> Recording:
    if len(data) < 44:
        raise refused(WHAT, _("cannot be read as a WAV"), KINDS)
    bare = _bare_wave(data)
    # Format and samples stand one after the other, as they were written anew.
    size = int.from_bytes(bare[16:20], "little")
    form, channels, rate, a_second, a_frame, bits = struct.unpack("<HHIIHH", bare[20:36])
    samples = int.from_bytes(bare[24 + size + size % 2 : 28 + size + size % 2], "little")
    fits = a_frame == channels * bits // 8 and a_second == rate * a_frame
    if form not in (PCM, FLOAT, EXTENSIBLE) or not a_second or not fits:
        raise refused(WHAT, _("is a WAV that browsers cannot play"), KINDS)
    if samples > most_seconds * a_second:
        raise _too_long(most_seconds)
    return Recording("audio/wav", bare, samples / a_second)


def _bare_wave(data: bytes) -> bytes:
    """Return the WAV file with nothing but its format and samples, within the limits on sound."""
    return read_media(data, WHAT).data


# WebM --------------------------------------------------------------------------------------------


def _webm(data: bytes, most_seconds: float) -> Recording:
    track, head, start, length = 0, b"", 0, 0.0
    packets: list[tuple[int, bytes]] = []
    for kind, payload in _parts(data):
        if kind == EBML and dict(_parts(payload)).get(DOCTYPE, b"").rstrip(b"\0") != b"webm":
            raise _Broken
        if kind == INFO:
            scale = dict(_parts(payload)).get(SCALE)
            if scale is not None and int.from_bytes(scale, "big") != MILLISECOND:
                raise _Broken
        elif kind == TRACKS:
            track, head = _opus_track(payload)
        elif kind == TIME:
            start = int.from_bytes(payload, "big")
        elif kind in (BLOCK, SIMPLE):
            at, packet = _block(payload, track, start)
            if packets and at < packets[-1][0]:
                raise _Broken
            packets.append((at, packet))
            # By what is heard as well as by the times written: either may say too little.
            length += _milliseconds(packet)
            if max(length, at) > most_seconds * 1000:
                raise _too_long(most_seconds)
    if not packets or not head:
        raise _Broken
    length = max(length, packets[-1][0] + _milliseconds(packets[-1][1]))
    return Recording("audio/webm", _written(head, packets, length), length / 1000)


def _parts(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Elements of EBML one after the other, those of ``INSIDE`` opened; one cut off ends it."""
    at = count = 0
    while at < len(data):
        count += 1
        width = 9 - data[at].bit_length()
        if width > 4 or count > MAX_PARTS:
            raise _Broken
        kind, at = data[at : at + width], at + width
        if at >= len(data):
            return
        width = 9 - data[at].bit_length()
        if width > 8:
            raise _Broken
        bits = 7 * width
        size = int.from_bytes(data[at : at + width], "big") & (1 << bits) - 1
        at += width
        if kind in INSIDE:
            yield kind, b""
            continue
        if size == (1 << bits) - 1:
            raise _Broken  # only a segment and a cluster may leave their size open
        if at + size > len(data):
            return  # the browser was closed while it wrote this
        yield kind, data[at : at + size]
        at += size


def _opus_track(payload: bytes) -> tuple[int, bytes]:
    """Number and Opus head of the one track."""
    tracks = [part for kind, part in _parts(payload) if kind == TRACK]
    if len(tracks) != 1:
        raise _Broken
    said = dict(_parts(tracks[0]))
    head = said.get(PRIVATE, b"")[:19]
    number = int.from_bytes(said.get(NUMBER, b""), "big")
    sound = said.get(KIND) == b"\x02" and said.get(CODEC, b"").rstrip(b"\0") == b"A_OPUS"
    # Version 1, one or two channels in the usual order.
    plain = len(head) == 19 and head[:9] == b"OpusHead\x01" and head[9] in (1, 2) and not head[18]
    if not (sound and plain and 0 < number < 127):
        raise _Broken
    return number, head


def _block(payload: bytes, track: int, start: int) -> tuple[int, bytes]:
    """Return when a packet plays, in milliseconds, and the packet."""
    number, within, flags = struct.unpack(">BhB", payload[:4])
    at = start + within
    if not track or number != 0x80 | track or flags & 0x06 or at < 0 or len(payload) < 5:
        raise _Broken
    return at, payload[4:]


def _milliseconds(packet: bytes) -> float:
    """Return how long an Opus packet plays, in milliseconds."""
    config, code = packet[0] >> 3, packet[0] & 3
    if config < 12:
        frame = SILK[config % 4]
    else:
        frame = HYBRID[config % 2] if config < 16 else CELT[config % 4]
    frames = (1, 2, 2)[code] if code < 3 else packet[1] & 0x3F
    if not frames or frames * frame > 120:
        raise _Broken
    return frames * frame


# Written anew ------------------------------------------------------------------------------------


def _part(kind: bytes, *payload: bytes) -> bytes:
    inner = b"".join(payload)
    return kind + (len(inner) | 1 << 56).to_bytes(8, "big") + inner


def _number(kind: bytes, value: int) -> bytes:
    return _part(kind, value.to_bytes(8, "big"))


def _written(head: bytes, packets: list[tuple[int, bytes]], length: float) -> bytes:
    """A WebM of these packets: length, track, index, clusters."""
    clusters, times, group, start = [], [], list[bytes](), packets[0][0]
    for at, packet in packets:
        if group and at - start >= CLUSTER_MS:
            clusters.append(_part(CLUSTER, _number(TIME, start), *group))
            times.append(start)
            group = []
        start = start if group else at
        group.append(_part(SIMPLE, struct.pack(">BhB", 0x81, at - start, 0x80), packet))
    clusters.append(_part(CLUSTER, _number(TIME, start), *group))
    times.append(start)
    duration = _part(b"\x44\x89", struct.pack(">d", length))
    by = _part(b"\x4d\x80", b"crowdqc") + _part(b"\x57\x41", b"crowdqc")
    info = _part(INFO, _number(SCALE, MILLISECOND), by, duration)
    channels = _number(b"\x9f", head[9])
    audio = _part(b"\xe1", _part(b"\xb5", struct.pack(">d", 48_000.0)), channels)
    of_track = (_number(NUMBER, 1), _number(b"\x73\xc5", 1), _part(KIND, b"\x02"))
    track = _part(TRACK, *of_track, _part(CODEC, b"A_OPUS"), _part(PRIVATE, head), audio)
    before = info + _part(TRACKS, track)
    # Every number of the index has eight bytes, so that its size is known before its content.
    at = len(before) + len(_index(times, [0] * len(times)))
    places = []
    for cluster in clusters:
        places.append(at)
        at += len(cluster)
    webm = _part(DOCTYPE, b"webm") + _number(b"\x42\x87", 4) + _number(b"\x42\x85", 2)
    return _part(EBML, webm) + _part(SEGMENT, before, _index(times, places), *clusters)


def _index(times: list[int], places: list[int]) -> bytes:
    """Return the index of a recording: where each cluster begins, from the segment's first part."""
    points = (
        _part(
            b"\xbb",
            _number(b"\xb3", time),
            _part(b"\xb7", _number(b"\xf7", 1), _number(b"\xf1", place)),
        )
        for time, place in zip(times, places, strict=True)
    )
    return _part(CUES, *points)
