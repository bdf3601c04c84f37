"""Kombu's Redis transport, made to survive a lost connection.

Where a job ends while the broker is away, its message cannot be acknowledged. The stock transport
then goes on counting it as being worked on: the worker has all that it may take, never reads from
its dead connection again, and so never learns that it is dead. It would wait for ever.
"""

from __future__ import annotations

from kombu.transport import redis, virtual


class QoS(redis.QoS):
    """Count messages in progress; one that cannot be acknowledged is dropped."""

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge a message; one that stays is redelivered later."""
        try:
            self._remove_from_indices(delivery_tag).execute()
        finally:
            virtual.QoS.ack(self, delivery_tag)


class Channel(redis.Channel):
    """A channel with this counting."""

    QoS = QoS


class Transport(redis.Transport):
    """The transport behind ``redis://``."""

    Channel = Channel
