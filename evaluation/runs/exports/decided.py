"""What people decided by hand about a run's labels, as columns beside them; no names."""

from __future__ import annotations

from django.db.models import CharField, F, Subquery, Value
from django.db.models.functions import Cast, Concat

from evaluation.models import LabelDecision

_STANDING = LabelDecision.objects.of_label()
_DECIDER = Concat(Value("decider-"), Cast(F("decider"), CharField()))
# Of rows of ItemLabel: the decided label, and a number in place of the name of who decided.
DECIDED: dict[str, Subquery] = {
    "decided_label": Subquery(_STANDING.values("label")[:1]),
    "decided_by": Subquery(_STANDING.values(name=_DECIDER)[:1], output_field=CharField()),
}
