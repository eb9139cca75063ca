"""Telling Prefect that sessions arrived, so that deployments which wait for them start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rejudge import server, settings
from rejudge.errors import RejudgeError, UsageError

EVENT: Final = "rejudge.session.arrived"
"""The event's name: what a trigger expects."""

IDS_IN_AN_EVENT: Final = 500
"""Sessions named in one event: a burst is few events and few flow runs."""

_PATH: Final = "/events"


def announce_arrivals(agent: str, session_ids: Sequence[str]) -> int:
    """Sends events that name sessions which arrived, and waits until Prefect has them.

    An event's resource is ``rejudge.agent.NAME``; its payload holds ``agent``, ``session_ids`` and ``selection``, the
    latter as a flow's request takes it.

    Returns:
        How many events.

    Raises:
        UsageError: Where no Prefect server runs that could hear it.
        RejudgeError: Where it does not take them.
    """
    if not session_ids:
        return 0
    settings.put_defaults(server.variables(settings.current()))
    settings.put({"PREFECT_API_URL": _api_url()})

    import httpx
    from prefect.client.orchestration import get_client
    from prefect.events import Event, Resource
    from prefect.exceptions import PrefectHTTPStatusError

    events = [
        Event(
            event=EVENT,
            resource=Resource({"prefect.resource.id": f"rejudge.agent.{agent}", "prefect.resource.name": agent}),
            payload={"agent": agent, "session_ids": ids, "selection": {"ids": ids}},
        )
        for ids in _groups(session_ids)
    ]
    try:
        with get_client(sync_client=True) as client:
            client.request("POST", _PATH, json=[event.model_dump(mode="json") for event in events])
    except (httpx.HTTPError, PrefectHTTPStatusError) as error:
        raise RejudgeError(f"Prefect did not take the event {EVENT}: {error}", mend="is its server up?") from error
    return len(events)


def _api_url() -> str:
    chosen = settings.current()
    if chosen.prefect_api_url is not None:
        return chosen.prefect_api_url
    local = server.find(chosen)
    if local is None:
        raise UsageError("no Prefect server is up to be told of arrivals", mend="start it with `rejudge up`")
    return local.api_url


def _groups(session_ids: Sequence[str]) -> list[list[str]]:
    return [
        list(session_ids[start : start + IDS_IN_AN_EVENT]) for start in range(0, len(session_ids), IDS_IN_AN_EVENT)
    ]
