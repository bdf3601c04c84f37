"""Words that name nothing by themselves, and the words of a name."""

from __future__ import annotations

import re

FUNCTION_WORDS = frozenset(
    """
    a about above after again all also an and any are as ask asked asks at back be been before being
    below between both but by can come comes could did do does done down each either ever every few
    for found from gave get give given gives go goes gone got had has have held here hold how
    if in into is it its just kept keep left less let made many may might more most much
    must never no none nor not now of off often on once one ones only or other others out over put
    said same say says seen shall should so some still such take taken takes tell tells than that
    the their them then there these they this those though to told too under until up very was way
    were what when where whether which while who whole whom whose why will with within without would
    yet
    """.split()
)


def words_of(name: str) -> list[str]:
    """Split a name into its lower-case words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")
