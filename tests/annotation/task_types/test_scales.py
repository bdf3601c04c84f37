"""Names that are made of labels, for exports and results."""

from __future__ import annotations

import pytest

from annotation.task_types.scales import name_of


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Gebäude", "gebaeude"),
        ("Gebäude", "gebaeude"),  # the umlaut in two signs
        ("Größe & Straße", "groesse_strasse"),
        ("Très élevé", "tres_eleve"),
        ("Niño", "nino"),
    ],
)
def test_names_spell_umlauts_and_drop_accents(label: str, name: str) -> None:
    assert name_of(label, []) == name
    assert name_of(label, [name]) == f"{name}_2"
