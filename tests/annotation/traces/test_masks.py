"""Masks: secrets and personal data are replaced, ordinary text is not."""

from __future__ import annotations

import time

import pytest

from annotation.traces.masks import MASKS, MAX_STRING, OVERLAP, Masker, OwnMask
from annotation.traces.settings import clean_settings, read_settings
from crowdqc.errors import Invalid

SECRETS = {
    "mail ana.b+x@example.org now": "mail [EMAIL] now",
    "card 4111 1111 1111 1111, not 4111 1111 1111 1112": "card [CARD], not 4111 1111 1111 1112",
    "DE89 3704 0044 0532 0130 00 AND MORE": "[IBAN] AND MORE",
    "call +49 (0)30 1234567 or 555-123-4567": "call [PHONE] or [PHONE]",
    "from 10.0.0.12 and 2001:db8::1": "from [IP] and [IP]",
    "postgres://app:s3cret@db/x": "postgres://app:[URL_PASSWORD]@db/x",
    "Authorization: Bearer abcdef0123456789": "Authorization: Bearer [BEARER]",
    "password=hunter22&x=1": "password=[PASSWORD]&x=1",
    '{\\"api_key\\": \\"zzzz9999\\"}': '{\\"api_key\\": \\"[PASSWORD]\\"}',
    "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENG": "AWS_SECRET_ACCESS_KEY=[PASSWORD]",
    "DB_PASSWORD=hunter22": "DB_PASSWORD=[PASSWORD]",
    "POSTGRES_PASSWORD: hunter22": "POSTGRES_PASSWORD: [PASSWORD]",
    "OPENAI_API_KEY='zzzz9999'": "OPENAI_API_KEY='[PASSWORD]'",
    'dbPassword: "hunter22"': 'dbPassword: "[PASSWORD]"',
    "DEPLOY_TOKEN=abcdef0123456789": "DEPLOY_TOKEN=[PASSWORD]",
    "to cqt_abcdefghij0123456789ab": "to [API_KEY]",
    "?auth=Bearer%20abcdef0123456789&x": "?auth=Bearer%20[BEARER]&x",
    "?auth=Basic+dXNlcjpwYXNzd29yZDE": "?auth=Basic+[BEARER]",
    "card 4111 1111 1111 1111 123": "card [CARD] 123",
    "123 4111-1111-1111-1111 9": "123 [CARD] 9",
    "AB12 CDEF DE89 3704 0044 0532 0130 00": "AB12 CDEF [IBAN]",
    "sk-proj-abcdefghij0123456789ab": "[API_KEY]",
    "AKIAIOSFODNN7EXAMPLE": "[API_KEY]",
    "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- x": "[PRIVATE_KEY] x",
}
ORDINARY = (
    "basic understanding matters, token authentication too",
    "2026-11-29T10:20:30Z span 1732871234567890123 version 1.2.3",
    "12 kg at 10:30, order 41155, see section 3.2.1",
    "the key: it is under the mat",
    "time_to_first_token: 0.23456789012345678, max_tokens=4096, eos_token: <|endoftext|>",
    "needsPassword=false, has_secret: true",
)


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_and_personal_data_are_replaced(text: str) -> None:
    assert Masker(MASKS).mask_text(text) == SECRETS[text]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert Masker(MASKS).mask_text(text) == text


LOCAL = {
    "Tel. 0151 23456789, order 40012345": "Tel. [PHONE], order 40012345",
    "(030) 123456-78 or 089-1234567 10:30": "[PHONE] or [PHONE] 10:30",
    "ist 04021897000, nicht 2026-11-30": "ist [PHONE], nicht 2026-11-30",
    "ring 06 12 34 56 78 now, 2026 2027 2028": "ring [PHONE] now, 2026 2027 2028",
    "40012 0151/23456789": "40012 [PHONE]",
    "100 000 000 of 1 234 567, 978-3-16-148410-0": "100 000 000 of 1 234 567, 978-3-16-148410-0",
    "3.14159265358979 at 52.520008 13.404954, id 1764410000": (
        "3.14159265358979 at 52.520008 13.404954, id 1764410000"
    ),
}


@pytest.mark.parametrize("text", LOCAL)
def test_phone_numbers_of_chosen_countries_are_replaced_and_plain_numbers_stay(text: str) -> None:
    masker = Masker(MASKS, countries=("DE", "FR"))
    assert masker.mask_text(text) == LOCAL[text]
    assert masker.counts["phone"] == LOCAL[text].count("[PHONE]")
    assert Masker(MASKS).mask_text(text) == text  # without a country, none of these


def test_ordinary_text_stays_with_countries_and_unknown_ones_are_refused() -> None:
    masker = Masker(MASKS, countries=("DE", "FR", "US", "GB", "SE"))
    assert [masker.mask_text(text) for text in ORDINARY] == list(ORDINARY)
    assert read_settings(clean_settings({"phone_countries": ["DE"]})).phone_countries == ("DE",)
    with pytest.raises(Invalid):
        clean_settings({"phone_countries": ["XX"]})


def test_many_numbers_take_no_longer_than_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond it, what looks like a number is replaced without a look."""
    monkeypatch.setattr("annotation.traces.masks.MOST_LOOKS", 10)
    masked = Masker(MASKS, countries=("DE",)).mask_text("11 22 33 44, " * 100)
    assert 80 < masked.count("[PHONE]") < 100


def test_masking_a_masked_text_changes_nothing() -> None:
    for masked in SECRETS.values():
        masker = Masker(MASKS)
        assert masker.mask_text(masked) == masked and not masker.counts


def test_values_are_masked_by_their_keys_and_in_any_depth() -> None:
    masker = Masker(MASKS)
    value = {"a": [{"db.password": "abcd"}, 4111111111111111], "card": True, "n": 12}
    assert masker.mask_value(value) == {
        "a": [{"db.password": "[PASSWORD]"}, "[CARD]"],
        "card": True,
        "n": 12,
    }
    assert masker.counts == {"password": 1, "card": 1}


def test_a_name_makes_its_value_a_secret_in_every_form_that_headers_have() -> None:
    masker = Masker(MASKS)
    value = {
        "dbPassword": "abcd",
        "pin": {"pwd": 1234, "api_key": ["abcd", 5]},
        "headers": [["x-api-key", "abcd"], ["accept", "text/html"]],
        "pairs": [{"name": "Set-Cookie", "value": "sid=abcd"}, {"key": "db_password", "value": 12}],
        "http.request.header.cookie": ["sid=abcd"],
        "schema": {"password": {"type": "string"}},
        "time_to_first_token": 0.25,
    }
    masked = "[PASSWORD]"
    assert masker.mask_value(value) == {
        "dbPassword": masked,
        "pin": {"pwd": masked, "api_key": [masked, masked]},
        "headers": [["x-api-key", masked], ["accept", "text/html"]],
        "pairs": [{"name": "Set-Cookie", "value": masked}, {"key": "db_password", "value": masked}],
        "http.request.header.cookie": [masked],
        "schema": {"password": {"type": "string"}},
        "time_to_first_token": 0.25,
    }
    assert masker.counts == {"password": 8}


def test_images_stay_as_they_are_and_texts_that_look_like_one_do_not() -> None:
    image = "data:image/png;base64,QUtJQUlPU0ZPRE5ON0VYQU1QTEU="
    masker = Masker(MASKS)
    assert masker.mask_text(image) == image
    assert "[EMAIL]" in masker.mask_text("data:image/png;base64, mail a@example.org")


def test_rules_of_a_source_are_bounded_and_replace_first() -> None:
    own = [{"name": "ORDER", "pattern": r"sb-\d{4}"}]
    settings = clean_settings({"own_masks": own})
    masker = Masker((), [OwnMask(**one) for one in settings["own_masks"]])
    assert masker.mask_text("order sb-2177 late") == "order [ORDER] late"
    for pattern in ("(a+)+b", "x*", "(", "a{0,99}b{0,99}c", "a{0,400}b", "(?:)"):
        with pytest.raises(Invalid) as error:
            clean_settings({"own_masks": [{"name": "BAD", "pattern": pattern}]})
        assert any(name.startswith("own_masks") for name in error.value.fields)
    with pytest.raises(Invalid):
        clean_settings({"own_masks": [{"name": f"A{n}", "pattern": "a{1,40}b"} for n in range(8)]})
    stored = {"own_masks": [{"name": "OLD", "pattern": "a{0,400}b"}]}
    assert read_settings(stored).own_masks[0].name == "OLD"


def test_a_long_text_is_cut_before_it_is_masked_and_no_secret_shows_at_the_cut() -> None:
    text = "x " * 99_992 + "ana@example.org " + "Zm9vYmFy/+" * 500_000 + "bob@example.org"
    masker = Masker(MASKS)
    masked = masker.mask_text(text)
    assert len(masked) < MAX_STRING + 60 and "[EMAIL]" in masked
    assert masked.endswith(f"({len(text) - MAX_STRING:,} characters left out)")
    assert masker.counts == {"email": 1}
    mails = "ana@example.org " * 12_756 + "an@example.org " * 10  # the cut is within the last ones
    assert "@" not in masker.mask_text(mails[: MAX_STRING + OVERLAP - 10] + "x" * 100)


def test_a_tool_output_of_two_hundred_thousand_characters_is_masked_at_once() -> None:
    text = "Zm9vYmFy/+" * 19_990 + " ana@example.org"
    began = time.process_time()
    assert Masker(MASKS).mask_text(text).endswith("[EMAIL]")
    assert time.process_time() - began < 2


@pytest.mark.parametrize("part", ["4 ", "AB12 ", "4111 ", "a_token=", "secret_key_"])
def test_no_repeated_text_takes_long(part: str) -> None:
    began = time.process_time()
    Masker(MASKS).mask_text(part * (50_000 // len(part)))
    assert time.process_time() - began < 2
