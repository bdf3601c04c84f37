"""The application's settings with nothing between the server and the trivial view.

Only one middleware is left, which the library of accounts does not start without.
"""

from crowdqc.settings import *  # noqa: F403

ROOT_URLCONF = "tests.bench.trivial"
MIDDLEWARE = ["allauth.account.middleware.AccountMiddleware"]
