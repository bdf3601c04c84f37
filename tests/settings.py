"""The application's settings on a database of this test run alone.

``CROWDQC_TEST_DATABASE_URL`` or ``DATABASE_URL`` name a server to test on; without them the run
gets an embedded cluster, which ``conftest`` starts before the first test.
"""

import os
import tempfile
from pathlib import Path

if "CROWDQC_TEST_HOME" not in os.environ:  # workers and subprocesses inherit it
    if os.environ.get("CROWDQC_TEST_DATABASE_URL"):
        os.environ["DATABASE_URL"] = os.environ["CROWDQC_TEST_DATABASE_URL"]
    home = Path(tempfile.mkdtemp(prefix=f"crowdqc-test-{os.getpid()}-"))
    if os.geteuid() == 0:
        home.chmod(0o711)  # ours: the database's account has to walk through it
    # The workers of a run share the cores: threads of linear algebra that wait for each other by
    # spinning took half of them. Read when numpy is imported.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    os.environ["CROWDQC_TEST_HOME"] = os.environ["CROWDQC_HOME"] = str(home)
    # What a real worker beside a test sends is found there.
    os.environ["EMAIL_URL"] = f"filemail:///{home}/mail"
    if not os.environ.get("DATABASE_URL"):
        from crowdqc.devstack import database_url

        os.environ["DATABASE_URL"] = database_url(home)
        os.environ["CROWDQC_TEST_EMBEDDED"] = "1"
os.environ.setdefault("SECRET_KEY", "for tests only")

from crowdqc.jobs.broker import broker_settings
from crowdqc.settings import *  # noqa: F403

# Between two tests that commit, the tables are emptied, those that are only ever added to as well.
# None of their queries is long enough to be worth compiling.
DATABASES["default"]["OPTIONS"]["options"] += " -c crowdqc.may_truncate=on -c jit=off"  # noqa: F405
# A browser's requests come over few connections: each keeps its session, as pooled ones do.
DATABASES["default"]["CONN_MAX_AGE"] = None  # noqa: F405
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# One Redis serves all workers of a run, so each gets a queue and keys of its own.
CELERY_TASK_DEFAULT_QUEUE = "test_" + os.environ.get("PYTEST_XDIST_WORKER", "main")
if os.environ.get("BROKER_URL", "").startswith("redis"):
    CELERY_BROKER_TRANSPORT_OPTIONS = broker_settings(os.environ["BROKER_URL"])[
        "broker_transport_options"
    ] | {"global_keyprefix": f"crowdqc:{CELERY_TASK_DEFAULT_QUEUE}:"}
CELERY_BEAT_SCHEDULE: dict[str, object] = {}
# So long a worker waits for what a process may have said before it was killed (usually 10).
CELERY_WORKER_LOST_WAIT = 3.0
# What make docs has built is none of the tests' business; tests/test_docs.py names its own.
CROWDQC_DOCS = Path(os.environ["CROWDQC_TEST_HOME"]) / "docs"
# All requests of a run come from one network; tests/security/test_anonymous.py sets its own.
CROWDQC_ANONYMOUS_REQUESTS = 0
