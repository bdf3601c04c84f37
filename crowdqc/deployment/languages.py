"""Languages of pages, and what stays English (ADR 33)."""

import re

LANGUAGES = [("en-gb", "English"), ("de", "Deutsch"), ("es", "Español")]
# Views by module and name: programs, files, public boards (kept for everybody) and the manual.
ENGLISH_VIEWS = re.compile(
    r"\.api\b|\.receiving\.|^crowdqc\.web\.(health|manual)\.|\.public_board$"
    r"|(^|_|\.)(export|bundle|manifest|books_file)$"
)
