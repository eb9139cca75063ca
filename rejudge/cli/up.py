"""`rejudge up` and `rejudge down`: the local Prefect server and our deployments."""

from __future__ import annotations

import click

from rejudge.cli.output import Output, output_options


@click.command()
@output_options
def up(output: Output) -> None:
    """Start the local Prefect server, and serve this folder's flows on it."""
    from rejudge import settings
    from rejudge.served import serve
    from rejudge.server import find_or_start

    chosen = settings.current()
    if chosen.prefect_api_url is not None:
        api_url = chosen.prefect_api_url
        url = api_url.rstrip("/").removesuffix("/api")
        pid = None
    else:
        server = find_or_start(chosen, say=output.note)
        api_url, url, pid = server.api_url, server.url, server.pid
    served = serve(chosen, api_url)
    document = {"url": url, "api_url": api_url, "pid": pid, "deployment": served.name, "served_by": served.pid}
    output.result(document, f"Prefect: {url}; the flows of this folder are served as {served.name}")


@click.command()
@output_options
def down(output: Output) -> None:
    """Stop the local Prefect server and whatever is served on it."""
    from rejudge import settings
    from rejudge.served import stop_all
    from rejudge.server import stop

    chosen = settings.current()
    served = stop_all(chosen)
    server = stop(chosen)
    document = {
        "stopped": server is not None,
        "url": server.url if server is not None else None,
        "served": [one.name for one in served],
    }
    if server is None:
        output.result(document, "No local Prefect server was running.")
    else:
        output.result(document, f"Stopped the Prefect server at {server.url}.")
