"""Somebody comes by a link: what the address says, and why it opens nothing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

import jwt
from django.core import signing
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Recruitment
from crowdqc.errors import DomainError, Missing

# Our word for how a visit ended -> the platform's type of completion code.
OUTCOMES = {
    "completed": "COMPLETED",
    "failed_attention": "FAILED_ATTENTION_CHECK",
    "no_consent": "NO_CONSENT",
    "incompatible_device": "INCOMPATIBLE_DEVICE",
    "other": "OTHER",
}
LEAVING = ("no_consent", "incompatible_device", "other")

TOKEN_SALT, LINK_SALT = "crowdqc.recruitment", "crowdqc.recruitment.link"
# What may stand in an address, in a file for the platform, and in a cell of a spreadsheet.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]{0,79}")
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
PROLIFIC = {
    "participant": "PROLIFIC_PID",
    "study": "STUDY_ID",
    "session": "SESSION_ID",
    "token": "prolific_token",
}
MTURK = {
    "participant": "workerId",
    "study": "hitId",
    "session": "assignmentId",
    "submit_to": "turkSubmitTo",
}
PANEL = {"participant": "participant", "study": "", "session": ""}
LINK = "p"  # the parameter of a signed link


class Refused(DomainError):
    """An entry that opens nothing: why, and what the person can do."""

    status = 403

    def __init__(self, message: str, todo: str, *, code: str, status: int = 403) -> None:
        super().__init__(message, code=code)
        self.todo, self.status = str(todo), status  # in the language of the request


ASK = cast(str, gettext_lazy("Write to whoever runs the study, on the platform you came from."))
AGAIN = cast(str, gettext_lazy("Go back to the platform and start from there."))


@dataclass(frozen=True)
class EntryParams:
    """What an entry address tells of the participant."""

    participant: str
    study: str = ""
    session: str = ""
    token: str = ""  # signed by the platform, or by us
    submit_to: str = ""
    preview: bool = False


def entry_token(recruitment: Recruitment) -> str:
    """Return the signed token in a recruitment's address."""
    return signing.Signer(salt=TOKEN_SALT).sign_object(recruitment.pk)


def read_entry_token(token: str) -> Recruitment:
    """Return the recruitment that a token belongs to; Missing if the token is invalid."""
    try:
        pk = signing.Signer(salt=TOKEN_SALT).unsign_object(token)
    except (signing.BadSignature, ValueError):
        raise Missing(_("This link is not one of ours, or it is incomplete.")) from None
    found = Recruitment.objects.filter(pk=pk).select_related("task__project", "task__current")
    recruitment = found.first()
    if recruitment is None:
        raise Missing(_("This link no longer leads anywhere."))
    return recruitment


def sign_link(recruitment: Recruitment, participant: str) -> str:
    """Return the signed token of a participant's own link, the same at each call."""
    return signing.Signer(salt=LINK_SALT).sign_object([recruitment.pk, participant])


def read(recruitment: Recruitment, query: Mapping[str, str]) -> EntryParams:
    """Read an entry address into our names; Refused if a part is missing or invalid."""
    if recruitment.entry == Recruitment.Entry.SIGNED:
        return _linked(recruitment, query.get(LINK, ""))
    names = recruitment.parameters
    said = {word: query.get(name, "").strip() for word, name in names.items() if name}
    preview = PREVIEW in (said.get("session"), query.get("assignmentId"))
    participant = said.get("participant", "")
    if not preview and not NAME.fullmatch(participant):
        raise Refused(
            _("The address lacks your id: %(name)s should stand in it.")
            % {"name": names.get("participant")},
            AGAIN,
            code="no-id",
        )
    for word in ("study", "session"):
        value = said.get(word, "")
        if not preview and names.get(word) and not NAME.fullmatch(value):
            raise Refused(
                _("The address is incomplete: %(name)s should stand in it.")
                % {"name": names[word]},
                AGAIN,
                code="incomplete",
            )
    return EntryParams(
        participant,
        said.get("study", ""),
        said.get("session", ""),
        said.get("token", ""),
        said.get("submit_to", ""),
        preview,
    )


def _linked(recruitment: Recruitment, link: str) -> EntryParams:
    try:
        pk, participant = signing.Signer(salt=LINK_SALT).unsign_object(link)
    except (signing.BadSignature, ValueError, TypeError):
        pk, participant = None, ""
    if pk != recruitment.pk:
        raise Refused(
            _("This link is not complete, or was changed."),
            _("Copy the whole link from the message you were sent, up to its last character."),
            code="bad-link",
        )
    return EntryParams(participant, token=link)


def digest(*parts: object) -> str:
    """A digest of a secret, as it is kept."""
    return hashlib.sha256("\x00".join(map(str, parts)).encode()).hexdigest()


def external_id(recruitment: Recruitment, participant: str) -> str:
    """Return the id by which a project knows a participant of a platform or panel."""
    if recruitment.kind == Recruitment.Kind.PROLIFIC:
        return f"prolific:{participant}"
    slug = re.sub(r"[^a-z0-9]+", "-", recruitment.name.lower()).strip("-")
    # Names that are cut or written alike are still two panels.
    return f"{slug[:30] or 'panel'}-{digest(recruitment.name)[:8]}:{participant}"


ALGORITHMS = {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"}
LEEWAY = 10  # seconds
WORDS = ("participant", "study", "session")


def kid_of(token: str) -> str:
    """Return the key id from a token's header; Refused if it has none."""
    if not token:
        raise Refused(_("The platform’s signature is missing from the address."), AGAIN, code="jwt")
    try:
        kid = jwt.get_unverified_header(token).get("kid")
    except (jwt.PyJWTError, ValueError, TypeError):
        raise unsigned() from None
    if not isinstance(kid, str) or not kid:
        raise unsigned()
    return kid


def unsigned() -> Refused:
    """Make the refusal for a token that no key of the platform fits."""
    return Refused(_("The platform’s signature does not fit."), AGAIN, code="jwt")


def find_key(keys: Sequence[dict[str, Any]], kid: str) -> jwt.PyJWK | None:
    """Find the published key with this id; None if it is missing or of another algorithm."""
    for entry in keys:
        if entry.get("kid") != kid:
            continue
        try:
            key = jwt.PyJWK.from_dict(entry)
        except (jwt.PyJWTError, ValueError, TypeError):
            continue
        if key.algorithm_name in ALGORITHMS:
            return key
    return None


def check(recruitment: Recruitment, coming: EntryParams, key: jwt.PyJWK) -> None:
    """Raise Refused unless the platform signed exactly this entry, for us, and just now."""
    try:
        claims = jwt.decode(
            coming.token,
            key.key,
            algorithms=[key.algorithm_name],
            leeway=LEEWAY,
            issuer=recruitment.issuer or None,
            options={"require": ["exp", "aud"], "verify_aud": False},
        )
    except jwt.ExpiredSignatureError:
        raise Refused(_("This entry has expired."), AGAIN, code="jwt-expired") from None
    except (jwt.PyJWTError, ValueError, TypeError):
        raise unsigned() from None
    if not _for_us(claims["aud"], recruitment.audience):
        raise Refused(_("This entry was signed for another site."), AGAIN, code="jwt-audience")
    told = claims.get("prolific")
    for word in WORDS:
        name = recruitment.parameters.get(word)
        if name and (not isinstance(told, dict) or told.get(name) != getattr(coming, word)):
            raise Refused(
                _("The signature is for somebody else than the address says."),
                AGAIN,
                code="jwt-participant",
            )


def _for_us(said: Any, ours: str) -> bool:
    """Whether an audience is ours: the same text, or an address on our origin or domain."""
    for one in said if isinstance(said, list) else [said]:
        if not isinstance(one, str):
            continue
        parts = urlsplit(one)
        if ours in (one, f"{parts.scheme}://{parts.netloc}", parts.netloc):
            return True
    return False
