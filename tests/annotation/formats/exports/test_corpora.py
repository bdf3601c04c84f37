"""Labels as corpora: marked spans as CoNLL and for spaCy, and a data set for the Hub."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.files.conll import (
    TOKEN,
    Span,
    biluo,
    conll_lines,
    read_conll,
    table_rows,
    tag_tokens,
)
from annotation.formats.actions.imports import import_content
from annotation.formats.exports.pairwise import count_left_out, exports_of
from annotation.models import Answer, ChoiceValue, SpanValue, Task
from crowdqc.errors import Invalid
from tests.support import factories
from tests.support.studies import labels

TEXT = "In Bonn, on Monday (sic)."


def load(task: Task, content: str, name: str) -> None:
    by = task.project.owner
    import_content(by=by, task=task, kind="labels", content=content.encode(), name=name)


def opened(task: Task, what: str) -> dict[str, bytes]:
    content = b"".join(exports_of(task)[what].lines(task, "zip", ""))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def marked(worker: str, *spans: tuple[int, int, str]) -> str:
    row = {"worker": worker, "item": "leaf-1", "field": "places"}
    return "".join(
        json.dumps({**row, "start": start, "end": end, "label": label}) + "\n"
        for start, end, label in spans
    )


@pytest.mark.django_db
def test_spans_go_out_as_conll_and_come_back_and_what_bio_cannot_hold_is_listed() -> None:
    task = labels.make_labels(factories.make_project(), [TEXT], fields=[labels.PLACES])
    load(task, marked("ann", (3, 7, "place"), (12, 18, "date")), "a.jsonl")
    assert (
        "Left out, as they hold no row: soft_labels."
        in opened(task, "huggingface")["README.md"].decode()
    )  # their loader refuses a table without rows
    load(task, marked("bob", (0, 7, "place"), (3, 7, "date"), (13, 18, "date")), "b.jsonl")
    files = opened(task, "conll")
    documents = [one.spans for one in read_conll(files["spans.conll"].decode().splitlines())]
    told = [json.loads(line) for line in files["documents.jsonl"].splitlines()]
    stored = [
        {
            Span(*row)
            for row in SpanValue.objects.filter(
                answer__worker__pseudonym=one["worker"]
            ).values_list("start", "end", "target")
        }
        for one in told
    ]
    assert set(documents[0]) == stored[0] and documents[1] == [Span(0, 7, "place")]
    listed = [json.loads(line) for line in files["not_expressible.jsonl"].splitlines()]
    lost = {Span(one["start"], one["end"], one["label"]): one["reason"] for one in listed}
    assert set(lost) | set(documents[1]) == stored[1]
    assert lost[Span(3, 7, "date")] == "overlaps a span before it"
    assert lost[Span(13, 18, "date")] == "begins or ends inside a token"
    assert count_left_out(task, "conll") == {reason: 1 for reason in lost.values()}
    (paragraph,) = json.loads(files["spacy.json"])[0]["paragraphs"]
    tokens = paragraph["sentences"][0]["tokens"]
    assert paragraph["raw"] == TEXT
    assert [one["ner"] for one in tokens if one["ner"] != "O"] == ["U-place", "U-date"]
    assert "one other character that is no whitespace" in files["README.md"].decode()


@given(st.text(max_size=60), st.data())
def test_spans_of_whole_tokens_that_do_not_overlap_are_the_same_again(text: str, data: Any) -> None:
    tokens = [found.span() for found in TOKEN.finditer(text)]
    cuts = data.draw(st.sets(st.integers(0, len(tokens)))) if tokens else set()
    ordered = sorted(cuts)
    pairs = zip(ordered[::2], ordered[1::2], strict=False)
    spans = [
        Span(tokens[first][0], tokens[last - 1][1], data.draw(st.sampled_from(["a", "b-c"])))
        for first, last in pairs
    ]
    tagged, left = tag_tokens(text, spans)
    assert not left
    assert [text[one.start : one.end] for one in tagged] == [one.text for one in tagged]
    (read,) = read_conll("".join(conll_lines(tagged)).split("\n"))
    assert read.spans == spans
    begun = [tag for tag in biluo([one.tag for one in tagged]) if tag[0] in "BU"]
    assert [tag[2:] for tag in begun] == [span.label for span in spans]


@pytest.mark.django_db
def test_a_data_set_holds_items_labels_and_shares_with_a_card_that_names_their_columns() -> None:
    task = labels.make_labels(factories.make_project())
    votes = "worker,item,label\nann,leaf-1,spots\nbob,leaf-1,holes\ncid,leaf-1,spots\n"
    load(task, votes, "a.csv")
    files = opened(task, "huggingface")
    card = files["README.md"].decode()
    for name in ("items", "labels", "soft_labels"):
        table = pyarrow.parquet.read_table(io.BytesIO(files[f"{name}/train.parquet"]))
        assert f"- config_name: {name}\n  data_files:\n  - split: train\n" in card
        for column in table.column_names:
            assert f'  - name: "{column}"\n    dtype: ' in card
    soft = pyarrow.parquet.read_table(io.BytesIO(files["soft_labels/train.parquet"])).to_pylist()
    assert [(row["label"], row["votes"], row["of"]) for row in soft] == [
        ("holes", 1, 3),
        ("spots", 2, 3),
    ]
    assert sum(row["share"] for row in soft) == pytest.approx(1)


def said_in(task: Task) -> list[list[Any]]:
    """The spans of each answer; names of workers differ from project to project."""
    rows = [
        list(one.spans.order_by("start", "end").values_list("field", "start", "end", "target"))
        for one in Answer.objects.filter(item__task=task)
    ]
    return sorted(rows)


@pytest.mark.django_db
def test_the_archive_of_spans_comes_in_again_whole_and_twice_adds_nothing() -> None:
    task, other = (
        labels.make_labels(factories.make_project(), [TEXT], fields=[labels.PLACES])
        for _ in range(2)
    )
    load(task, marked("ann", (3, 7, "place"), (12, 18, "date")), "a.jsonl")
    load(task, marked("bob", (0, 7, "place"), (3, 7, "date"), (13, 18, "date")), "b.jsonl")
    nobody = {"worker": "cid", "item": "leaf-1", "field": "places", "label": "nothing"}
    load(task, json.dumps(nobody), "c.jsonl")
    content = b"".join(exports_of(task)["conll"].lines(task, "zip", ""))
    for _ in range(2):
        import_content(
            by=other.project.owner, task=other, kind="labels", content=content, name="spans.zip"
        )
    assert said_in(task) == said_in(other)
    assert Answer.objects.filter(item__task=other).count() == 3
    assert ChoiceValue.objects.get(answer__item__task=other).code == "nothing"


@pytest.mark.django_db
def test_a_file_of_tokens_and_tags_comes_in_by_its_comments() -> None:
    task = labels.make_labels(factories.make_project(), ["In New York now"], fields=[labels.PLACES])
    told = "# item = leaf-1\n# worker = ann\nIn O\nNew B-place\nYork I-place\nnow O\n"
    load(task, told, "a.conll")
    assert SpanValue.objects.values_list("start", "end", "target").get() == (3, 11, "place")
    assert Answer.objects.get().worker is not None


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        ("Bonn", "Line 1 has no tag."),
        ("Bonn I-place", "Line 1 continues no place."),
        ("Bonn B-place\non O\nRhine I-place", "Line 3 continues no place."),
        ("Bonn PLACE", "Line 1 has PLACE, which is no tag."),
    ],
)
def test_what_is_no_iob2_is_refused_by_its_line(told: str, wrong: str) -> None:
    with pytest.raises(Invalid, match=wrong):
        list(table_rows(read_conll(told.splitlines())))


@pytest.mark.django_db
def test_a_task_without_spans_offers_no_conll() -> None:
    task = labels.make_labels(factories.make_project())
    assert "conll" not in exports_of(task) and "huggingface" in exports_of(task)
