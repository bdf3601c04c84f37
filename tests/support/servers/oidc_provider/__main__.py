"""A provider on a free port: ``python -m tests.support.servers.oidc_provider FOLDER CALLBACK``"""

from __future__ import annotations

import sys
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application

from tests.support.servers.oidc_provider import CLIENT, PASSWORD, SECRET

PEOPLE = {"vouched": True, "claimed": False}


def configure(folder: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
    settings.configure(
        SECRET_KEY="the provider's own",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF="tests.support.servers.oidc_provider.urls",
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "people.db")}
        },
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.sessions",
            "oauth2_provider",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
            }
        ],
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        SESSION_COOKIE_NAME="provider",
        LOGIN_URL="/login/",
        USE_TZ=True,
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True,
            "OIDC_RSA_PRIVATE_KEY": pem,
            "PKCE_REQUIRED": True,
            "SCOPES": {"openid": "who you are", "profile": "your name", "email": "your address"},
            "OAUTH2_VALIDATOR_CLASS": "tests.support.servers.oidc_provider.claims.Claims",
        },
    )
    django.setup()


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


def main(folder: Path, callback: str) -> None:
    configure(folder)
    call_command("migrate", verbosity=0)
    from django.contrib.auth.models import User
    from oauth2_provider.models import Application

    for name, vouched in PEOPLE.items():
        User.objects.create_user(
            name,
            f"{name}@uni.example",
            PASSWORD,
            first_name=name.title(),
            last_name="Person",
            is_staff=vouched,
        )
    Application.objects.create(
        name="crowdqc",
        client_id=CLIENT,
        client_secret=SECRET,
        redirect_uris=callback,
        client_type="confidential",
        authorization_grant_type="authorization-code",
        algorithm="RS256",
        skip_authorization=True,
    )
    server = make_server("127.0.0.1", 0, get_wsgi_application(), Server, Quiet)
    print(f"http://127.0.0.1:{server.server_port}/o", flush=True)
    server.serve_forever()


main(Path(sys.argv[1]), sys.argv[2])
