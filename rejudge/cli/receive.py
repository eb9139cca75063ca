"""`rejudge receive`: an endpoint for OpenTelemetry exporters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rejudge.cli.choosing import evaluator_options
from rejudge.cli.following import Following
from rejudge.cli.import_options import import_options
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options

if TYPE_CHECKING:
    from rejudge.models.requests import EvaluatorChoice

_MIB = 1024 * 1024


@click.command()
@click.option("--agent", required=True, metavar="NAME", help="The agent that these are runs of.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Put on every session. Repeat for several.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=4318, show_default=True, type=click.IntRange(0, 65535), help="0: any that is free.")
@click.option("--token", metavar="TOKEN", help="A bearer token to ask for; or REJUDGE_RECEIVE_TOKEN.")
@click.option(
    "--max-body",
    default=64,
    show_default=True,
    type=click.IntRange(min=1),
    metavar="MIB",
    help="Size of one request, before and after decompression.",
)
@click.option(
    "--spool",
    default=256,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    metavar="MIB",
    help="Requests that may wait to be stored.",
)
@click.option("--announce", is_flag=True, help="Tell Prefect of what arrived, as the event rejudge.session.arrived.")
@import_options
@evaluator_options(required=False)
@output_options
def receive(
    output: Output,
    *,
    agent: str,
    tags: tuple[str, ...],
    host: str,
    port: int,
    token: str | None,
    max_body: int,
    spool: float,
    announce: bool,
    options: Callable[[], Any],
    evaluators: tuple[EvaluatorChoice, ...],
) -> int:
    """Receive traces from OpenTelemetry exporters, and store them as sessions while they come.

    Point an exporter at it with OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf. What was
    answered with 200 is not lost, whatever happens. With --evaluator, every session is judged once it is complete.
    Ctrl-C ends it.
    """
    from rejudge import settings
    from rejudge.api.receiving import Reception

    chosen = settings.current()
    reception = Reception(
        agent=agent,
        tags=tags,
        host=host,
        port=port,
        token=token or chosen.receive_token,
        body_bytes=max_body * _MIB,
        spool_bytes=int(spool * _MIB),
        options=options(),
    )
    with opened() as store:
        if evaluators:
            from rejudge.tasks.judges import find_judges
            from rejudge.tasks.pools import check_judges

            check_judges(find_judges(store.database, evaluators))  # refused now, not when a session arrives
        follow = Following(output, store, agent, evaluators, announce=announce)
        with store.sessions.receive(reception, on_arrival=follow.arrived) as receiver:
            _say_where(output, receiver.url, reception)
            follow.until_stopped(lambda: receiver.alive)
        ended = receiver.outcomes
        follow.say_what_is_left()
    counts = {name: ended.get(name, 0) for name in ("new", "updated")}
    output.result(counts, f"{counts['new']:,} sessions new, {counts['updated']:,} times one updated")
    return 0


def _say_where(output: Output, url: str, reception: Any) -> None:
    if output.as_json:
        output.document({"url": url, "agent": reception.agent})
    output.note(f"receiving traces of {reception.agent} at {url} (Ctrl-C ends it)")
    if reception.token is None and reception.host not in ("127.0.0.1", "::1", "localhost"):
        output.note("no token is asked for, and this address may be reached from other machines: see --token")
