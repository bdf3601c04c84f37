"""What a run is, by its method: its steps, its options, its computing, its pages and its files.

Each package declares its types in its run module; ``evaluation.registry``, above these packages,
lists them. They are loaded when one is first asked for, as their modules import half of the
evaluation app.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from django.urls import reverse
from django.utils.translation import gettext

from annotation.accounts.plugins.selectors import enabled_plugins
from annotation.models import Task
from annotation.task_types import get_type
from crowdqc.errors import Conflict, DomainError, Invalid
from crowdqc.plugins import BETWEEN, is_outside
from evaluation.methods.core.base import BadParameter
from evaluation.methods.core.params import Method, Param, Params
from evaluation.models import Run
from evaluation.results.files import StoredTable
from evaluation.results.shared_items import SharedItems
from evaluation.runs.asking import LLMRunSpec
from evaluation.runs.hooks import load_registry
from evaluation.runs.progress import Recorder
from evaluation.runs.results.rows import Outcome

OWN_ROWS = "run_export"  # the address of whatever rows a run has, under the run itself


class Recipe(Protocol):
    """What a run is computed by: a method, a way of asking models, or what was imported."""

    @property
    def slug(self) -> str:
        """The name by which runs store what computed them."""

    @property
    def version(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def options(self) -> Params:
        """The options that a run can be given."""

    def check(self, **params: Any) -> None:
        """Raise BadParameter on a bad value of an option."""


@dataclass(frozen=True)
class Imported:
    """The recipe of runs that belong to an imported result, and that nobody starts."""

    slug: str
    title: str
    version: str = ""

    @property
    def options(self) -> Params:
        """Return no options: they are what came with the import."""
        return Params(self.slug, ())

    def check(self, **params: Any) -> None:
        """Refuse to be started. Raises BadParameter."""
        raise BadParameter(f"{self.title} follow an import; nobody starts them")


def _compute_nothing(run: Run, steps: Recorder) -> Any:
    raise Conflict("There is nothing to compute for this run.")


def _write_nothing(run: Run, done: Any) -> Outcome:
    return Outcome({}, {})


def _did_not_converge(run: Run, done: Any) -> str:
    return "It did not converge; nothing was written."


@dataclass(frozen=True)
class SharedPage:
    """What people without an account see of a run, by a link.

    ``context`` gives ``template`` what it shows of a run and of one page of its list: no names,
    pseudonyms, texts and single answers. Every one gives ``verdict`` (sentence, note), ``basis``,
    ``method`` (a plain sentence), ``measure``, ``units``, ``tally``, ``recipe``, ``notes`` (of
    ``rail_warnings.html``), ``tables``, which its image draws, and ``rows``, all of them, for its
    files.
    """

    template: str
    context: Callable[[Run, Any], dict[str, Any]]
    # Its items by the query of an address, for links whose requester allows it.
    items: Callable[[Run, Mapping[str, str]], SharedItems] | None = None


@dataclass(frozen=True)
class RunType:
    """A kind of runs, declared once, by the package that does them.

    Parameters
    ----------
    recipe
        The method that is fitted, or the way of asking models.
    shapes, what
        The answers that it is for, by shape and in words.
    suits
        Whether a task of such a shape asks what the runs are about.
    automatic
        Whether its runs start by themselves beside those of the task's own method.
    steps
        What its progress names, in their order.
    compute
        What a run does before anything is written.
    write
        Write what it made beside its results, and give these; the engine stores them.
    fail
        Why a run has no result, in words, after keeping what shows it.
    own
        What its runs take beside the options of their method.
    stored
        The options that a run stores though nobody chose them; None for all.
    initial
        Of a task, defaults that what is known of its study makes other than those of the method.
    complete
        Options that were checked one by one -> as a run stores them. Raises Invalid.
    choices
        Of a task, what an option can be chosen among in a form: (value, words) by option.
    counts
        Of a task and options, further counts of its data that memory grows with (``Size``).
    refuse
        Raises Invalid where options do not fit a task, so that no run is started with them.
    page
        The address of a page of results that is asked for one run; "" for that of the task.
    place
        Where what a run made stands, where it is no page of results; "" for one.
    export
        The address of its tables: that of the task's results, or OWN_ROWS; "" for none.
    tables
        Its tables as files; empty for whatever rows its runs hold.
    figures_exported
        Whether its figures leave with its tables.
    follow_up
        The method of the run that follows a finished one.
    shown_with
        The method on whose page its runs are shown where one asks for them.
    iterates
        Whether it goes round until its weights settle.
    chooses
        Whether workers can be chosen for a panel by it.
    reads_texts
        Whether texts enter; others read judgments, ratings and ticks, which stay.
    detail
        The choice that tells its runs apart, for the history.
    made_of
        What a finished run was made of, where it is no answers of people.
    plugin
        The plug-in that it comes from, which a project has to enable; "" for one of our own.
    public_bundle
        Whether a public board of its runs can offer a bundle: votes under codes, and no texts.
    """

    recipe: Recipe
    shapes: tuple[str, ...]
    what: str
    steps: tuple[str, ...] = ()
    compute: Callable[[Run, Recorder], Any] = _compute_nothing
    write: Callable[[Run, Any], Outcome] = _write_nothing
    fail: Callable[[Run, Any], str] = _did_not_converge
    suits: Callable[[Task], bool] = lambda task: True
    automatic: bool = False
    own: tuple[Param, ...] = ()
    stored: tuple[str, ...] | None = None
    initial: Callable[[Task], Mapping[str, Any]] = lambda task: {}
    complete: Callable[[dict[str, Any]], dict[str, Any]] = dict
    choices: Callable[[Task], Mapping[str, Sequence[tuple[str, str]]]] = lambda task: {}
    counts: Callable[[Task, Mapping[str, Any]], Mapping[str, int]] = lambda task, params: {}
    refuse: Callable[[Task, Mapping[str, Any]], None] = lambda task, params: None
    page: str = ""
    place: Callable[[Run], str] = lambda run: ""
    export: str = ""
    tables: Mapping[str, StoredTable] = field(default_factory=dict)
    figures_exported: bool = True
    follow_up: str = ""
    shown_with: str = ""
    iterates: bool = False
    chooses: bool = False
    reads_texts: bool = True
    detail: Callable[[Run], str] | None = None
    made_of: str = ""
    public_bundle: bool = False
    plugin: str = ""

    @property
    def slug(self) -> str:
        """Method of the type's runs."""
        return self.recipe.slug

    @property
    def asking(self) -> LLMRunSpec | None:
        """Return how the type asks models; None if it fits a method."""
        return self.recipe if isinstance(self.recipe, LLMRunSpec) else None

    @cached_property
    def options(self) -> Params:
        """Return all options of a run."""
        return Params(self.slug, (*self.own, *self.recipe.options.options))

    def fits(self, task: Task) -> bool:
        """Whether the task's answers are what these runs are for."""
        if get_type(task.type).shape not in self.shapes or not self.suits(task):
            return False
        if self.plugin and self.plugin not in enabled_plugins(task.project_id):
            return False
        return self.asking is None or self.asking.fits(task)

    def clean_params(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Options as a run stores them; raises Invalid, which names a bad one."""
        known = self.options.defaults
        unknown = sorted(set(raw) - set(known))
        if unknown:
            raise Invalid(
                f"{self.recipe.title} has no option {unknown[0]!r}.",
                fields={unknown[0]: "Unknown."},
            )
        own = {one.name: one for one in self.own}
        for name, value in raw.items():
            try:
                own[name].check(value) if name in own else self.recipe.check(**{name: value})
            except BadParameter as error:
                raise Invalid(str(error), fields={name: str(error)}) from error
        for one in self.options.options:
            if one.required and raw.get(one.name) is None:
                raise Invalid(f"{self.recipe.title} needs {one.name}.", fields={one.name: one.help})
        kept = known if self.stored is None else {name: known[name] for name in self.stored}
        return self.complete({**kept, **raw})


def run_types() -> Mapping[str, RunType]:
    """The types of runs that people and programs may start, by method."""
    registry = load_registry()
    own: Mapping[str, RunType] = registry.RUN_TYPES
    outside: Mapping[str, RunType] = registry.outside_run_types()
    return {**own, **outside} if outside else own


def type_of(method: str) -> RunType:
    """Return the type of a run, also for methods that only imports use or that no longer exist."""
    registry = load_registry()
    found: RunType | None = registry.RUN_TYPES.get(method) or registry.IMPORTED.get(method)
    if found is not None:
        return found
    if is_outside(method):
        return registry.outside_run_types().get(method) or _missing_type(method)
    title = method.replace("_", " ").capitalize()
    return RunType(Imported(method, title), (), "nothing that is known here")


def outside_page(run: Run) -> str:
    """Return the address of the results of a plug-in's run, which needs no plug-in to be read."""
    return reverse("run_estimates", args=[run.project_id, run.number])


def _missing_type(method: str) -> RunType:
    """Return the type of runs whose plug-in is no longer loaded: they can be read and exported."""
    plugin, _, slug = method.partition(BETWEEN)
    title = gettext("%(method)s (plug-in %(plugin)s, not installed)")
    title %= {"method": slug.replace("_", " ").capitalize(), "plugin": plugin}
    return RunType(
        Imported(method, title), (), "nothing that is known here", place=outside_page,
        export=OWN_ROWS,
    )  # fmt: skip


def methods_of(task: Task) -> list[tuple[Method, Params]]:
    """The methods that can be run on the task's answers, with all that such a run takes.

    Ways of asking models stand apart.
    """
    return [
        (kind.recipe, kind.options)
        for kind in run_types().values()
        if kind.fits(task) and isinstance(kind.recipe, Method)
    ]


def automatic_methods(task: Task) -> list[str]:
    """The methods whose runs start by themselves beside those of the task's own method."""
    return [slug for slug, kind in run_types().items() if kind.automatic and kind.fits(task)]


def fits(task: Task, method: str) -> bool:
    """Whether the task's answers are what runs of this method are for."""
    return type_of(method).fits(task)


def without_texts() -> list[str]:
    """The methods that read judgments, ratings and ticks, and no text."""
    return [slug for slug, kind in run_types().items() if not kind.reads_texts]


def require_fit(task: Task, method: str, otherwise: DomainError) -> None:
    """Raise ``otherwise`` if the method does not fit the task."""
    if not fits(task, method):
        raise otherwise


def shared_page_of(method: str) -> SharedPage | None:
    """Return the public page of a method's runs; None where they cannot be shared."""
    page: SharedPage | None = load_registry().SHARED.get(method)
    return page


def can_list_items(method: str) -> bool:
    """Whether a link to runs of this method may also show the items."""
    page = shared_page_of(method)
    return page is not None and page.items is not None


def notify_packages(run: Run) -> None:
    """Call what other packages registered for a run that finished or became official."""
    for note in load_registry().AFTER:
        note(run)


def title_of(method: str) -> str:
    """Return the title of a method's runs."""
    return gettext(type_of(method).recipe.title)


def asking_of(method: str) -> LLMRunSpec | None:
    """The way of asking of this slug; None for a method that fits answers."""
    return type_of(method).asking


def asks_models(method: str, params: Mapping[str, Any]) -> bool:
    """Whether a run of this method with these options talks to a language model's endpoint."""
    return asking_of(method) is not None or str(params.get("encoder", "")).startswith("endpoint:")
