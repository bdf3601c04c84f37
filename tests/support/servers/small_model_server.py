"""A small language model behind an OpenAI-compatible server, in a process of its own.

``python -m tests.support.servers.small_model_server FILE`` prints the server's address and serves
until its standard input ends, so that it never outlives whoever started it.
"""

from __future__ import annotations

import sys

import xllamacpp


def main() -> None:
    """Serve the weights of the file on a free port of loopback."""
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx, params.n_parallel, params.n_batch = 8192, 2, 512
    # Two would wait for one another wherever the tests keep the machine's cores busy.
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads, cpu.poll = 1, 0
    params.model_alias = {"smollm2-135m"}
    params.warmup = False
    params.ui = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
