"""Which plug-ins a project uses, and what each adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from annotation.models import Project, ProjectPlugin
from crowdqc import plugins


def enabled_plugins(project_id: int) -> frozenset[str]:
    """Return the names of the plug-ins that a project uses and that are loaded."""
    loaded = plugins.current().loaded
    if not loaded:  # as almost everywhere: without a query
        return frozenset()
    rows = ProjectPlugin.objects.filter(project=project_id, name__in=loaded)
    return frozenset(rows.values_list("name", flat=True))


def text_rules(project_id: int) -> dict[str, str]:
    """Return the checks of text fields that a project may use: label by full name."""
    loaded = plugins.current().loaded
    return {
        full_name: rule.label
        for name in sorted(enabled_plugins(project_id))
        for full_name, rule in loaded[name].text_rules.items()
    }


@dataclass(frozen=True)
class PluginRow:
    """A plug-in as a project's page shows it; ``title`` is empty where it is not loaded."""

    name: str
    title: str
    package: str
    methods: list[str]
    text_rules: list[str]
    row_formats: list[str]
    templates: list[str]
    is_enabled: bool

    @property
    def is_loaded(self) -> bool:
        return bool(self.title)


def plugin_rows(project: Project) -> list[PluginRow]:
    """List the loaded plug-ins, then those that the project used and that are gone."""
    enabled = set(project.plugins.values_list("name", flat=True))
    return [*_loaded_rows(enabled), *_missing_rows(enabled)]


def _loaded_rows(enabled: set[str]) -> Iterator[PluginRow]:
    for name, plugin in plugins.current().loaded.items():
        yield PluginRow(
            name,
            plugin.title,
            plugin.package,
            [method.title for method in plugin.methods.values()],
            [rule.label for rule in plugin.text_rules.values()],
            [row_format.title for row_format in plugin.row_formats.values()],
            [template.title for template in plugin.templates.values()],
            name in enabled,
        )


def _missing_rows(enabled: set[str]) -> Iterator[PluginRow]:
    for name in sorted(enabled - set(plugins.current().loaded)):
        yield PluginRow(name, "", "", [], [], [], [], True)
