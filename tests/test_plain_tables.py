"""Tables that a template writes by its columns: heads, cells, labels, rows of several names."""

from __future__ import annotations

import pytest
from django.template import Context, Template, TemplateSyntaxError
from django.utils import translation

WHOLE = """
{% table rows as row caption=_("Panels") class="data" row_class=row.mark %}
  {% column _("Panel") class="l1" %}<b>{{ row.name }}</b>{% endcolumn %}
  {% column "95% CI" num label="95%" %}{{ row.n }}{% endcolumn %}
  {% column "Failed" num class="nowrap" fades=row.n %}{{ row.n }}{% endcolumn %}
  {% column "Task" hidden auto unless=own %}{{ forloop.counter }}{% endcolumn %}
  {% column "More" act when=own %}
    <td class="act{% if row.n %} some{% endif %}">x</td>
  {% endcolumn %}
{% endtable %}
"""
ROWS = [{"name": "A & B", "n": 3, "mark": "chosen"}, {"name": "C", "n": 0}]


def written(text: str, **context: object) -> str:
    return Template(text).render(Context(context)).strip()


def test_each_column_is_named_once_and_gives_a_head_and_the_cells() -> None:
    page = written(WHOLE, rows=ROWS)
    assert page.startswith('<div class="scroll"><table class="data"><caption class="hidden">Panels')
    assert (
        '<tr><th scope="col">Panel</th><th scope="col" class="num">95% CI</th>'
        '<th scope="col" class="num">Failed</th>'
        '<th scope="col"><span class="hidden">Task</span></th></tr>'
    ) in page
    assert (
        '<tr class="chosen"><td class="l1"><b>A &amp; B</b></td>'
        '<td class="num" data-label="95%">3</td><td class="num nowrap">3</td>'
        '<td dir="auto">1</td></tr>'
    ) in page
    assert '<td class="num nowrap zero">0</td><td dir="auto">2</td>' in page


def test_a_page_may_have_other_columns_and_a_body_may_be_the_whole_cell() -> None:
    page = written(WHOLE, rows=ROWS, own=True)
    assert "Task" not in page
    assert '<td class="act some">x</td>' in page and '<td class="act">x</td>' in page


def test_rows_of_several_names_and_no_scroll() -> None:
    text = (
        '{% table rows as name,n caption="x" bare %}'
        '{% column "Name" row_head %}{{ name }}{% endcolumn %}'
        '{% column "n" num %}{{ n }}{% endcolumn %}{% endtable %}{{ name }}'
    )
    page = written(text, rows=[("a", 1)])
    assert page.startswith("<table>") and page.endswith("</table>")
    assert '<th scope="row">a</th><td class="num">1</td>' in page


def test_rows_have_ids_and_a_table_without_rows_says_so() -> None:
    text = (
        '{% table rows as row caption="x" id="model" key=row.pk empty="None yet." %}'
        '{% column "Name" %}{{ row.pk }}{% endcolumn %}{% column "n" %}{% endcolumn %}'
        "{% endtable %}"
    )
    assert '<tr id="model-5"><td>5</td>' in written(text, rows=[{"pk": 5}])
    assert '<tr><td colspan="2" class="dim">None yet.</td></tr>' in written(text, rows=[])


def test_heads_are_in_the_language_of_the_page_and_explain_their_terms() -> None:
    column = '{% column _("Submitted") term="rank" %}{% endcolumn %}'
    with translation.override("de"):
        page = written(f'{{% table rows as row caption="x" %}}{column}{{% endtable %}}', rows=[])
    assert '<th scope="col">Abgegeben <' in page and "popover" in page


def test_what_a_table_or_a_column_does_not_take_is_refused() -> None:
    with pytest.raises(TemplateSyntaxError):
        written("{% table rows %}{% endtable %}")
    with pytest.raises(TemplateSyntaxError):
        written('{% table rows as row %}{% column "x" wide %}{% endcolumn %}{% endtable %}')
    with pytest.raises(TemplateSyntaxError, match="translate"):
        written('{% table rows as row %}{% column _("95%") %}{% endcolumn %}{% endtable %}')
