"""`rejudge up` and `rejudge down`: the local Prefect server and our deployments."""

from __future__ import annotations

import click

from rejudge.cli.output import Output, output_options


@click.command()
@output_options
def up(output: Output) -> None:
    """Start the local Prefect server, and serve this folder's deployments on it."""
    from rejudge import settings
    from rejudge.server import find_or_start

    server = find_or_start(settings.current(), say=output.note)
    output.result({"url": server.url, "api_url": server.api_url, "pid": server.pid}, f"Prefect: {server.url}")


@click.command()
@output_options
def down(output: Output) -> None:
    """Stop the local Prefect server and what it serves."""
    from rejudge import settings
    from rejudge.server import stop

    server = stop(settings.current())
    if server is None:
        output.result({"stopped": False, "url": None}, "No local Prefect server was running.")
    else:
        output.result({"stopped": True, "url": server.url}, f"Stopped the Prefect server at {server.url}.")
