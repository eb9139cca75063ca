"""The tables' own registry: a user's SQLModel tables in the same process never meet ours."""

from __future__ import annotations

from sqlalchemy import MetaData
from sqlalchemy.orm import registry
from sqlmodel import SQLModel

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


class Table(SQLModel, registry=registry(metadata=MetaData(naming_convention=NAMING))):
    """Root of every table."""

    # Rows are written as they are, so no command has to wait for their validators to be built.
    model_config = {"defer_build": True}
