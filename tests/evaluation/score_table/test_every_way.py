"""One file by the page, the API and the command: the same votes, notes, warnings and losses.

``CROWDQC_CASES`` names a folder of more files to try; without it the files made here are tried.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.models import ImportFile, Project, User
from crowdqc.errors import DomainError
from evaluation.management.commands.crowdqc_score import columns_told, open_file, rejected_lines
from evaluation.methods.agreement.coefficients import krippendorff_alpha
from evaluation.score_table import selectors
from evaluation.score_table.reports.labels import labels_of
from tests.evaluation.score_table.test_cases import CONTAINERS, NATIVE
from tests.evaluation.score_table.test_odd_files import FILES
from tests.support import factories
from tests.support.uploads import work

pytestmark = pytest.mark.django_db

HEAD = "worker,item,label"
# Files with losses, offers and warnings, beside those of the other modules.
LOSSY = {
    "a spelling": (
        "\n".join(
            [
                HEAD,
                *(
                    f"w{k},i{n},{'no' if n % 2 else 'yess' if (k, n) == (0, 0) else 'yes'}"
                    for n in range(40)
                    for k in range(3)
                ),
            ]
        ),
        "votes.csv",
    ),
    "a worker twice, a row too long, no label": (
        f"{HEAD}\nw0,i0,a\nw0,i0,b\nw1,i0,a\nw1,i1,\nw0,i1,a,b,c\nw1,i1,b\nw0,i1,b\n",
        "votes.csv",
    ),
    "a matrix with an empty row": (
        "item,w1,w2,w3\n"
        + "".join(f"i{n},{('yes', 'no')[n % 2]},no,yes\n" for n in range(20))
        + "i99,,,\n",
        "matrix.csv",
    ),
    "columns without a name": (
        "item,ann,,ben,,cem\n"
        + "".join(f"i{n},{'ab'[n % 2]},4,{'ab'[n % 3 > 0]},{n},{'ab'[n > 4]}\n" for n in range(9)),
        "matrix.csv",
    ),
    "a total, a majority, and a count": (
        ",ann,ben,cem,majority,n\n1,a,a,b,a,3\n2,b,b,b,b,4\n3,a,b,b,b,9\nTotal,,,,,16\n",
        "matrix.csv",
    ),
    "a winner and a loser": (
        "winner,loser,draw\n" + "".join(f"owl,wren,{n % 2}\nwren,tern,0\n" for n in range(9)),
        "won.csv",
    ),
    "nothing to compare": (f"{HEAD}\nw0,i0,a\nw1,i0,a\n", "votes.csv"),
    "no columns": ("system,score,rank\nowl,.91,1\nwren,.83,2\ntern,.52,3\n", "board.csv"),
    "battles": (
        "judge,left,right,winner\n" + "".join(f"j{n % 3},owl,wren,left\n" for n in range(9)),
        "battles.csv",
    ),
    "a pair judged again": (
        "question_id,judge,model_a,model_b,winner,turn\n"
        + "".join(f"q{n // 2},j{n % 2},owl,wren,model_a,1\n" for n in range(20))
        + "q1,j0,wren,owl,model_a,1\n",
        "battles.csv",
    ),
    "thousands or decimals": (
        "worker;item;score\n" + "".join(f"w{n % 3};i{n // 3};{n % 4 + 1},500\n" for n in range(18)),
        "prices.csv",
    ),
    "ratings": (
        "worker;item;score\n" + "".join(f"w{n % 3};i{n // 3};{n % 4},5\n" for n in range(18)),
        "scores.csv",
    ),
}
UNCLEAR = ("nothing to compare", "no columns", "thousands or decimals")
MADE = {**CONTAINERS, **NATIVE, **FILES, **LOSSY}
CASES = Path(os.environ.get("CROWDQC_CASES", "nowhere"))


@dataclass
class Reading:
    """What a file was read as; ``refused`` where it cannot be scored, and the rest may differ."""

    kind: str
    votes: int
    notes: list[str]
    warnings: list[str]
    lines: list[int | None]
    mapping: dict[str, str]
    refused: bool = False


REFUSED = Reading("", 0, [], [], [], {}, True)


@pytest.fixture
def requester() -> tuple[Client, User, Project]:
    world = factories.make_world(n=1)
    client = Client()
    client.force_login(world.requester)
    return client, world.requester, world.project


def by_page(client: Client, content: bytes, name: str, user: User) -> Reading:
    page = client.post(reverse("score_table"), {"file": SimpleUploadedFile(name, content)})
    if page.status_code != 302:
        return REFUSED
    work()
    frame = client.get(page["Location"]).context
    file = ImportFile.objects.get(pk=int(re.findall(r"\d+", page["Location"])[-1]))
    if not frame.get("can_score"):
        return REFUSED
    return Reading(
        file.kind,
        frame["votes"],
        list(frame["notes"]),
        [one["text"] for one in frame["warnings"]],
        [one["line"] for one in selectors.list_rejected(file)],
        {one["field"]: one["name"] for one in frame["columns"] if one["field"]},
    )


def by_api(client: Client, content: bytes, name: str, project: Project) -> Reading:
    body = {"name": name, "content": base64.b64encode(content).decode()}
    sent = client.post(
        reverse("api_tables", args=[project.pk]), json.dumps(body), "application/json"
    )
    if sent.status_code != 202:
        return REFUSED
    work()
    told = client.get(reverse("api_table", args=[project.pk, sent.json()["id"]])).json()
    if told["state"] != "ready" or told["cannot"]:
        return REFUSED
    return Reading(
        told["kind"],
        told["votes"],
        told["notes"],
        [one["text"] for one in told["warnings"]],
        [one["line"] for one in told["rejected_rows"]],
        told["mapping"],
    )


def by_command(path: Path) -> tuple[Reading, str]:
    """What the command read, and what it printed about it."""
    try:
        slug, found = open_file(path)
    except DomainError:
        with pytest.raises(CommandError):
            call_command("crowdqc_score", path, stdout=io.StringIO(), stderr=io.StringIO())
        return REFUSED, ""
    checked = found.checked
    lines = [one.line for one in checked.problems.merged(checked.repeats)]
    reading = Reading(
        slug,
        checked.about.get("counted", len(checked.good)),
        list(checked.notes),
        [one["text"] for one in checked.about.get("warnings", ())],
        lines,
        found.mapping,
    )
    assert len(list(rejected_lines(found))) == len(lines)
    return reading, "\n".join(columns_told(slug, found))


def check(path: Path, requester: tuple[Client, User, Project]) -> Reading:
    client, user, project = requester
    content = path.read_bytes()
    command, printed = by_command(path)
    page = by_page(client, content, path.name, user)
    api = by_api(client, content, path.name, project)
    assert page == command, "the page and the command differ"
    assert api == command, "the API and the command differ"
    for text in (*command.notes, *command.warnings):
        assert text in printed
    return command


# One of each reader beside those with losses; ``make studies`` tries all.
USUAL = {*LOSSY, "no header", "gzip", "NaN beside the votes", "Argilla", "Potato", "Arrow"}
USUAL |= {"answers of a form", "a title above", "a sheet of remarks first"}
ALL = [pytest.param(case, marks=() if case in USUAL else pytest.mark.long) for case in MADE]


@pytest.mark.parametrize("case", ALL)
def test_a_file_is_the_same_by_page_api_and_command(
    case: str, requester: tuple[Client, User, Project], tmp_path: Path
) -> None:
    content, name = MADE[case]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert check(path, requester).refused == (case in UNCLEAR)


# Votes and agreement of files outside, by the beginning of their names; None: refused.
FIGURES: dict[str, tuple[int, float | None] | None] = {
    **{"01": (36, 0.784), "02": None, "03": (22, 0.0), "04": (7, 1.0), "05": (41, 0.743)},
    **{"07": (14, 0.204), "08": (24, -0.917), "09": (6, 0.444), "10": (6, 0.444), "32": None},
    **{"14": (18, 0.056), "15": (18, 0.056), "16": (19, 0.568), "17": (80, 0.586)},
    **{"19": (24, 0.517), "21": (30, 0.597), "22": (24, 0.517), "23": (24, 0.517), "62": None},
    **{"34": (60, None), "37": (66, None), "39": (20, None), "45": (49, 0.654), "91": None},
    **{"48": (30, 1.0), "60": (48, 0.751), "63": (60, 1.0), "68": (30, 0.597), "69-": (36, 0.667)},
    **{"49": None, "50": None},
    **{"79": None, "87": None, "90": None, "42": (36, None), "85": (48, None), "53": None},
    **{"24": (8, None), "25": (8, None), "27": (8, None), "29": (8, None), "89": (8, None)},
    **{"r-pairs": None, "r-sentiment": None, "r-votes": (300, 0.308), "r-wide": (293, 0.312)},
}


def cases() -> list[Path]:
    files = CASES.iterdir() if CASES.is_dir() else ()
    return sorted(path for path in files if path.suffix != ".md")


@pytest.mark.skipif(not CASES.is_dir(), reason="CROWDQC_CASES names no folder of files")
@pytest.mark.parametrize("path", cases(), ids=lambda path: path.name)
def test_a_case_is_the_same_by_page_api_and_command(
    path: Path, requester: tuple[Client, User, Project]
) -> None:
    reading = check(path, requester)
    figures = next((FIGURES[one] for one in FIGURES if path.name.startswith(one)), (0, None))
    assert reading.refused == (figures is None)
    if figures and figures[0]:
        assert reading.votes == figures[0]
    if figures and figures[1] is not None:
        _, found = open_file(path)
        alpha = krippendorff_alpha(labels_of(found.checked)[0], "nominal")
        assert alpha == pytest.approx(figures[1], abs=5e-4)


def test_a_table_is_changed_and_scored_over_the_api(
    requester: tuple[Client, User, Project],
) -> None:
    client, _, project = requester
    rows = "".join(f"w{k},i{n},{'skip' if n == 4 else n % 2}\n" for n in range(6) for k in range(3))
    content = base64.b64encode(f"who,what,said\n{rows}".encode()).decode()
    where = reverse("api_tables", args=[project.pk])

    def send(verb: str, path: str, **body: Any) -> Any:
        return client.generic(verb, path, json.dumps(body), "application/json")

    sent = send("POST", where, name="votes.csv", content=content)
    table = reverse("api_table", args=[project.pk, sent.json()["id"]])
    work()
    read = {"worker": "who", "item": "what", "label": "said"}
    assert client.get(table).json()["mapping"] == read
    assert send("PATCH", table, kind="comparison_table").status_code == 202
    work()
    assert client.get(table).json()["cannot"]
    assert send("POST", f"{table}score/").status_code == 422
    assert send("PATCH", table, kind="label_table", mapping=read).status_code == 202
    work()
    assert (client.get(table).json()["votes"], send("POST", f"{table}score/").status_code) == (
        *(18, 202),
    )
    work()
    told = client.get(table).json()
    assert told["state"] == "imported" and told["task"]
    assert [one["id"] for one in client.get(where).json()["results"]] == [told["id"]]


def test_what_a_comma_means_is_chosen_over_the_api_and_on_the_page(
    requester: tuple[Client, User, Project],
) -> None:
    client, _, project = requester
    content, name = LOSSY["thousands or decimals"]
    where = reverse("api_tables", args=[project.pk])
    body = {"name": name, "content": base64.b64encode(content.encode()).decode()}
    table = client.post(where, body, "application/json").json()["id"]
    work()
    address = reverse("api_table", args=[project.pk, table])
    told = client.get(address).json()
    assert told["cannot"] and len(told["offers"]) == 2
    page = reverse("score_table_file", args=[table])
    assert len(client.get(page).context["choices"]) == 2
    by_thousands = {"column": "score", "value": ",", "use": ""}
    client.patch(address, {"use": by_thousands}, "application/json")
    work()
    file = ImportFile.objects.get(pk=table)
    assert [score for score, _ in file.found["about"]["scores"]] == [1500, 2500, 3500, 4500]
    client.post(page, {"do": "fix", "column": "score", "value": ",", "use": "."})
    work()
    file.refresh_from_db()
    told = client.get(address).json()
    assert (told["cannot"], told["votes"], file.found["about"]["factor"]) == ("", 18, 10)


def test_a_page_offers_each_reading_of_a_number_once(
    requester: tuple[Client, User, Project],
) -> None:
    client, *_ = requester
    rows = "".join(f"j{n % 3},owl,wren,{n % 3}\n" for n in range(9))
    file = SimpleUploadedFile("pairs.csv", f"judge,model_a,model_b,preference\n{rows}".encode())
    page = client.post(reverse("score_table"), {"file": file})["Location"]
    work()
    problems = client.get(page).context["problems"]
    assert [len(one["fixes"]) for one in problems] == [3, 3, 3, *[0] * 6]


def test_a_file_in_parts_goes_on_where_it_stopped(requester: tuple[Client, User, Project]) -> None:
    client, _, project = requester
    content = (HEAD + "".join(f"\nw{n % 3},i{n // 3},{n % 2}" for n in range(30))).encode()
    where = reverse("api_tables", args=[project.pk])

    def send(path: str, **body: Any) -> Any:
        return client.post(path, json.dumps(body), "application/json")

    sent = send(where, name="votes.csv", size=len(content)).json()
    assert (sent["state"], sent["received"]) == ("uploading", 0)
    parts = f"{where}{sent['id']}/parts/"

    def part(begin: int, end: int) -> Any:
        packed = base64.b64encode(content[begin:end]).decode()
        return send(parts, offset=begin, content=packed)

    assert part(0, 100).json()["received"] == 100
    assert part(0, 100).json()["received"] == 100  # sent again after a break
    beyond = part(150, 200)
    assert (beyond.status_code, client.get(f"{where}{sent['id']}/").json()["received"]) == (
        *(409, 100),
    )
    assert part(100, len(content)).json()["state"] == "reading"
    work()
    told = client.get(f"{where}{sent['id']}/").json()
    assert (told["state"], told["votes"], told["size"]) == ("ready", 30, len(content))
    assert send(where, name="votes.csv", size=2**40).status_code == 422


def test_a_page_sends_a_file_in_parts_and_goes_on_after_a_reload(
    requester: tuple[Client, User, Project],
) -> None:
    client, _, _ = requester
    content = (HEAD + "".join(f"\nw{n % 3},i{n // 3},{n % 2}" for n in range(30))).encode()
    about = {"name": "votes.csv", "size": len(content), "modified": 1_764_000_000_000}
    begun = client.post(reverse("score_table"), about).json()

    def part(begin: int, end: int) -> Any:
        url = f"{begun['url']}?offset={begin}"
        return client.post(url, content[begin:end], "application/octet-stream")

    assert part(0, 100).json() == {"received": 100}
    again = client.post(reverse("score_table"), about).json()
    assert again == {**begun, "received": 100}
    other = client.post(reverse("score_table"), {**about, "modified": 1}).json()
    assert other["url"] != begun["url"] and other["received"] == 0
    assert part(150, 200).json() == {"received": 100}  # not what comes next
    stranger = Client()
    stranger.force_login(factories.make_user())
    assert stranger.post(f"{begun['url']}?offset=100", b"x", "text/plain").status_code == 404
    assert part(100, len(content)).json() == {"received": len(content)}
    work()
    assert ImportFile.objects.get(pk=int(re.findall(r"\d+", begun["page"])[-1])).state == "ready"
    assert client.get(begun["page"]).status_code == 200
    refused = client.post(reverse("score_table"), {**about, "size": 2**40})
    assert refused.status_code == 422


def test_columns_are_read_as_last_time_for_the_same_names(
    requester: tuple[Client, User, Project],
) -> None:
    client, _, _ = requester
    rows = "".join(f"w{k},i{n},{n % 2},{k % 2}\n" for n in range(6) for k in range(3))

    def drop(more: str) -> str:
        file = SimpleUploadedFile("votes.csv", f"worker,item,label,second\n{rows}{more}".encode())
        page = client.post(reverse("score_table"), {"file": file})["Location"]
        work()
        return str(page)

    first = drop("")
    columns = {"column:worker": "worker", "column:item": "item", "column:second": "label"}
    client.post(first, {"do": "columns", **columns})
    work()
    file = ImportFile.objects.get(pk=int(re.findall(r"\d+", drop("w4,i1,1,1\n"))[-1]))
    assert file.found["mapping"]["label"] == "second"
    assert len(file.found["notes"]) == 1
