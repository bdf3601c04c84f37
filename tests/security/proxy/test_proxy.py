"""Strangers cannot stop the site: the proxy takes what is slow, large or malformed (B10)."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import yaml

from crowdqc.web import bodies
from tests.security.proxy.site import Health, ProxiedSite, run_site, session_cookie
from tests.support import factories
from tests.support.processes import ROOT, until

GREEDY, MOST = 110, 100


@pytest.fixture(scope="module")
def site(django_db_setup: None, django_db_blocker: object) -> Iterator[ProxiedSite]:
    unblocked = django_db_blocker.unblock()  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as folder, unblocked, run_site(Path(folder)) as running:
        yield running


def status(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    assert found, answer[:200]
    return int(found[1])


def told(answer: bytes) -> dict[str, object]:
    said: dict[str, object] = json.loads(answer.partition(b"\r\n\r\n")[2])
    return said


# -- slow and large --------------------------------------------------------------------------------


@pytest.mark.slow
def test_proxy_answers_during_500_half_open_connections_and_large_bodies(site: ProxiedSite) -> None:
    """(B10, B12)"""
    command = [sys.executable, "-m", "tests.security.proxy.attack", str(site.https)]
    attack = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    health = Health(site)
    health.start()
    assert attack.stdout is not None
    assert attack.stdout.readline() == "held\n"
    before = len(health.times)
    assert attack.stdout.readline() == "refused\n"
    until(lambda: len(health.times) > before + 20, 60, "answers beside all of them")
    said = json.loads(attack.communicate(timeout=60)[0])
    health.stop.set()
    health.join()
    assert not health.wrong
    # One that waited for them would wait for a head's 10 s or a body's 15 s.
    assert max(health.times) < 5.0
    print(f"healthz: {len(health.times)} times, at most {max(health.times):.3f} s; {said}")
    # They really were half open, and no body went through.
    assert said["fewest"] >= 200
    # 429: a sender of an address that holds as many requests as it may.
    assert set(said["answers"]) <= {"HTTP/1.1 413", "HTTP/1.1 429", ""}
    assert said["answers"]["HTTP/1.1 413"] >= 4


def test_concurrent_requests_are_limited_per_client(site: ProxiedSite) -> None:
    """(B10) 100 half-sent bodies of one address are the most; another address is served."""
    head = b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n"
    answers: dict[ssl.SSLSocket, bytes] = {}
    with contextlib.ExitStack() as held:
        greedy = []
        for _ in range(GREEDY):
            sender = held.enter_context(site.connect("127.0.3.3"))
            sender.sendall(head)
            sender.setblocking(False)
            greedy.append(sender)

        def refused() -> int:
            for sender in greedy:
                with contextlib.suppress(ssl.SSLWantReadError):
                    answers.setdefault(sender, sender.recv(12))
            return len(answers)

        # Which of them is left to the proxy's processes, which read side by side.
        until(lambda: refused() >= GREEDY - MOST, 30, "what is too much to be refused")
        assert status(site.get("/healthz")) == 200
        assert refused() == GREEDY - MOST
        assert set(answers.values()) == {b"HTTP/1.1 429"}


def test_the_app_alone_refuses_a_large_body_before_it_is_sent(site: ProxiedSite) -> None:
    """(B12) After the head and a little of the body, whatever is told."""
    folder = site.certificate.parent
    before = sorted(folder.iterdir())
    for announced in (300 * 1024 * 1024, bodies.SMALL + 1):
        with socket.create_connection(("127.0.0.1", site.app), timeout=20) as sender:
            sender.sendall(
                b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Proto: https\r\n"
                b"Content-Type: multipart/form-data; boundary=x\r\n"
                b"Content-Length: %d\r\n\r\n" % announced
            )
            sender.sendall(b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n')
            sender.sendall(b"0" * 50_000)
            assert sender.recv(100).startswith(b"HTTP/1.1 413 "), announced
    assert sorted(folder.iterdir()) == before  # nothing of it was written down


def test_a_large_body_is_refused_by_its_head(site: ProxiedSite) -> None:
    """(B12)"""
    head = f"POST %s HTTP/1.1\r\nHost: localhost:{site.https}\r\nContent-Length: %d\r\n\r\n"
    for path, size in (
        ("/login/", 70_000),
        ("/projects/1/tasks/1/import/items/", bodies.UPLOAD + 1),
    ):
        answer = site.raw((head % (path, size)).encode(), enough=b"too large to send here.")
        assert status(answer) == 413


def test_large_bodies_are_for_users_only(site: ProxiedSite, transactional_db: None) -> None:
    """(B12) Strangers cannot fill the disk that bodies wait on; a person's file arrives whole."""
    body = b"0" * 3_000_000
    head = f"POST /projects/0/seen/ HTTP/1.1\r\nHost: localhost:{site.https}\r\n"
    for more in (
        "Content-Length: 3000000",
        "Transfer-Encoding: chunked",
        "Authorization: Token wrong\r\nContent-Length: 3000000",
        "Cookie: __Host-sessionid=forged\r\nContent-Length: 3000000",
    ):
        answer = site.raw(f"{head}{more}\r\n\r\n".encode(), enough=b"Sign in to send more.")
        assert status(answer) == 413, more
    # Nothing of it reaches the app, which answers a small one.
    answer = site.get("/projects/0/seen/", body=body[:60_000])
    assert told(answer)["size"] == 60_000

    user = factories.make_user()
    token = f"Authorization: Token {factories.api_token(user)}"
    cookie = f"Cookie: __Host-sessionid={session_cookie(user)}"
    answer = site.get("/projects/0/seen/", cookie, body=body)
    assert told(answer)["size"] == len(body)
    answer = site.get("/api/projects/", token, method="POST", body=body)
    assert status(answer) == 415  # no form is taken there, but it came through
    assert status(site.get("/signed-in", cookie)) == 404


# -- who it is -------------------------------------------------------------------------------------


def test_forwarded_headers_of_a_client_change_nothing(site: ProxiedSite) -> None:
    """(B10)"""
    forged = [
        f"{name}: 10.66.66.66"
        for name in (
            "X-Forwarded-For",
            "X-Real-IP",
            "Forwarded",
            "X-Forwarded-Host",
            "X_Forwarded_For",
        )
    ]
    said = told(site.get("/projects/0/seen/", *forged, "X-Forwarded-Proto: http"))
    assert said == {
        "address": "127.0.0.1",
        "secure": True,
        "host": f"localhost:{site.https}",
        "left": [],
        "size": 0,
    }


def test_sign_in_uses_tls_and_secure_cookies(site: ProxiedSite, transactional_db: None) -> None:
    """(B10)"""
    user = factories.make_user(password=factories.PASSWORD)
    browser = requests.Session()
    browser.verify, browser.trust_env = str(site.certificate), False
    plain = browser.get(f"http://localhost:{site.http}/login/?next=/x", allow_redirects=False)
    assert (plain.status_code, plain.headers["Location"]) == (301, f"{site.url}/login/?next=/x")

    page = browser.get(f"{site.url}/login/")
    assert (
        page.status_code == 200 and "max-age=31536000" in page.headers["Strict-Transport-Security"]
    )
    sheet = re.search(r'href="(/static/[^"]+\.css)"', page.text)
    assert sheet and browser.get(site.url + sheet[1]).headers["Content-Type"].startswith("text/css")
    assert [cookie.name for cookie in browser.cookies] == ["__Host-csrftoken"]

    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert token
    fields = {
        "csrfmiddlewaretoken": token[1],
        "username": user.username,
        "login": user.username,
        "password": factories.PASSWORD,
    }
    answer = browser.post(
        page.url, fields, headers={"Referer": page.url, "Origin": site.url}, allow_redirects=False
    )
    assert answer.status_code == 302
    session = next(cookie for cookie in browser.cookies if cookie.name == "__Host-sessionid")
    assert session.secure and session.path == "/" and not session.domain_specified
    home = browser.get(f"{site.url}/projects/")
    assert home.status_code == 200 and "no-store" in home.headers["Cache-Control"]


def test_only_our_names_are_answered(site: ProxiedSite) -> None:
    """(B14)"""
    assert (
        status(site.raw(b"GET /login/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"</html>")) == 421
    )
    plain = requests.get(
        f"http://127.0.0.1:{site.http}/",
        headers={"Host": "evil.example"},
        allow_redirects=False,
        timeout=10,
    )
    assert plain.status_code == 421


# -- malformed -------------------------------------------------------------------------------------

START = b"POST /login/ HTTP/1.1\r\nHost: localhost\r\n"
SMUGGLED = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "request_bytes",
    [
        START + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n" + SMUGGLED,
        START + b"Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n" + SMUGGLED,
        START + b"Content-Length: 6\r\nContent-Length: 60\r\n\r\n" + SMUGGLED,
        START + b"Transfer-Encoding: xchunked\r\n\r\n" + SMUGGLED,
        START + b"Transfer-Encoding: chunked, identity\r\n\r\n" + SMUGGLED,
        START + b"Content-Length: +6\r\n\r\n" + SMUGGLED,
        START + b"Content-Length: 6x\r\n\r\n" + SMUGGLED,
        START + b"Host: evil.example\r\n\r\n",
        START + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\x00\r\n\r\n",
        # A line over 8 kB, and a head over 32 kB.
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 9000 + b"\r\n\r\n",
        b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n"
        + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 4000) for n in range(12))
        + b"\r\n",
    ],
    ids=lambda text: text[-60:-4].decode(errors="replace"),
)
def test_a_request_that_two_servers_may_read_differently_is_refused(
    site: ProxiedSite, request_bytes: bytes
) -> None:
    """(B10) One answer, a 4xx or 501, and the connection ends: nothing behind it is served."""
    answer = site.raw(request_bytes)
    assert status(answer) in (400, 411, 414, 501)
    assert answer.count(b"HTTP/1.1 ") == 1


def test_the_proxy_refuses_trace(site: ProxiedSite) -> None:
    assert site.get("/login/", method="TRACE").startswith(b"HTTP/1.1 405 ")


def test_the_log_holds_no_token(site: ProxiedSite) -> None:
    token = "MTI:1uKxYz-abcDEFghiJKLmnoPQRstuVWXyz0123456789"
    site.get(f"/join/{token}/?code=secret-of-a-query")
    log = Path(site.certificate).parent / "access.log"
    text = log.read_text()
    assert '"GET /join/... HTTP/1.1"' in text
    assert token not in text and "secret-of-a-query" not in text


# -- the container file ----------------------------------------------------------------------------


def test_the_proxy_is_the_only_way_in() -> None:
    """(B10) Nothing else is published, and data has no way out."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    services = compose["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert compose["networks"]["data"]["internal"] is True
    for name in ("postgres", "redis"):
        assert services[name]["networks"] == ["data"]
    # The app believes one address, and that is the proxy's on a network of these two.
    trusted = services["web"]["environment"]["CROWDQC_TRUSTED_PROXIES"]
    assert trusted == services["proxy"]["networks"]["front"]["ipv4_address"]
    assert [name for name, service in services.items() if "front" in service["networks"]] == [
        "web",
        "proxy",
    ]
