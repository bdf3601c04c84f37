"""Child processes that end with their parent and are stopped as a group."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from crowdqc.jobs.family import die_with_parent


def end_with_parent(signum: int) -> Callable[[], None]:
    """Return a ``preexec_fn``: the kernel sends ``signum`` when the parent dies.

    The parent is the *thread* that starts the child, so start it from a thread that stays.
    """
    return partial(die_with_parent, os.getpid(), signum)


class Child:
    """A supervised program in its own session, with prefixed output.

    Parameters
    ----------
    name
        What its own output is printed under.
    args
        Its command line; ``NAME=FD`` is added for each of ``parts``.
    parts
        Names of further outputs: what is written to their descriptors is printed under these.
    say
        Takes a name and a line.
    """

    def __init__(
        self,
        name: str,
        args: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        say: Callable[[str, str], None],
        pass_fds: Sequence[int] = (),
        parts: Sequence[str] = (),
    ) -> None:
        self.name = name
        self._args = list(args)
        self._env = dict(env)
        self._cwd = cwd
        self._say = say
        self._pass_fds = tuple(pass_fds)
        self.parts = list(parts)
        self._process: subprocess.Popen[bytes] | None = None
        self._readers: dict[str, threading.Thread] = {}

    @property
    def pid(self) -> int | None:
        """The process id of the running or last started program."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the program; its output is forwarded until it ends."""
        pipes = {name: os.pipe() for name in (self.name, *self.parts)}
        own = pipes[self.name][1]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own argument lists
                [*self._args, *(f"{name}={pipes[name][1]}" for name in self.parts)],
                env=self._env,
                cwd=self._cwd,
                stdin=subprocess.PIPE,
                stdout=own,
                stderr=own,
                start_new_session=True,
                pass_fds=(*self._pass_fds, *(pipes[name][1] for name in self.parts)),
                preexec_fn=end_with_parent(signal.SIGKILL),  # noqa: PLW1509 - one system call
            )
        finally:
            for _, end in pipes.values():
                os.close(end)
        for name, (source, _) in pipes.items():
            reader = threading.Thread(target=self._forward, args=(name, source), daemon=True)
            self._readers[name] = reader
            reader.start()

    def send_byte(self) -> None:
        """Send a byte to the child's standard input, for which it waits."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):  # it has ended, which poll() tells
                self._process.stdin.write(b"\n")
                self._process.stdin.flush()

    def _forward(self, name: str, source: int) -> None:
        with open(source, errors="replace") as lines:
            for line in lines:
                self._say(name, line.rstrip("\n"))

    def is_writing(self, part: str) -> bool:
        """Whether more output of this part can come."""
        return part in self._readers and self._readers[part].is_alive()

    def poll(self) -> int | None:
        """Return the exit status once the program ended; end what it left behind."""
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
        """Ask the program, not its children, to finish."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def finish(self, timeout: float) -> bool:
        """Wait for the end, then end the group; False if that took force."""
        if self._process is None:
            return True
        try:
            self._process.wait(timeout=max(timeout, 0.01))
            asked = True
        except subprocess.TimeoutExpired:
            asked = False
        self._signal_group(signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        for reader in self._readers.values():
            reader.join(timeout=2)
        return asked
