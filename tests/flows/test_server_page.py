"""The pages of the local Prefect server."""

from __future__ import annotations

import httpx

from tests.flows.commands import Commands


def test_its_pages_ask_the_server_that_serves_them(served: Commands) -> None:
    up = served("up", "--json").document
    told = httpx.get(f"{up['url']}/ui-settings", timeout=30).json()
    assert told["api_url"] == up["api_url"]
