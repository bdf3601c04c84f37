"""What generated models rest on."""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel, ConfigDict

Amount = Decimal | str | int  # of money: never a float, which has no exact cents


class Model(BaseModel):
    """A response of the server, frozen; fields that a newer server adds are ignored.

    It is built when it is first read, since there are hundreds.
    """

    model_config = ConfigDict(
        frozen=True, extra="ignore", defer_build=True, protected_namespaces=()
    )
