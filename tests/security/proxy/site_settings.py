"""Production's settings, and one more address that tells what the app knows of a request."""

from crowdqc.settings import *  # noqa: F403

ROOT_URLCONF = "tests.security.proxy.site_urls"
# Test users' passwords are hashed quickly (tests.settings).
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Packing every file took as long as all that is asked of this site.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = ("css", "js", "json", "md", "svg", "txt")
