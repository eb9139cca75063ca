"""Alembic's entry: it is handed a connection by `rejudge.store.schema`."""

from __future__ import annotations

from alembic import context

from rejudge.store.tables import Table

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Table.metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
