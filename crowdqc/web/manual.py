"""The documentation at /docs/, where ``make docs`` has built it."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django.views.static import serve

from crowdqc.errors import Missing
from crowdqc.web.middleware import POLICY

SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def is_built() -> bool:
    """Return whether the documentation has been built, so that pages can link to it."""
    return (Path(settings.CROWDQC_DOCS) / "index.html").is_file()


@require_safe
def page(request: HttpRequest, path: str) -> HttpResponse | FileResponse:
    """A file of the documentation; anybody may read it."""
    if not is_built():
        raise Missing(_("The documentation is not built here: make docs builds it."))
    if ".." in path:
        raise Missing(_("There is no such page."))
    name = f"{path}index.html" if not path or path.endswith("/") else path
    if not Path(name).suffix:
        return HttpResponseRedirect(f"{request.path}.html")
    response = serve(request, name, document_root=str(settings.CROWDQC_DOCS))
    if name.endswith(".html") and response.status_code == 200:
        file = Path(settings.CROWDQC_DOCS) / name
        response["Content-Security-Policy"] = policy(file, file.stat().st_mtime)
    return response


@lru_cache(maxsize=500)
def policy(file: Path, changed: float) -> str:
    """Return a manual page's Content-Security-Policy: the usual one plus its inline scripts."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in SCRIPT.findall(file.read_text())
    )
    return POLICY.replace("script-src 'self'", f"script-src 'self' {hashes}".strip()).replace(
        "style-src 'self'", "style-src 'self' 'unsafe-inline'"
    )
