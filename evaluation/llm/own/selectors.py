"""A project's own prompts: their versions, what used them, and as templates for runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext

from annotation.models import Project
from crowdqc.errors import Invalid, Missing
from crowdqc.numbers import mid_sentence, parse_whole
from evaluation.llm.own.purposes import PLACES, PURPOSES, Purpose
from evaluation.llm.prompting import Template, load
from evaluation.models import LLMCall, OwnPrompt, Run

OWN = "own:"  # before the name in a reference: no built-in prompt is ever called so
OPTIONS = sorted({one.option for one in PURPOSES.values()})


def ref_of(prompt: OwnPrompt) -> str:
    """``own:name@version``, as runs, calls and systems name it."""
    return f"{OWN}{prompt.name}@{prompt.version}"


def template_of(prompt: OwnPrompt) -> Template:
    """Return a project's prompt as a template."""
    purpose = PURPOSES[prompt.purpose]
    return Template(
        f"{OWN}{prompt.name}",
        prompt.version,
        prompt.system,
        prompt.user,
        required=frozenset(purpose.required),
        offered=frozenset(purpose.offered),
    )


def used(prompt: OwnPrompt) -> bool:
    """Whether a run or a call names this version."""
    return bool(_used(prompt.project_id, [ref_of(prompt)]))


def _used(project_id: int, refs: Sequence[str]) -> dict[str, int]:
    """Reference -> runs that name it, and 0 for one that calls alone name."""
    named = Q()
    for option in OPTIONS:
        named |= Q(**{f"params__{option}__in": list(refs)})
    found: dict[str, int] = {}
    for params in Run.objects.filter(named, project_id=project_id).values_list("params", flat=True):
        for ref in {params.get(option) for option in OPTIONS} & set(refs):
            found[ref] = found.get(ref, 0) + 1
    calls = LLMCall.objects.filter(project_id=project_id, prompt__in=list(refs))
    for ref in calls.order_by().values_list("prompt", flat=True).distinct():
        found.setdefault(ref, 0)
    return found


def of_purposes(project_id: int, purposes: Sequence[str]) -> list[OwnPrompt]:
    """Return the project's prompts for these purposes, by name, newest version first."""
    return list(OwnPrompt.objects.filter(project_id=project_id, purpose__in=purposes))


def by_ref(project_id: int, ref: str, option: str = "prompt") -> OwnPrompt:
    """Return the prompt version of a reference such as ``own:name@2``; Invalid if unknown."""
    name, _, number = ref.removeprefix(OWN).partition("@")
    found = None
    if ref.startswith(OWN):
        version = parse_whole(number, high=10**6) or 0
        found = OwnPrompt.objects.filter(project=project_id, name=name, version=version).first()
    if found is None:
        raise Invalid(
            gettext("There is no such prompt."),
            fields={
                option: gettext("The project has no prompt %(ref)s.") % {"ref": f"{ref[:80]!r}"}
            },
        )
    return found


def template_for(project_id: int, purpose: str, ref: str) -> Template:
    """Return the prompt template of a reference, or the built-in one for "".

    Raises Invalid for a prompt that is not there, or that was written for something else.
    """
    wanted = PURPOSES[purpose]
    if not ref:
        return load(wanted.base)
    found = by_ref(project_id, ref, wanted.option)
    if found.purpose != purpose:
        raise Invalid(
            gettext("%(ref)s does not fit these options.") % {"ref": ref},
            fields={
                wanted.option: gettext(
                    "Written for “%(written)s”; these options ask for “%(wanted)s”."
                )
                % {
                    "written": gettext(PURPOSES[found.purpose].title),
                    "wanted": gettext(wanted.title),
                }
            },
        )
    return template_of(found)


def choices(project_id: int, purposes: Sequence[str]) -> list[tuple[str, str]]:
    """List the prompts to choose from: the built-in one ("") and the project's own versions."""
    built_in = ", ".join(dict.fromkeys(load(PURPOSES[one].base).ref for one in purposes))
    return [
        ("", gettext("Built in (%(built_in)s)") % {"built_in": built_in}),
        *own_choices(project_id, purposes),
    ]


def own_choices(project_id: int, purposes: Sequence[str]) -> list[tuple[str, str]]:
    """List every version of the project's own prompts of these purposes, as (value, words)."""
    found = of_purposes(project_id, purposes)
    told = {
        one: f" ({mid_sentence(gettext(PURPOSES[one].title))})" if len(purposes) > 1 else ""
        for one in purposes
    }
    return [(ref_of(one), f"{one}{told[one.purpose]}") for one in found]


# -- pages -----------------------------------------------------------------------------------------


def get_prompt(project: Project, prompt_id: int) -> OwnPrompt:
    """Return a prompt version of the project by id; Missing if there is none."""
    found = OwnPrompt.objects.filter(project=project, pk=prompt_id).select_related("created_by")
    prompt = found.first()
    if prompt is None:
        raise Missing(gettext("There is no such prompt in this project."))
    return prompt


def rows(project: Project, name: str = "") -> list[dict[str, Any]]:
    """List the project's prompt versions with author, date and number of runs."""
    prompts = OwnPrompt.objects.filter(project=project).select_related("created_by")
    if name:
        prompts = prompts.filter(name=name)
    found = list(prompts)
    uses = _used(project.pk, [ref_of(one) for one in found])
    return [
        {
            "prompt": one,
            "ref": ref_of(one),
            "purpose": gettext(PURPOSES[one.purpose].title),
            "runs": uses.get(ref_of(one), 0),
            "used": ref_of(one) in uses,
        }
        for one in found
    ]


def places(purpose: Purpose) -> list[dict[str, Any]]:
    """List the placeholders of a purpose, with a description and an example each."""
    return [
        {
            "name": name,
            "required": name in purpose.required,
            "what": PLACES[name][0],
            "example": PLACES[name][1],
        }
        for name in purpose.offered
    ]


def titles() -> dict[str, str]:
    """Return the purpose of each built-in prompt, by its name."""
    return {
        one.name: gettext(PURPOSES[slug].title) for slug, found in starts().items() for one in found
    }


def starts() -> Mapping[str, list[Template]]:
    """Return the built-in prompts that a new prompt can start from, by purpose."""
    more = {
        "answer": ("answer_concise",),
        "rescale": (
            "rescale_article",
            "rescale_question",
            "rescale_label",
            "rescale_explanation",
        ),
    }
    return {
        slug: [load(name) for name in (one.base, *more.get(slug, ()))]
        for slug, one in PURPOSES.items()
    }
