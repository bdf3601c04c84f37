"""Addresses of the provider: the library's, and a plain sign-in."""

from django.contrib.auth import login
from django.contrib.auth.models import Group, User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import include, path
from oauth2_provider import urls as oauth

from tests.support.servers.oidc_provider import PASSWORD


def sign_in(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        user = User.objects.get(username=request.POST["name"])
        if user.check_password(request.POST["password"]):
            login(request, user)
            return redirect(request.GET["next"])
    return HttpResponse(
        "<title>The provider</title><h1>The provider</h1><form method=post>"
        "<label>Name <input name=name></label><label>Password <input name=password type=password>"
        f"</label><button>Go on</button></form><!-- {len(PASSWORD)} -->"
    )


def set_groups(request: HttpRequest) -> HttpResponse:
    """Put a person into these groups, and out of all others."""
    user = User.objects.get(username=request.GET["name"])
    named = request.GET.getlist("group")
    user.groups.set([Group.objects.get_or_create(name=name)[0] for name in named])
    return HttpResponse()


urlpatterns = [
    path("groups/", set_groups),
    path("login/", sign_in),
    path("o/", include((oauth.base_urlpatterns + oauth.oidc_urlpatterns, "oauth2_provider"))),
]
