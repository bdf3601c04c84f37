"""Files as people bring them: what each is taken to be, how many rows count, and the agreement."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from annotation.files.reading.tables import Reading
from crowdqc.errors import Invalid
from evaluation.management.commands.crowdqc_score import open_file
from evaluation.methods.agreement.coefficients import krippendorff_alpha
from evaluation.score_table.reports.labels import labels_of

# Three workers, eight items: the third one errs on every fourth.
VOTES = [(f"w{k}", f"i{n}", n % 2 ^ (k == 2 and n % 4 == 0)) for n in range(8) for k in range(3)]
YES = ("no", "yes")
ALPHA = 0.671  # by hand: two items of three disagree, 10 and 14 of 24: 1 - 23 * 4 / (2 * 10 * 14)
LONG = [f"{w},{i},{YES[x]}" for w, i, x in VOTES]
HEAD = "worker,item,label"


def found_in(
    folder: Path, content: str | bytes, name: str = "votes.csv", **how: object
) -> tuple[str, object]:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_file(path, **how)  # type: ignore[arg-type]


def alpha_of(found: object) -> float:
    return round(krippendorff_alpha(labels_of(found.checked)[0], "nominal"), 3)  # type: ignore[attr-defined]


def text(*lines: str) -> str:
    return "\n".join([*lines, ""])


CONTAINERS = {
    "plain": (text(HEAD, *LONG), "votes.csv"),
    "Excel's separator": (
        text("sep=;", *(line.replace(",", ";") for line in [HEAD, *LONG])),
        "votes.csv",
    ),
    "no header": (text(*LONG), "votes.csv"),
    "gzip": (gzip.compress(text(HEAD, *LONG).encode()), "votes.csv.gz"),
    "Qualtrics": (
        text(
            "ResponseId," + HEAD,
            "Response ID,Who,What,Pick one",
            ",".join(f'"{{""ImportId"":""Q{n}""}}"' for n in range(4)),
            *(f"R{n},{line}" for n, line in enumerate(LONG)),
        ),
        "votes.csv",
    ),
    "nested by worker": (
        json.dumps(
            {f"w{k}": {i: YES[x] for w, i, x in VOTES if w == f"w{k}"} for k in range(3)}, indent=1
        ),
        "votes.json",
    ),
    "nested by item": (
        json.dumps({f"i{n}": {w: YES[x] for w, i, x in VOTES if i == f"i{n}"} for n in range(8)}),
        "votes.json",
    ),
    "NaN beside the votes": (
        json.dumps(
            [{"worker": w, "item": i, "label": YES[x], "score": float("nan")} for w, i, x in VOTES]
        ),
        "votes.json",
    ),
    "names of Snow": (
        text(
            "!amt_annotation_ids\t!amt_worker_ids\torig_id\tresponse\tgold",
            *(
                f"{n}\t{w}\t{i}\t{YES[x]}\t{YES[int(i[1]) % 2]}"
                for n, (w, i, x) in enumerate(VOTES)
            ),
        ),
        "votes.tsv",
    ),
}


@pytest.mark.parametrize("case", CONTAINERS)
def test_the_same_votes_are_read_from_every_container(case: str, tmp_path: Path) -> None:
    content, name = CONTAINERS[case]
    kind, found = found_in(tmp_path, content, name)
    assert (kind, found.checked.used, list(found.checked.problems)) == ("label_table", 24, [])
    assert alpha_of(found) == ALPHA
    assert bool(found.checked.notes) == (
        case in ("no header", "Qualtrics", "nested by worker", "nested by item")
    )


def test_a_matrix_without_a_header_has_no_vote_as_its_header(tmp_path: Path) -> None:
    rows = [",".join(YES[x] for _, i, x in VOTES if i == f"i{n}") for n in range(8)]
    kind, found = found_in(tmp_path, text(*rows))
    assert (kind, found.checked.used, alpha_of(found)) == ("label_matrix", 8, ALPHA)


def test_a_person_says_that_there_is_no_header_and_which_column_is_which(tmp_path: Path) -> None:
    rows = text("a,1,x", "b,1,x", "a,2,y", "b,2,x")
    given = {"worker": "column 1", "item": "column 2", "label": "column 3"}
    kind, found = found_in(tmp_path, rows, given=given, reading=Reading(header=False))
    assert (kind, len(found.checked.good)) == ("label_table", 4)
    with pytest.raises(Invalid, match="no column Column 9"):
        found_in(tmp_path, rows, given={"worker": "Column 9"})


def test_chinese_bytes_are_read_as_such_and_it_is_said(tmp_path: Path) -> None:
    chinese = text(HEAD, *(line.replace("yes", "正面").replace("no", "负面") for line in LONG))
    _, found = found_in(tmp_path, chinese.encode("gb18030"))
    assert {one["label"] for one in found.checked.good} == {"正面", "负面"}
    assert found.sheet.encoding == "GB18030" and found.sheet.encoding_note
    _, found = found_in(
        tmp_path, chinese.encode("big5", "replace"), reading=Reading(encoding="big5")
    )
    assert found.sheet.encoding == "big5"
    latin = text(HEAD, *(line.replace("yes", "naïf").replace("no", "déçu") for line in LONG))
    assert found_in(tmp_path, latin.encode("cp1252"))[1].sheet.encoding == "Latin-1"


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (text(HEAD, *LONG[:8], 'w0,i9,"no', *LONG[8:]), "votes.csv", "line 10 and never closes"),
        ('[{"worker": 1e999}]', "votes.json", "Line 1: .* too large a number"),
        (gzip.compress(bytes(range(99)))[:40], "votes.gz", "cut off"),
    ],
)
def test_what_cannot_be_read_is_refused_for_its_own_reason(
    content: str | bytes, name: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(Invalid, match=reason):
        found_in(tmp_path, content, name)
