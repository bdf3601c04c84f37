"""Child processes that end with their parent, talk through it, and can be stopped as a group."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1
# Loaded before any fork: between fork and exec only the call itself may happen.
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def end_with_parent(signum: int) -> Callable[[], None]:
    """A ``preexec_fn``: the kernel sends ``signum`` to the child when its parent dies (Linux).

    The parent is the *thread* that starts the child, so start it from a thread that stays.
    """
    parent = os.getpid()

    def arm() -> None:
        if _libc is not None:
            _libc.prctl(PR_SET_PDEATHSIG, signum, 0, 0, 0)
            if os.getppid() != parent:  # it died before the call
                os.kill(os.getpid(), signal.SIGKILL)

    return arm


class Child:
    """A supervised program in its own session, its output printed line by line with a prefix."""

    def __init__(
        self,
        name: str,
        args: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        say: Callable[[str, str], None],
        parent_death_signal: int = signal.SIGKILL,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.name = name
        self._args = list(args)
        self._env = dict(env)
        self._cwd = cwd
        self._say = say
        self._signal = parent_death_signal
        self._pass_fds = tuple(pass_fds)
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the running or last started program."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the program; its output is forwarded until it ends."""
        self._process = subprocess.Popen(  # noqa: S603 - our own argument lists
            self._args,
            env=self._env,
            cwd=self._cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            pass_fds=self._pass_fds,
            preexec_fn=end_with_parent(self._signal),  # noqa: PLW1509 - one system call
        )
        self._reader = threading.Thread(target=self._forward, args=(self._process,), daemon=True)
        self._reader.start()

    def _forward(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None  # noqa: S101 - opened with a pipe above
        with process.stdout:
            for line in process.stdout:
                self._say(self.name, line.rstrip("\n"))

    def poll(self) -> int | None:
        """The exit status once the program has ended; what it left behind is ended too."""
        status = self._process.poll() if self._process else None
        if status is not None:
            self._signal_group(signal.SIGKILL)
        return status

    def _signal_group(self, signum: int) -> None:
        if self._process is None:
            return
        try:
            os.killpg(self._process.pid, signum)
        except (ProcessLookupError, PermissionError):
            return  # nobody of the group is left (macOS answers EPERM for zombies)

    def request_stop(self) -> None:
        """Ask the program itself, not its own children, to finish."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def finish(self, timeout: float) -> bool:
        """Wait for the end, then end the whole group; False if it had to be forced."""
        if self._process is None:
            return True
        try:
            self._process.wait(timeout=max(timeout, 0.01))
            asked = True
        except subprocess.TimeoutExpired:
            asked = False
        self._signal_group(signal.SIGKILL)
        self._process.wait()
        if self._reader is not None:
            self._reader.join(timeout=2)
        return asked
