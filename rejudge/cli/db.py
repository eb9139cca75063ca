"""`rejudge db`: the database itself."""

from __future__ import annotations

import click

from rejudge.cli.groups import NounGroup
from rejudge.cli.output import Output, output_options


@click.group(cls=NounGroup)
def db() -> None:
    """The database: where it is, and its schema."""


@db.command()
@output_options
def upgrade(output: Output) -> None:
    """Bring the database to the schema that this rejudge needs."""
    from rejudge import settings
    from rejudge.store.engine import connect
    from rejudge.store.schema import upgrade as to_newest

    url = settings.current().database_url
    version = to_newest(connect(url))
    output.result({"url": settings.masked(url), "schema": version}, f"{settings.masked(url)} has schema {version}")


@db.command()
@output_options
def show(output: Output) -> None:
    """Show where the database is, its schema, and how much is in it."""
    from rejudge import settings
    from rejudge.store.engine import connect
    from rejudge.store.schema import HEAD, schema_version

    url = settings.current().database_url
    database = connect(url)
    with database.read() as connection:
        version = schema_version(connection)
    facts = {"url": settings.masked(url), "schema": version, "newest_schema": HEAD}
    lines = [("database", facts["url"]), ("schema", version or "none yet"), ("newest", HEAD)]
    output.item(facts, lines)
