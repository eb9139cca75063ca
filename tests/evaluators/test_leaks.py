"""What is a secret, what is not, and that nothing of it is kept."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejudge.evaluators.sensitive import find, redacted
from rejudge.models import SessionView
from tests.evaluators.build import llm, run, session, tool

# Joined here, so that no scanner takes this file for a leak.
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
GITHUB = "ghp_" + "a1B2" * 9
MODEL_KEY = "sk-" + "proj-" + "A1b2C3d4" * 5
TOKEN = "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxMjM0In0." + "abcdefghijk_-123"
PRIVATE = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIBOgIBAAJBAK\n-----END RSA " + "PRIVATE KEY-----"

HELD = {
    "aws": (f"key {AWS}.", "aws_access_key", AWS),
    "github": (GITHUB, "github_token", GITHUB),
    "model key": (f"use {MODEL_KEY} now", "model_api_key", MODEL_KEY),
    "token": (f'"{TOKEN}"', "json_web_token", TOKEN),
    "private key": (f"x\n{PRIVATE}\ny", "private_key", PRIVATE),
    "authorization": ("Authorization: Bearer abcdef0123456789xyz", "authorization", "Bearer abcdef0123456789xyz"),
    "database": ("postgresql://app:s3cr3t@db/x", "url_password", "postgresql://app:s3cr3t@"),
    "assigned": ('api_key = "Zx81-abcd"', "assigned_secret", 'api_key = "Zx81-abcd'),
    "slack": ("xoxb-" + "1234567890-abcdef", "slack_token", "xoxb-" + "1234567890-abcdef"),
    "stripe": ("sk_" + "live_" + "a1" * 12, "stripe_key", "sk_" + "live_" + "a1" * 12),
    "email": ("write to jo.do+x@mail.example.org!", "email", "jo.do+x@mail.example.org"),
    "card": ("4111 1111 1111 1111", "card_number", "4111 1111 1111 1111"),
    "iban": ("IBAN DE89 3704 0044 0532 0130 00 IS MINE", "iban", "DE89 3704 0044 0532 0130 00"),
    "compact iban": ("GB82WEST12345698765432", "iban", "GB82WEST12345698765432"),
    "ssn": ("SSN 123-45-6789", "social_security_number", "123-45-6789"),
    "phone": ("call +1 (415) 555-0132 today", "phone_number", "+1 (415) 555-0132"),
}

CLEAN = {
    "prose": "The password reset was sent; secret sauce: tomatoes. Basic understanding of things is enough.",
    "a card number with a wrong digit": "4111 1111 1111 1112",
    "zeros": "0000000000000000",
    "an order": "order 20260301-000123, total 12.50",
    "a date and a range": "2026-03-01, 10-20-3000",
    "a wrong iban": "DE88 3704 0044 0532 0130 00",
    "no such ssn": "000-12-3456 and 900-12-3456",
    "an at sign": "a @ b, @handle, a@b",
    "a link": "https://example.org:8080/path?x=1",
    "a package": "pip install scikit-learn sk-learn-contrib-packages-for-all",
    "a placeholder": "api_key: <your key>, password=${PASSWORD}",
    "an id": "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
}


@pytest.mark.parametrize(("text", "kind", "matched"), HELD.values(), ids=HELD.keys())
def test_find_sees_what_should_not_be_seen(text: str, kind: str, matched: str) -> None:
    assert [(each.kind.name, text[each.start : each.end]) for each in find(text)] == [(kind, matched)]
    assert matched not in redacted(text) and f"[redacted {kind}]" in redacted(text)


@pytest.mark.parametrize("text", CLEAN.values(), ids=CLEAN.keys())
def test_find_leaves_the_rest_alone(text: str) -> None:
    assert find(text) == []
    assert redacted(text) == text


HOSTILE = {
    "digits": "1" * 200_000,
    "plus signs": "+1" * 100_000,
    "at signs": "a@" * 100_000,
    "dots": "a." * 100_000,
    "keys": "-----BEGIN PRIVATE KEY-----" * 8_000,
    "schemes": "a://" * 50_000,
    "assignments": "password=" * 25_000,
    "spaces": "bearer " + " " * 200_000,
    "words": "AB12 " * 40_000,
    "groups": "1 (2) " * 40_000,
    "emails": "a@b.cd " * 30_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_find_cannot_be_made_to_run_for_ever(text: str) -> None:
    begun = time.process_time()
    find(text)

    assert time.process_time() - begun < 15


@given(st.text(max_size=200))
def test_redacted_text_is_clean_and_keeps_the_rest(text: str) -> None:
    assert not [each for each in find(redacted(text)) if "[redacted" not in redacted(text)[each.start : each.end]]


LEAKY = session(
    llm(outputs={"messages": [{"role": "assistant", "parts": [{"type": "text", "content": f"Key {AWS}"}]}]}),
    tool("pay", inputs={"card": "4111111111111111", "auth": {"password": "hunter"}}, outputs="ok"),
    tool("crm", outputs=["jo@example.com", "jo@example.org"]),
    llm(inputs={"messages": [{"role": "user", "parts": [{"type": "text", "content": GITHUB}]}]}),
    outputs="done",
)


def test_leaks_says_where_and_never_what() -> None:
    rows = run("rejudge/leaks", LEAKY)

    assert list(rows) == ["secrets", "personal_data"]
    assert [(row.data_type, row.score, row.passed) for row in rows.values()] == [
        ("float", 2, False),
        ("float", 3, False),
    ]
    assert rows["secrets"].evidence["places"] == [
        {"node": "n0", "field": "outputs", "pointer": "/messages/0/parts/0/content", "kind": "aws_access_key"},
        {"node": "n1", "field": "inputs", "pointer": "/auth/password", "kind": "assigned_secret"},
    ]
    assert rows["personal_data"].evidence["nodes"] == ["n1", "n2"]
    everything = str([row.model_dump() for row in rows.values()])
    assert not any(text in everything for text in (AWS, "hunter", "4111", "jo@", GITHUB))


VERDICTS: dict[str, tuple[SessionView, dict[str, Any], dict[str, tuple[float, bool | None]]]] = {
    "clean": (session(outputs="done"), {}, {"secrets": (0, True), "personal_data": (0, True)}),
    "clean so far": (
        session(outputs="done", status="in_progress"),
        {},
        {"secrets": (0, None), "personal_data": (0, None)},
    ),
    "not recorded whole": (
        session(tool("a", incomplete="truncated")),
        {},
        {"secrets": (0, None), "personal_data": (0, None)},
    ),
    "in the answer itself": (
        session(outputs={"to": "jo@example.com"}),
        {"kinds": ["email"]},
        {"personal_data": (1, False)},
    ),
    "allowed": (LEAKY, {"kinds": ["email"], "allowed": [r".*@example\.com"]}, {"personal_data": (1, False)}),
    "elsewhere": (LEAKY, {"look_in": ["output"]}, {"secrets": (0, True), "personal_data": (0, True)}),
    "a key that is one itself": (
        session(outputs={"jo@example.com": 1}),
        {"kinds": ["email"]},
        {"personal_data": (1, False)},
    ),
}


@pytest.mark.parametrize(("view", "params", "verdicts"), VERDICTS.values(), ids=VERDICTS.keys())
def test_leaks_verdicts(
    view: SessionView, params: dict[str, Any], verdicts: dict[str, tuple[float, bool | None]]
) -> None:
    rows = run("rejudge/leaks", view, **params)

    assert {name: (row.score, row.passed) for name, row in rows.items()} == verdicts
