"""The application's settings with nothing between the server and the trivial view."""

from crowdqc.settings import *  # noqa: F403

ROOT_URLCONF = "tests.bench.trivial"
MIDDLEWARE: list[str] = []
