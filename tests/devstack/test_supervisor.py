"""The one command that runs everything: it comes up, stays up, and leaves nothing behind."""

from __future__ import annotations

import socket
import time

import pytest

from crowdqc.devstack.supervisor import FIRST_DELAY, RestartingChild, open_socket


def test_a_taken_port_is_left_to_its_owner() -> None:
    with socket.socket() as owner:
        owner.bind(("127.0.0.1", 0))
        owner.listen()
        taken = owner.getsockname()[1]
        server, port = open_socket("127.0.0.1", taken)
        with server:
            assert port != taken
            assert server.getsockname() == ("127.0.0.1", port)


class Failing:
    """A child that has always just died."""

    name = "web"
    starts = 0

    def start(self) -> None:
        self.starts += 1

    def poll(self) -> int:
        return 1


def test_a_child_that_keeps_dying_is_started_ever_later() -> None:
    child, said = Failing(), []
    kept = RestartingChild(child)  # type: ignore[arg-type]
    kept.start()
    waits = []
    for _ in range(3):
        kept.restart_if_due(lambda name, line: said.append(line))
        waits.append(kept.due - time.monotonic())
        kept.restart_if_due(lambda name, line: None)  # not due yet
        kept.due = 0
        kept.restart_if_due(lambda name, line: None)
    assert child.starts == 4
    assert waits == pytest.approx([FIRST_DELAY, 2 * FIRST_DELAY, 4 * FIRST_DELAY], abs=0.2)
    assert said[0] == f"web ended (status 1); starting it again in {FIRST_DELAY:g} s"
