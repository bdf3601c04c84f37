"""Bytes as a player asks for them: all, or one range (RFC 9110, section 14)."""

from __future__ import annotations

import re

from django.http import HttpRequest, HttpResponse

from crowdqc.numbers import parse_whole

RANGE = re.compile(r"bytes=([0-9]{0,10})-([0-9]{0,10})")


def in_ranges(request: HttpRequest, data: bytes, type: str) -> HttpResponse:
    """Return a response with the whole file, or with the byte range that the request asks for."""
    asked = RANGE.fullmatch(request.headers.get("Range", ""))
    response = HttpResponse(data, content_type=type)
    if asked and any(asked.groups()):
        first, last = (parse_whole(text) for text in asked.groups())
        begin = max(0, len(data) - (last or 0)) if first is None else first
        end = len(data) if first is None or last is None else min(last + 1, len(data))
        if begin >= end:
            response = HttpResponse(status=416, content_type=type)
            response["Content-Range"] = f"bytes */{len(data)}"
            return response
        response = HttpResponse(data[begin:end], status=206, content_type=type)
        response["Content-Range"] = f"bytes {begin}-{end - 1}/{len(data)}"
    response["Accept-Ranges"] = "bytes"
    return response
