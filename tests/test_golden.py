"""The golden record: what is read of an answer, and how two records are compared."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from tests.support.golden import comparing, reading

PAGE = """
<title>Board</title>
<main>
  <header id="page-head" class="page-head"><h1>Demo 2</h1></header>
  <p class="verdict">aurora <b>leads</b>. <a href="/runs/3/">Run <i>3</i></a></p>
  <h2>Scores <button class="help-mark" popovertarget="help-ci">?</button><span class="popover"
    popover>What an interval is.</span></h2>
  <table><caption>Systems</caption>
    <tr><th>System</th><th>Score</th></tr>
    <tr><th data-label="System">aurora</th><td data-label="Score">
       .9<svg><title>bar</title></svg></td></tr>
  </table>
  <dl><dt>Votes</dt><dd>37</dd></dl>
  <a href="?sort=n#top">Sort</a> <a href="https://example.org/">Elsewhere</a>
  <div hx-get="/part/"></div>
</main>
"""


def test_a_page_is_read_cell_by_cell_without_its_markup() -> None:
    found = reading.body("text/html", PAGE.encode())
    assert found["headings"] == ["h1 Demo 2", "h2 Scores (?ci)"]
    assert found["tables"] == [
        {
            "caption": "Systems",
            "rows": [["System", "Score"], ["[System] aurora", "[Score] .9 bar"]],
        }
    ]
    assert found["findings"] == [["verdict", "aurora leads. Run 3", "Run 3 -> /runs/3/"]]
    assert found["facts"] == ["Votes: 37"]
    assert found["words before a figure"] == 3  # "aurora leads. Run"
    other = PAGE.replace("<b>leads</b>", "\n leads").replace("\n       .9", ".9")
    assert reading.body("text/html", other.encode()) == found


def test_links_are_those_within_the_instance_and_parts_that_come_later() -> None:
    assert reading.links(PAGE, "/projects/1/?run=2") == [
        "/part/",
        "/projects/1/?sort=n",
        "/runs/3/",
    ]


def test_files_are_read_by_header_members_and_hash() -> None:
    found = reading.body("text/csv", b"worker,score\nw1,.5\n")
    assert (found["header"], found["lines"]) == ("worker,score", 1)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("scores.csv", "a,b\n1,2\n")
        archive.writestr("manifest.json", '{"files": {}}')
    members = reading.body("application/zip", out.getvalue())["members"]
    assert members["scores.csv"]["header"] == "a,b"
    assert members["manifest.json"] == {"json": {"files": {}}}
    report = b'<main><data value="0.5" data-at="a.json#1">.50</data></main>'
    assert reading.body("text/html", report)["numbers"] == ["a.json#1 = 0.5"]


def test_a_record_is_written_the_same_each_time_and_differences_are_grouped(tmp_path: Path) -> None:
    before = reading.body("text/html", PAGE.encode())
    after = reading.body("text/html", PAGE.replace(".9<", ".8<").encode())
    old = {("owner", f"/{n}/"): before for n in range(8)} | {("owner", "/gone/"): before}
    new = {("owner", f"/{n}/"): after for n in range(8)} | {("owner", "/new/"): after}
    comparing.write(tmp_path / "a.gz", old)
    comparing.write(tmp_path / "b.gz", dict(reversed(old.items())))
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert comparing.differences(comparing.read(tmp_path / "a.gz"), old) == []
    changed, gone, fresh = sorted(comparing.differences(old, new))
    assert "/0/ (owner)" in changed and "... and 2 more" in changed
    assert "  -tables[0].rows[1]: [System] aurora | [Score] .9 bar" in changed
    assert "  +tables[0].rows[1]: [System] aurora | [Score] .8 bar" in changed
    assert gone.startswith("/gone/") and fresh.startswith("/new/")
