"""An S3 server of its own, in a process beside the tests."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
