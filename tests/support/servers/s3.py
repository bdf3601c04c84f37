"""An S3 server of its own, in a process beside the tests."""

from __future__ import annotations

import contextlib
import select
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def s3_server() -> Iterator[str]:
    """Its address; gone with all it holds afterwards."""
    port = _free_port()
    command = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if time.monotonic() > end or server.poll() is not None:
                    raise
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(10)


KEYS = {"CROWDQC_S3_ACCESS_KEY": "test", "CROWDQC_S3_SECRET_KEY": "test-secret"}


def bucket_settings(address: str, bucket: str) -> dict[str, str]:
    """A new bucket, and the variables that reach it."""
    client(address).create_bucket(Bucket=bucket)
    region = {"CROWDQC_S3_REGION": "us-east-1"}
    return {"CROWDQC_S3_ENDPOINT": address, "CROWDQC_S3_BUCKET": bucket, **region, **KEYS}


def client(address: str) -> Any:
    """Beside the application, by the library that speaks S3."""
    access, secret = KEYS.values()
    return boto3.client(
        "s3",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id=access,
        aws_secret_access_key=secret,
    )


def stored_names(address: str, bucket: str) -> list[str]:
    """The keys of all objects."""
    found = client(address).list_objects_v2(Bucket=bucket).get("Contents", [])
    return [one["Key"] for one in found]


@contextmanager
def with_tls(address: str, certificate: Path) -> Iterator[str]:
    """The server by TLS, as ``localhost``; ``certificate`` holds a chain and its key."""
    plain = ("127.0.0.1", int(address.rpartition(":")[2]))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    class Front(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with (
                context.wrap_socket(self.request, server_side=True) as client,
                socket.create_connection(plain) as server,
            ):
                _relay(client, server)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Front) as front:
        front.daemon_threads = True
        threading.Thread(target=front.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"https://localhost:{front.server_address[1]}"
        finally:
            front.shutdown()


def _relay(client: ssl.SSLSocket, server: socket.socket) -> None:
    """Copy both ways until either side ends; one thread, as a TLS connection is of one."""
    with contextlib.suppress(OSError):  # the other side is gone
        while True:
            waiting = [client] if client.pending() else select.select([client, server], [], [])[0]
            for source in waiting:
                data = source.recv(65536)
                if not data:
                    client.settimeout(1)  # for the client's own end
                    client.unwrap()
                    return
                (server if source is client else client).sendall(data)
