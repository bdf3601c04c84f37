"""Masks: secrets and personal data are replaced in traces before anything is stored.

Plain rules: the published prefixes and lengths of keys, and check digits where a kind of number
has them (Luhn for cards, ISO 13616 for IBANs), so that few other numbers are taken for one. No
rule needs a model or a network. Each looks first for something that a match must hold, since most
texts hold nothing of the kind.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy
from pydantic import BaseModel, ConfigDict, Field

from annotation.chats.model import IMAGE_DATA, cut_note
from crowdqc.web.terms import Words

DEEPEST = 64
MAX_STRING = 200_000  # characters of one text that are kept, as of a part of a conversation
OVERLAP = 4_096  # characters behind them that are looked at, since a secret may reach over the cut
MOST_KNOWN = 2_000  # texts that a masker remembers
SHORTEST = 6  # characters of a text in which one of our rules can match
GAP = re.compile("[ -]")  # between groups of a number
MASKED = re.compile(r"\[[A-Z][A-Z0-9_]*\]?")  # what a replacement looks like


class OwnMask(BaseModel):
    """A rule of a source's own: a regular expression, and the name that replaces a match."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    name: str = Field(pattern=r"^[A-Z][A-Z0-9_]{0,29}$")
    pattern: str = Field(min_length=1, max_length=300)


@dataclass(frozen=True)
class Mask:
    """A rule: ``pattern``, whose group "secret", "bare" or "token" is replaced, or the whole match.

    ``hints``: one of them stands in every text that matches. ``length``: how many characters of
    the match are replaced after a second look; 0: it is something else. ``grouped``: then the
    next group of digits within the match may begin one.
    """

    label: Words
    pattern: re.Pattern[str]
    hints: tuple[str, ...] = ()
    length: Callable[[str], int] = len
    grouped: bool = False


# Length of a card number by its first digits (ISO/IEC 7812), of an IBAN by its country (registry).
CARDS = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|(?:5[1-5]\d\d|2[2-7]\d\d|35\d\d)\d{12}|3[47]\d{13}|3[068]\d{12}"
    r"|6\d{15,18}"
)
DOUBLED = str.maketrans("0123456789", "0246813579")  # digit sums of twice a digit
IBANS = {
    country: int(length)
    for length, countries in {
        15: "NO", 16: "BE", 18: "DK FI FO GL NL", 19: "MK SI", 20: "AT BA EE KZ LT LU XK",
        21: "CH HR LI LV", 22: "BG DE GB GE IE ME RS", 23: "AE GI IL IQ OM TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "PT ST", 26: "IS TR",
        27: "FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HU LB PL", 29: "BR EG PS QA UA",
        30: "JO KW MU", 31: "MT SC", 32: "LC",
    }.items()
    for country in countries.split()
}  # fmt: skip


def _card_length(text: str) -> int:
    """Length of the longest card number that a text begins with, by its check digit; else 0.

    It ends with a group of digits, not within one.
    """
    plain = text.replace(" ", "").replace("-", "")
    for number in range(len(plain), 12, -1):
        if not CARDS.fullmatch(plain, 0, number):
            continue
        doubled = plain[number - 2 :: -2].translate(DOUBLED)
        if sum(map(int, plain[number - 1 :: -2] + doubled)) % 10:
            continue
        end = [place for place, one in enumerate(text) if one not in " -"][number - 1] + 1
        if end == len(text) or text[end] in " -":
            return end
    return 0


def _iban_length(text: str) -> int:
    """Length of the IBAN that a text begins with, by its country and check digits; else 0."""
    wanted = IBANS.get(text[:2], 0)
    places = [place for place, one in enumerate(text) if one not in " -"]
    if not wanted or len(places) < wanted:
        return 0
    plain = "".join(text[place] for place in places[:wanted])
    number = "".join(str(int(one, 36)) for one in plain[4:] + plain[:4])
    return places[wanted - 1] + 1 if int(number) % 97 == 1 else 0


def _address_length(text: str) -> int:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return 0
    return len(text)


def _phone_length(text: str) -> int:
    return len(text) if 8 <= sum(map(str.isdecimal, text)) <= 15 else 0


# As a country writes them: groups of digits, or digits that begin with 0. Others are too often ids.
LOCAL_NUMBER = re.compile(
    r"(?<![\w.,:/+-])(?:0\d{5,14}|(?:\(0?\d{1,5}\)|\d{1,6})(?:[ ./-]{1,3}\d{1,8}){1,6})(?!\w|:\d)"
)
MOST_LOOKS = 20_000  # at what may be a number, by one masker; the rest is replaced without a look


def local_phone_length(text: str, country: str) -> int:
    """Length of the phone number of a country that a text begins with; 0 for none."""
    import phonenumbers

    trunk = phonenumbers.ndd_prefix_for_region(country, True)
    if trunk == "0" and not text.lstrip("(").startswith("0"):
        return 0
    for end in reversed([match.end() for match in re.finditer(r"\d+", text)]):
        if not 6 <= sum(map(str.isdecimal, text[:end])) <= 15:
            continue
        with suppress(phonenumbers.NumberParseException):
            number = phonenumbers.parse(text[:end], country)
            if phonenumbers.is_valid_number_for_region(number, country):
                return end
    return 0


def _random_length(text: str) -> int:
    """A key is drawn at random, so it holds a digit; a word does not."""
    return len(text) if any(map(str.isdecimal, text)) else 0


_KEYS = (
    r"AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}"  # AWS
    r"|gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}"  # GitHub
    r"|glpat-[A-Za-z0-9_-]{20,}"  # GitLab
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}"  # Slack
    r"|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}"  # Stripe
    r"|sk-(?:proj-|ant-|lf-|or-)?[A-Za-z0-9_-]{16,}|pk-lf-[A-Za-z0-9-]{16,}"  # model providers
    r"|lsv2_[a-z]{2}_[A-Za-z0-9_]{16,}|hf_[A-Za-z0-9]{30,}|cq[ct]_[A-Za-z0-9_-]{20,}"
    r"|AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}"  # Google
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"  # SendGrid
    r"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"  # JSON Web Tokens
)
# Names of secrets as a name begins with them, or behind "_" or "-", or in camelCase.
_NAMED = (
    r"(?:(?<![A-Za-z0-9])|(?-i:(?<=[a-z0-9])(?=Api|Secret|Pass|Pwd|Access|Auth|Refresh|Client"
    r"|Private|Session|Token)))"
    r"(?:api[_-]?key|apikey|secret(?:[_-]?(?:key|access[_-]?key))?|access[_-]?(?:token|key)"
    r"|(?:auth|refresh|session|security|bearer|api|bot|csrf|github|gitlab|slack|npm|hf)[_-]?token"
    r"|client[_-]?secret|private[_-]?key|password|passwd|passphrase|pwd)"
)
# "Token" alone names many figures of a model, so what it names has to look drawn at random.
_DRAWN = r"(?=[^\s\"'\\]{0,60}\d)(?=[^\s\"'\\]{0,60}[A-Za-z])[A-Za-z0-9+/_.~=-]{16,}"
_DRAWN_FOR = r"(?:(?<=[A-Za-z0-9][_-])token|(?-i:(?<=[a-z0-9])Token))"
_IS = r"""\\?["']?\s{0,20}(?:=>|[:=])\s{0,20}"""
MASKS: Mapping[str, Mask] = {
    "private_key": Mask(
        gettext_lazy("Private keys"),
        re.compile(
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----.*?"
            r"(?:-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.S,
        ),
        ("PRIVATE KEY",),
    ),
    "api_key": Mask(
        gettext_lazy("API keys"),
        re.compile(rf"(?<![A-Za-z0-9_])(?:{_KEYS})"),
        tuple(
            "AKIA ASIA gh glpat- xox _live_ _test_ sk- pk- lsv2_ hf_ cqc_ cqt_ AIza ya29 SG."
            " eyJ".split()
        ),
        _random_length,
    ),
    "bearer": Mask(
        gettext_lazy("Bearer tokens and Basic sign-ins"),
        re.compile(
            r"(?i)\b(?:bearer|basic|token)(?:\s|%20|\+){1,4}(?P<secret>[A-Za-z0-9+/_.~=%-]{12,})"
        ),
        ("earer", "EARER", "asic", "ASIC", "oken", "OKEN"),
        _random_length,
    ),
    "password": Mask(
        gettext_lazy("Passwords and keys by name"),
        re.compile(
            rf"""(?i)(?:{_NAMED}{_IS}(?:\\?["'](?P<secret>[^"'\\\s]{{4,}})"""
            rf"""|(?!(?:true|false|null|none)\b)(?P<bare>[^\s"'\\,;&}}\])]{{4,}}))|{_DRAWN_FOR}{_IS}\\?["']?(?P<token>{_DRAWN}))"""
        ),
        tuple("key KEY Key ecret ECRET oken OKEN assw ASSW assp ASSP pwd PWD Pwd".split()),
    ),
    "url_password": Mask(
        gettext_lazy("Passwords in addresses"),
        re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']{0,80}:(?P<secret>[^\s/@\"']{1,200})@"),
        ("://",),
    ),
    "email": Mask(
        gettext_lazy("E-mail addresses"),
        re.compile(
            r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w](?:[\w-]{0,61}[\w])?\.){1,8}[^\W\d_][\w-]{1,30}"
        ),
        ("@",),
    ),
    "iban": Mask(
        gettext_lazy("IBANs"),
        re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}(?![A-Za-z0-9])"),
        (),
        _iban_length,
        grouped=True,
    ),
    "card": Mask(
        gettext_lazy("Card numbers"),
        re.compile(r"(?<![\w.])[2-6](?:[ -]?[0-9]){12,18}(?![\w])"),
        (),
        _card_length,
        grouped=True,
    ),
    "ip": Mask(
        gettext_lazy("IP addresses"),
        re.compile(
            r"(?<![\w.:])(?:(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{1,4})"
            r"(?![\w:]|\.\d)"
        ),
        (".", "::", ":"),
        _address_length,
    ),
    "phone": Mask(
        gettext_lazy("Phone numbers"),
        re.compile(
            r"(?<![\w+.-])(?:(?:\+|00)[1-9]\d{0,2}[ ./-]{0,2}(?:\(0?\d{0,4}\)[ ./-]?)?"
            r"\d(?:[ ./-]?\d){5,12}|\(\d{3}\)[ -]?\d{3}[ -]\d{4}|\d{3}-\d{3}-\d{4})(?![\w-])"
        ),
        ("+", "00", "(", "-"),
        _phone_length,
    ),
}


def _has(match: re.Match[str], group: str) -> bool:
    return group in match.re.groupindex and match[group] is not None


class Masker:
    """Replaces what its rules match, and counts the replacements by rule."""

    def __init__(
        self, names: Iterable[str], own: Iterable[OwnMask] = (), countries: Iterable[str] = ()
    ) -> None:
        chosen = set(names)
        self.countries, self._looks = tuple(countries), 0
        self.rules = [(name, mask) for name, mask in MASKS.items() if name in chosen]
        if "phone" in chosen and self.countries:
            local = Mask(MASKS["phone"].label, LOCAL_NUMBER, (), self._local_length, grouped=True)
            self.rules.append(("phone", local))
        self.rules[:0] = [(one.name, Mask(one.name, re.compile(one.pattern))) for one in own]
        # Histories repeat the same texts in every span of a request.
        self._known: dict[str, tuple[str, dict[str, int]]] = {}
        self._names_secrets = "password" in chosen
        self.counts = Counter[str]()

    def mask_text(self, text: str) -> str:
        """Replace every match by "[NAME]"; an image as a data address stays as it is.

        A text beyond ``MAX_STRING`` is cut there, and says how much was left out.
        """
        if text.startswith("data:image/") and IMAGE_DATA.match(text):
            return text
        if len(text) <= MAX_STRING:
            return self._mask_once(text)
        masked = self._mask_once(text[: MAX_STRING + OVERLAP])
        if len(text) > MAX_STRING + OVERLAP:
            masked = masked[:-OVERLAP]  # may end within a secret
        return f"{masked[:MAX_STRING]}{cut_note(len(text) - MAX_STRING)}"

    def _mask_once(self, text: str) -> str:
        """Mask a text, or remember how that went."""
        known = self._known.get(text)
        if known is None:
            known = self._mask(text)
            if len(self._known) < MOST_KNOWN:
                self._known[text] = known
        masked, counts = known
        self.counts.update(counts)
        return masked

    def _mask(self, text: str) -> tuple[str, dict[str, int]]:
        """A text masked, with the number of replacements by rule."""
        counts: dict[str, int] = {}
        for name, mask in self.rules:
            if len(text) < SHORTEST and name in MASKS:
                continue
            if not mask.hints or any(hint in text for hint in mask.hints):
                text, number = self._apply(name, mask, text)
                if number:
                    counts[name] = counts.get(name, 0) + number
        return text, counts

    def _local_length(self, text: str) -> int:
        self._looks += 1
        if self._looks > MOST_LOOKS:
            return len(text)
        return max(local_phone_length(text, country) for country in self.countries)

    def _apply(self, name: str, mask: Mask, text: str) -> tuple[str, int]:
        """Replace the matches of one rule; what stands behind a replaced part is looked at too."""
        kept: list[str] = []
        done = position = 0
        while (match := mask.pattern.search(text, position)) is not None:
            group = next((one for one in ("secret", "bare", "token") if _has(match, one)), None)
            start, end = match.span(group) if group else match.span()
            length = 0 if MASKED.match(text, start) else mask.length(text[start:end])
            if length:
                kept += [text[done:start], f"[{name.upper()}]"]
                done = start + length
            behind = start + length if length else match.end()
            if mask.grouped and not length and (gap := GAP.search(text, start, behind)):
                behind = gap.end()
            position = max(behind, match.start() + 1)
        return "".join([*kept, text[done:]]) if kept else text, len(kept) // 2

    def mask_value(self, value: Any, depth: int = 0) -> Any:
        """Mask all texts of a JSON value, also those of keys; a deeper one than 64 is left out."""
        if isinstance(value, str):
            return self.mask_text(value)
        if depth > DEEPEST:
            return None
        if isinstance(value, list):
            if len(value) == 2 and self._is_secret(value[0], value[1]):
                value = [value[0], self._mask_secret(value[1], depth + 1)]
            return [self.mask_value(one, depth + 1) for one in value]
        if isinstance(value, dict):
            return self._mask_object(value, depth)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**12:
            masked = self.mask_text(str(value))  # a card number may be sent as a number
            return value if masked == str(value) else masked
        return value

    def _mask_object(self, value: dict[str, Any], depth: int) -> dict[str, Any]:
        """Mask an object, which may be the name of a secret with its value."""
        name = value.get("name", value.get("key"))
        named = "value" in value and self._is_secret(name, value["value"])
        return {
            self.mask_text(key): self._mask_secret(one, depth + 1, inner=True)
            if named and key == "value"
            else self._mask_named(key, one, depth)
            for key, one in value.items()
        }

    def _mask_named(self, key: str, value: Any, depth: int) -> Any:
        """Mask the value of a key, which may say by its name that it is a secret."""
        if self._is_secret(key, value):
            return self._mask_secret(value, depth + 1)
        return self.mask_value(value, depth + 1)

    def _is_secret(self, name: Any, value: Any) -> bool:
        """Whether a name says that its value is a secret."""
        if not self._names_secrets or not isinstance(name, str) or len(name) > LONGEST_NAME:
            return False
        if _SECRET_KEY.search(name):
            return True
        return bool(isinstance(value, str) and _DRAWN_KEY.search(name) and _RANDOM.match(value))

    def _mask_secret(self, value: Any, depth: int, *, inner: bool = False) -> Any:
        """Mask texts and numbers that a name calls secret, also in lists; ``inner``: in objects.

        What a form of a tool says of a field called "password" stays: it is an object.
        """
        if isinstance(value, list) and depth <= DEEPEST:
            return [self._mask_secret(one, depth + 1, inner=inner) for one in value]
        if inner and isinstance(value, dict) and depth <= DEEPEST:
            return {
                self.mask_text(key): self._mask_secret(one, depth + 1, inner=True)
                for key, one in value.items()
            }
        text = isinstance(value, str) and len(value) >= 4 and not MASKED.fullmatch(value)
        if text or (isinstance(value, int | float) and not isinstance(value, bool)):
            self.counts["password"] += 1
            return "[PASSWORD]"
        return self.mask_value(value, depth)


LONGEST_NAME = 300
_SECRET_KEY = re.compile(
    rf"(?i){_NAMED}\Z|(?:^|[._-])(?:(?:proxy[_-]?)?authorization|(?:set[_-]?)?cookie)\Z"
)
_DRAWN_KEY = re.compile(rf"(?i){_DRAWN_FOR}\Z")
_RANDOM = re.compile(_DRAWN)
MOST_BACKTRACKING = 256  # of all own masks of a source together


def backtracking_of(pattern: str) -> float:
    """Count the ways in which a pattern may match at one place; inf of an open repeat.

    Raises re.error for what is no pattern.
    """
    from re import _parser  # type: ignore[attr-defined]

    return _ways(_parser.parse(pattern))


def _ways(parsed: Any) -> float:
    total = 1.0
    for code, given in parsed:
        name = str(code)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            low, high, inner = given
            if str(high) == "MAXREPEAT":
                return float("inf")
            total *= (high - low + 1) * _ways(inner) ** min(high, 64)
        elif name == "BRANCH":
            total *= sum(_ways(one) for one in given[1])
        elif name == "SUBPATTERN":
            total *= _ways(given[-1])
        elif name in ("ASSERT", "ASSERT_NOT"):
            total *= _ways(given[1])
        elif name == "ATOMIC_GROUP":
            total *= _ways(given)
    return total
