"""Spoken answers: taken in by what their bytes are, no longer than asked for, and written anew."""

from __future__ import annotations

import base64
import io
import wave
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from annotation.files.reading.recordings import CLUSTER, MAX_RECORDING, read_recording
from crowdqc.errors import Invalid

# Two seconds from Chromium's MediaRecorder and its made-up microphone, with a pause in between.
SPOKEN = (Path(__file__).parent / "spoken.webm").read_bytes()
PLAYED = """async (address) => {
    const player = new Audio(address);
    await new Promise((good, bad) => { player.onloadedmetadata = good; player.onerror = bad; });
    const length = player.duration;
    player.currentTime = 25;
    await new Promise((good, bad) => { player.onseeked = good; player.onerror = bad; });
    return [length, player.currentTime];
}"""


def _wav(seconds: float) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(b"\0\1" * round(8_000 * seconds))
    return out.getvalue()


def test_a_recording_keeps_its_sound_and_not_what_made_it() -> None:
    found = read_recording(SPOKEN + b"<script>alert(1)</script>", most_seconds=60)
    assert (found.type, found.seconds) == ("audio/webm", pytest.approx(2, abs=0.1))
    assert b"Chrome" in SPOKEN
    assert b"Chrome" not in found.data and b"script" not in found.data
    # Nothing is left to take away, and nothing of the sound was.
    assert read_recording(found.data, most_seconds=60) == found


def test_a_recording_cut_off_by_a_closed_browser_keeps_what_was_said() -> None:
    whole = read_recording(SPOKEN, most_seconds=60).seconds
    assert 0.5 < read_recording(SPOKEN[:2_000], most_seconds=60).seconds < whole


def test_a_wav_keeps_its_samples_alone() -> None:
    samples = _wav(1.5)
    found = read_recording(samples + b"LIST\x04\0\0\0Anna", most_seconds=60)
    assert (found.type, found.seconds) == ("audio/wav", 1.5)
    assert found.data == samples


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"x" * (MAX_RECORDING + 1), "more than 16 MB"),
        (b"<!doctype html><script>alert(1)</script>", "no sound"),
        (b"\x1aE\xdf\xa3<script>alert(1)</script>", "cannot be read as WebM"),
        (SPOKEN.replace(b"webm", b"page"), "cannot be read as WebM"),
        (SPOKEN.replace(b"A_OPUS", b"V_VP9 "), "cannot be read as WebM"),
        (SPOKEN.replace(b"\x83\x81\x02", b"\x83\x81\x01"), "cannot be read as WebM"),
        (SPOKEN[:150], "cannot be read as WebM"),
        (b"RIFF\0\0\0\0WAVE", "cannot be read as a WAV"),
        (_wav(1).replace(b"fmt \x10\0\0\0\1", b"fmt \x10\0\0\0\7"), "browsers cannot play"),
    ],
)
def test_what_is_no_recording_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        read_recording(data, most_seconds=60)


@pytest.mark.parametrize("data", [SPOKEN, _wav(2)])
def test_a_recording_longer_than_asked_for_is_refused(data: bytes) -> None:
    with pytest.raises(Invalid, match=r"longer than 0\.02 minutes"):
        read_recording(data, most_seconds=1.2)


def test_every_damaged_recording_is_refused_or_read() -> None:
    for at in (*range(700), *range(700, len(SPOKEN), 5)):  # its head, and places of its sound
        damaged = SPOKEN[:at] + bytes([SPOKEN[at] ^ 0xFF]) + SPOKEN[at + 1 :]
        try:
            found = read_recording(damaged, most_seconds=60)
        except Invalid:
            continue
        assert read_recording(found.data, most_seconds=60) == found


@pytest.mark.browser
def test_a_player_knows_the_length_and_goes_to_any_place(page: Page) -> None:
    head, first, *_ = SPOKEN.split(CLUSTER)  # of 540 milliseconds, its time in one byte
    later = [
        first.replace(b"\xe7\x81\0", b"\xe7\x82" + (540 * n).to_bytes(2, "big"), 1)
        for n in range(56)
    ]
    found = read_recording(CLUSTER.join([head, *later]), most_seconds=60)
    data: Any = base64.b64encode(found.data).decode()
    length, place = page.evaluate(PLAYED, f"data:audio/webm;base64,{data}")
    assert length == pytest.approx(56 * 0.54, abs=0.1)
    assert place == pytest.approx(25, abs=0.01)
