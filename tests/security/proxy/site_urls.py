"""The application's addresses, and one that tells what it knows of a request."""

from django.http import HttpRequest, JsonResponse
from django.urls import path

from crowdqc.urls import *  # noqa: F403
from crowdqc.urls import urlpatterns as _urlpatterns


def seen(request: HttpRequest) -> JsonResponse:
    """The client's address, the scheme, and forwarded headers that are left."""
    return JsonResponse(
        {
            "address": request.META["REMOTE_ADDR"],
            "secure": request.is_secure(),
            "host": request.get_host(),
            "left": [n for n in request.META if n.startswith(("HTTP_X_", "HTTP_FORWARDED"))],
            "size": len(request.body),
        }
    )


urlpatterns = [path("projects/0/seen/", seen), *_urlpatterns]
