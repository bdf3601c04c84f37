"""Where sentence models compute: an accelerator where there is one, else the processor.

Accelerators work in half precision. On an H100, MiniLM and 2,442 real answers, cosines then differ
from a processor's by .0001 on average and .0006 at most, AQER's scores by .0001 at most, and ranks
not at all (in single precision cosines differ by 6e-7). Vectors of the two are kept apart, and the
recipe of a run names which it had.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from django.conf import settings

from crowdqc.errors import Invalid

AUTO, CUDA, MPS, CPU = "auto", "cuda", "mps", "cpu"
HALF = "/half"  # after the identity of an encoder that works in half precision
# Texts of a forward pass on an accelerator, by the width of the vectors up to which it holds. At
# 384 an H100 is quickest at 512, for a dozen words as for 230: 8,600 and 2,500 texts a second at
# 256, 13,700 and 2,800 at 512, 8,800 and 2,600 at 1,024.
BATCHES = ((384, 512), (768, 256), (1024, 128))
WIDEST = 64  # above
CPU_BATCH = 32  # far larger ones are slower on a CPU
FULL = ("out of memory", "can't allocate memory")
Done = TypeVar("Done")


@dataclass(frozen=True)
class Device:
    """What torch calls the device, and whether it works in half precision."""

    name: str

    @property
    def half(self) -> bool:
        return self.name != CPU

    def batch(self, width: int) -> int:
        """Texts of a forward pass to begin with, for vectors of this width."""
        if self.name == CPU:
            return CPU_BATCH
        return next((size for most, size in BATCHES if width <= most), WIDEST)


def before_torch() -> None:
    """Set environment variables that torch reads when it is loaded.

    Waiting threads sleep instead of spinning: with the cores shared (web, database), spinning
    took twice the processor time and left a half to a third of the speed.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")


def choose_device(asked: str, *, cuda: int, mps: bool) -> Device:
    """Choose the device for a setting: ``auto``, ``cuda``, ``cuda:<number>``, ``mps`` or ``cpu``.

    ``cuda`` is how many such devices there are. Raises Invalid for a device that is not there.
    """
    kind, _, number = asked.partition(":")
    if asked == AUTO:
        return Device(CUDA if cuda else MPS if mps else CPU)
    if asked == CPU or (asked == MPS and mps):
        return Device(asked)
    if kind == CUDA and cuda and (asked == CUDA or number in map(str, range(cuda))):
        return Device(asked)
    if kind in (CUDA, MPS):
        there = [*(f"{CUDA}:{one}" for one in range(cuda)), *([MPS] if mps else []), CPU]
        said = f"There is no device {asked!r} on this machine; there are: {', '.join(there)}."
    else:
        said = f"CROWDQC_DEVICE is {asked!r}; it must be auto, cuda, cuda:<number>, mps or cpu."
    raise Invalid(said, fields={"encoder": said})


@cache
def device() -> Device:
    """Return the device that CROWDQC_DEVICE names, loading torch only if there may be one."""
    asked = settings.CROWDQC_DEVICE
    if asked == CPU or not _may_have_accelerator():
        return choose_device(asked, cuda=0, mps=False)
    before_torch()
    import torch

    return choose_device(
        asked, cuda=torch.cuda.device_count(), mps=torch.backends.mps.is_available()
    )


def in_batches(work: Callable[[int], Done], size: int) -> tuple[Done, int]:
    """Run ``work(size)``, halving the batch size until memory suffices; return result and size."""
    while True:
        try:
            return work(size), size
        except RuntimeError as problem:
            if size == 1 or not any(words in str(problem) for words in FULL):
                raise
        size //= 2


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Bound torch's own threads within the block."""
    before_torch()
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def folder_identity(folder: Path, name: str = "") -> str:
    """Return a model's name (its folder's by default) and a hash over the folder's files.

    The hash is the beginning of SHA-256 over the files' names and contents.
    """
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(str(file.relative_to(folder)).encode() + b"\0")
        with file.open("rb") as handle:
            digest.update(hashlib.file_digest(handle, "sha256").digest())
    return f"{name or folder.name}@{digest.hexdigest()[:16]}"


def _may_have_accelerator() -> bool:
    """Whether it is worth loading torch, which takes seconds, to ask it."""
    if find_spec("torch") is None:
        return False
    if platform.system() == "Darwin":
        return platform.machine() == "arm64"
    hints = ("nvidia0", "nvidiactl", "dxg", "kfd")
    return platform.system() == "Windows" or any(Path("/dev", one).exists() for one in hints)
