"""Kombu's Redis transport, for which a lost connection is not the end of a worker.

Where a job ends while the broker is away, its message cannot be acknowledged. The stock transport
then goes on counting it as being worked on: the worker has all that it may take, never reads from
its dead connection again, and so never learns that it is dead. It would wait for ever.
"""

from __future__ import annotations

from kombu.transport import redis, virtual


class QoS(redis.QoS):
    """Counts what is being worked on; a message that cannot be acknowledged is not any more."""

    def ack(self, delivery_tag: str) -> None:
        """Take a message off the broker. One that stays there is given out again, after a while."""
        try:
            self._remove_from_indices(delivery_tag).execute()
        finally:
            virtual.QoS.ack(self, delivery_tag)


class Channel(redis.Channel):
    """A channel that counts so."""

    QoS = QoS


class Transport(redis.Transport):
    """What ``redis://`` stands for here."""

    Channel = Channel
