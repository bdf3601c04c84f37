"""From think-aloud attributes to a frozen checklist (InteractEval, sections 3.3 and 3.4)."""
