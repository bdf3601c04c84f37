"""The words for a winner of two, and the columns that hold it, in three languages."""

from __future__ import annotations

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
    *("label", "vote", "choice", "judgment", "judgement"),
    *("gewinner", "sieger", "besser", "ganador", "ganadora", "mejor"),
)
