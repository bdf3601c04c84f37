"""Images and sounds of examples, made when they are wanted; none comes from elsewhere."""

from __future__ import annotations

import io
import math
import random
import struct
import wave
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image, ImageDraw

SIZE, RATE = (480, 320), 8000  # pixels; samples a second
PAPER, LEAF, VEIN, SPOT = "#f4f1ea", "#5d8f4e", "#47703b", "#7a4a26"


def make_file(spec: Mapping[str, Any]) -> bytes:
    """The bytes of an example: ``{"make": "leaf", "spots", "holes"}`` or ``"tones", "seconds"``."""
    if spec["make"] == "leaf":
        return draw_leaf(spec.get("spots", 0), spec.get("holes", 0))
    return play_tones(spec["seconds"])


def draw_leaf(spots: int, holes: int) -> bytes:
    """A leaf with so many brown spots and holes, as PNG; the same numbers give the same leaf."""
    image = Image.new("RGB", SIZE, PAPER)
    pen = ImageDraw.Draw(image)
    pen.line((60, 160, 440, 160), fill=VEIN, width=9)
    pen.ellipse((110, 50, 430, 270), fill=LEAF)
    pen.line((110, 160, 420, 160), fill=VEIN, width=5)
    for at in range(170, 390, 50):
        for end in (95, 225):
            pen.line((at, 160, at + 35, end), fill=VEIN, width=3)
    rng = random.Random(f"{spots} {holes}")  # noqa: S311 (a drawing)
    for number in range(spots + holes):
        angle, far = rng.uniform(0, 2 * math.pi), rng.uniform(0.2, 0.7)
        x, y, r = 270 + 140 * far * math.cos(angle), 160 + 95 * far * math.sin(angle), 12
        pen.ellipse((x - r, y - r, x + r, y + r), fill=SPOT if number < spots else PAPER)
    found = io.BytesIO()
    image.save(found, "PNG")
    return found.getvalue()


def play_tones(seconds: Sequence[float]) -> bytes:
    """Tones of these lengths with pauses between, as WAV (8 kHz, 16 bits, mono)."""
    pause = [0] * int(RATE * 0.25)
    samples = list(pause)
    for length in seconds:
        number = int(RATE * length)
        samples += [int(9000 * math.sin(2 * math.pi * 440 * n / RATE)) for n in range(number)]
        samples += pause
    found = io.BytesIO()
    with wave.open(found, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        out.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    return found.getvalue()
