"""The words for a winner of two, and the columns that hold it, in three languages."""

from __future__ import annotations

import re

from annotation.files.reading.importer import plain

LEFT_WORDS = ("left", "l", "links", "izquierda")
RIGHT_WORDS = ("right", "r", "rechts", "derecha")
# How a winner may be written, besides the name of one of the two.
SAID = {
    **dict.fromkeys((*LEFT_WORDS, "modela", "modella", "modeloa", "a", "first"), "model_a"),
    **dict.fromkeys((*RIGHT_WORDS, "modelb", "modellb", "modelob", "b", "second"), "model_b"),
    **dict.fromkeys(("tie", "draw", "neutral", "equal", "same", "n", "none"), "tie"),
    **dict.fromkeys(("unentschieden", "gleich", "gleichgut", "empate", "igual"), "tie"),
    **dict.fromkeys(("bothgood", "tiebothgood"), "tie"),
    **dict.fromkeys(("bothbad", "tiebothbad"), "both_bad"),
}
WINNERS = (
    *("preferred", "preference", "verdict", "outcome", "result", "better", "best", "chosen"),
    *(
        "pref",
        "overall_pref",
        "overall_preference",
        "label",
        "vote",
        "choice",
        "judgment",
        "judgement",
    ),
    *("gewinner", "sieger", "besser", "ganador", "ganadora", "mejor"),
)
MARKED = re.compile(r"\[\[(.+?)\]\]")  # as judges that are language models end their answers
ORDER = re.compile(r"([ab])\s*([<>=~≈]{1,3})\s*([ab])", re.IGNORECASE)
BETTER = re.compile(
    r"(?:(?:response|answer|assistant|option|output|text|model|system)[\W_]*)?"
    r"(.+?)[\W_]+(?:(?:is|was)[\W_]+)?"
    r"(?:(?:much|far|clearly|significantly|slightly|marginally|somewhat|a[\W_]bit)[\W_]+)?"
    r"(?:better|stronger|preferred|wins|won)",
    re.IGNORECASE,
)


def winner_of(said: str) -> str:
    """Which side a verdict is for, in one of the usual wordings; the same where it is none.

    ``[[A]]``, ``A>>B``, ``A=B`` and ``B-is-clearly-better`` are verdicts; how clear they are is
    not read.
    """
    marked = MARKED.findall(said)
    bare = (marked[-1] if marked else said).strip()
    if (order := ORDER.fullmatch(bare)) and order[1].casefold() != order[3].casefold():
        side = {">": order[1], "<": order[3]}.get(order[2][0], "tie")
        return SAID[side.casefold()]
    better = BETTER.fullmatch(bare)
    word = better[1] if better else bare
    name = plain(word)
    # Without its accent a single letter would be another one: À and Á are two verdicts.
    return said if len(name) == 1 and not word.isascii() else SAID.get(name, said)
