"""How the API reads bodies; apart from the endpoints, which the framework loads after it."""

from __future__ import annotations

from typing import Any

from rest_framework.parsers import JSONParser

from crowdqc.files.json_input import read_json


class JSONBody(JSONParser):
    """A request's body, bounded in depth and numbers; Unreadable names the field."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        """The value of the body."""
        view = (parser_context or {}).get("view")
        return read_json(stream.read(), any_text=getattr(view, "mends_texts", False))
