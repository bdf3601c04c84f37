"""Texts become changes and come back exactly, whatever is written in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.task_types.writing import deltas

TEXT = st.text(alphabet="ab \n😀😃é\u0301𝄞\ud83d", max_size=30)


def whole(text: str) -> str:
    """As a browser holds it: two halves of a character side by side are that character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@given(TEXT, TEXT)
def test_a_change_turns_one_text_into_the_other(old: str, new: str) -> None:
    change = deltas.diff_texts(old, new)
    if change is None:
        assert old == new
        return
    position, deleted, inserted = change
    assert whole(deltas.apply(old, [0, *change])) == whole(new)
    assert position + deleted <= length(old)
    assert length(old) - deleted + length(inserted) == length(new)


@given(TEXT, TEXT, TEXT, TEXT)
def test_a_change_is_no_larger_than_what_was_replaced(a: str, b: str, c: str, d: str) -> None:
    change = deltas.diff_texts(whole(a + b + d), whole(a + c + d))
    if change is not None:
        # Halves of characters may meet at the seams, which makes two units of them one character.
        assert change[1] <= length(b) + 2
        assert length(change[2]) <= length(c) + 2


def test_characters_of_two_units_are_never_cut_apart() -> None:
    assert deltas.diff_texts("😀", "😃") == (0, 2, "😃")
    assert deltas.diff_texts("a😀b", "a😀😀b") == (3, 0, "😀")
    assert deltas.diff_texts("😀😀x", "😀😀y") == (4, 1, "y")


@given(st.lists(st.tuples(st.integers(-5, 2000), TEXT), min_size=1, max_size=8))
def test_snapshots_replay_one_by_one(steps: list[tuple[int, str]]) -> None:
    times = [100 + sum(step for step, _ in steps[: k + 1]) for k in range(len(steps))]
    texts = [text for _, text in steps]
    rows = deltas.of_snapshots(times, texts)
    assert rows[0] == [0, 0, 0, texts[0]]
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    seen, text = [], ""
    for row in rows:
        text = deltas.apply(text, row)
        seen.append(whole(text))
    distinct = [text for k, text in enumerate(texts) if k == 0 or text != texts[k - 1]]
    assert seen == [whole(text) for text in distinct]


def test_a_delta_beyond_the_text_is_refused() -> None:
    for text in ("abc", "ab😀"):
        with pytest.raises(ValueError, match="A delta at 2 deletes 3"):
            deltas.apply(text, [0, 2, 3, ""])


def test_snapshots_and_times_that_differ_in_number_are_refused() -> None:
    with pytest.raises(ValueError):
        deltas.of_snapshots([0, 1], ["a"])
