"""Processes forked from one loaded program to share its memory.

What is loaded before the fork stays one copy in memory, and no member waits for its imports. A
member that dies is started again, ever later while it keeps dying. SIGTERM ends them all; a
second one does not wait.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

FIRST_DELAY, LONGEST_DELAY, STEADY_SECONDS = 0.5, 30.0, 60.0
TICK_SECONDS = 0.1
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
# Loaded before any fork: between a fork and what follows only the call itself may happen.
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(parent: int, signum: int) -> None:
    """Make the kernel send ``signum`` to this process when its parent ends (Linux)."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signum, 0, 0, 0)
        if os.getppid() != parent:  # it died before the call
            os.kill(os.getpid(), signal.SIGKILL)


def name_process(name: str) -> None:
    """Set the name that ps and top show (Linux, 15 characters)."""
    if _libc is not None:
        _libc.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


class StartRequest:
    """A request of one process to start another member."""

    def __init__(self) -> None:
        self.heard_at, self._rung_at = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def send(self) -> None:
        """Request the member; repeated requests count once."""
        with contextlib.suppress(BlockingIOError):  # it is full of what was not heard yet
            os.write(self._rung_at, b"!")

    def take(self) -> bool:
        """Return whether it was requested since the last call."""
        with contextlib.suppress(BlockingIOError):
            return bool(os.read(self.heard_at, 65536))
        return False


@dataclass
class Member:
    """One process of a family.

    Parameters
    ----------
    name
        What ``ps`` shows of it.
    work
        What it does; gives the exit status.
    output
        A file descriptor that its output goes to; None leaves it where the parent's goes.
    once
        Not started again: what comes ``after`` begins when it has ended.
    after
        Another member that has to have ended before this one begins.
    bell
        It is started when this is rung, and not again by itself once it has ended well.
    """

    name: str
    work: Callable[[], int]
    output: int | None = None
    once: bool = False
    after: str = ""
    bell: StartRequest | None = None
    wanted: bool = True
    pid: int = 0
    delay: float = FIRST_DELAY
    started: float = 0.0
    due: float = 0.0

    def __post_init__(self) -> None:
        self.wanted = self.bell is None


class Family:
    """The members and their supervision."""

    def __init__(self, members: list[Member], ended: Callable[[Member, int], None]) -> None:
        self.members = members
        self.ended = ended
        self.signals = 0

    def run(self) -> int:
        """Start the members, keep them up, stop on a signal; return the exit status."""
        gc.collect()
        gc.freeze()  # what is loaded stays shared
        gc.enable()
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, self._end)
        while True:
            self._reap()
            if self.signals and not any(member.pid for member in self.members):
                return 0
            if not self.signals:
                self._start_due()
            self._listen()

    def _listen(self) -> None:
        """Wait a moment, or until a member is requested."""
        bells = {m.bell.heard_at: m for m in self.members if m.bell is not None}
        for place in select.select(list(bells), [], [], TICK_SECONDS)[0]:
            member = bells[place]
            # One that is there hears nothing: it may be about to end, and is asked for again then.
            if member.bell is not None and member.bell.take() and not member.pid:
                member.wanted = True

    def _start_due(self) -> None:
        now, waits = time.monotonic(), {m.name for m in self.members if m.once}
        for member in list(self.members):
            due = member.wanted and not member.pid and now >= member.due
            if due and member.after not in waits:
                self.start(member)

    def start(self, member: Member) -> None:
        """Fork a member."""
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        member.started = time.monotonic()
        member.pid = os.fork()
        if member.pid:
            if self.signals:  # told to end while it was being started
                os.kill(member.pid, signal.SIGTERM)
            return
        status = 1
        try:
            for signum in (signal.SIGTERM, signal.SIGINT):
                signal.signal(signum, signal.SIG_DFL)
            os.setpgid(0, 0)
            die_with_parent(parent, signal.SIGTERM)
            name_process(member.name)
            if member.output is not None:
                os.dup2(member.output, 1)
                os.dup2(member.output, 2)
            for other in self.members:  # an output ends when the last who can write to it has
                if other.output is not None:
                    with contextlib.suppress(OSError):  # several share one
                        os.close(other.output)
            status = member.work()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:  # said here, as nobody above may go on in this process
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def _reap(self) -> None:
        """Notice ended members and schedule their restart."""
        for member in self.members:
            if not member.pid:
                continue
            pid, status = os.waitpid(member.pid, os.WNOHANG)
            if not pid:
                continue
            self._signal_group(member, signal.SIGKILL)  # what it left behind
            member.pid = 0
            if member.bell is not None and not os.waitstatus_to_exitcode(status):
                member.wanted = False
                continue
            now = time.monotonic()
            if now - member.started > STEADY_SECONDS:
                member.delay = FIRST_DELAY
            member.due = now + member.delay
            if not self.signals:
                self.ended(member, os.waitstatus_to_exitcode(status))
            member.delay = min(2 * member.delay, LONGEST_DELAY)
            if member.once:
                self.members = [other for other in self.members if other is not member]

    @staticmethod
    def _signal_group(member: Member, signum: int) -> None:
        try:
            os.killpg(member.pid, signum)
        except (ProcessLookupError, PermissionError):
            return  # nobody of the group is left (macOS answers EPERM for zombies)

    def _end(self, signum: int, frame: FrameType | None) -> None:
        self.signals += 1
        for member in self.members:
            if not member.pid:
                continue
            if self.signals == 1 and not member.once:
                os.kill(member.pid, signal.SIGTERM)
            else:
                self._signal_group(member, signal.SIGKILL)
