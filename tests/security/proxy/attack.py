"""Attackers of the proxy, a process of their own: ``python -m tests.security.proxy.attack PORT``.

Opens 500 TLS connections from ten loopback addresses, half of them with half a head and half with
half a body, and again wherever one is closed; sends bodies of 300 MB over four more. Says ``held``
when all stand, and ``refused`` when four bodies were; ends when its input is closed, with one JSON
line of what became of them. Reaches 127.0.0.1 only.
"""

from __future__ import annotations

import collections
import contextlib
import json
import select
import socket
import ssl
import sys
import threading

HALF_OPEN, ADDRESSES, SIZE = 500, 10, 300 * 1024 * 1024
HEAD = b"POST /login/ HTTP/1.1\r\nHost: localhost\r\n"
UPLOAD = b"POST /projects/1/tasks/1/import/items/ HTTP/1.1\r\nHost: localhost\r\n"
CHUNK = b"0" * 65536
ANY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
ANY.check_hostname, ANY.verify_mode = False, ssl.CERT_NONE


def connect(port: int, number: int) -> ssl.SSLSocket:
    """A connection from one of the ten addresses."""
    source = (f"127.0.1.{1 + number % ADDRESSES}", 0)
    plain = socket.create_connection(("127.0.0.1", port), timeout=30, source_address=source)
    return ANY.wrap_socket(plain, server_hostname="localhost")


def send_large(port: int, number: int, told: collections.Counter[str]) -> None:
    """One body of 300 MB after the other, announced or in chunks; counts the answers."""
    chunked = bool(number % 2)
    head = UPLOAD if number % 4 < 2 else HEAD
    length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % SIZE
    piece = b"10000\r\n" + CHUNK + b"\r\n" if chunked else CHUNK
    while True:
        sent = 0
        with contextlib.suppress(OSError), connect(port, number) as sender:
            sender.sendall(head + length + b"\r\n\r\n")
            with contextlib.suppress(OSError):  # the answer may stand before the end
                while sent < SIZE:
                    sender.sendall(piece)
                    sent += len(CHUNK)
                    if select.select([sender], [], [], 0)[0]:
                        break
            told[sender.recv(12).decode()] += 1


def open_half(port: int, number: int) -> ssl.SSLSocket:
    """A connection with half a head, or with half a body."""
    sender = connect(port, number)
    body = b"Content-Length: 5000\r\n\r\nusername=" if number % 2 else b"X-Slow: "
    sender.sendall(HEAD + body)
    sender.setblocking(False)
    return sender


def is_open(sender: ssl.SSLSocket) -> bool:
    """Whether the server still waits for the rest."""
    try:
        sender.recv(1)
        return False
    except ssl.SSLWantReadError:
        return True
    except OSError:
        return False


def main(port: int) -> None:
    held = [open_half(port, number) for number in range(HALF_OPEN)]
    told = collections.Counter[str]()
    threads = [
        threading.Thread(target=send_large, args=(port, number, told), daemon=True)
        for number in range(4)
    ]
    for thread in threads:
        thread.start()
    print("held", flush=True)
    fewest, refused = HALF_OPEN, False
    while not select.select([sys.stdin], [], [], 0.2)[0]:
        closed = [number for number, sender in enumerate(held) if not is_open(sender)]
        fewest = min(fewest, HALF_OPEN - len(closed))
        for number in closed:  # the server's patience has ended: come again
            held[number].close()
            held[number] = open_half(port, number)
        if not refused and told["HTTP/1.1 413"] >= 4:
            refused = True
            print("refused", flush=True)
    # Nobody waits for the senders: the proxy may give one that stops in a body its 15 s.
    print(json.dumps({"fewest": fewest, "answers": dict(told)}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
