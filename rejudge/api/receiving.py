"""From an OTLP endpoint to stored sessions, as they arrive."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from rejudge.api.importing import in_transactions, known_sources
from rejudge.api.tags import checked_tags
from rejudge.otel import Assembler, Options
from rejudge.otel.receiver import BODY_BYTES, Covered, Drain, Holding, Rules, Serving, Spool, bind, make_app
from rejudge.otel.redaction import redacted
from rejudge.otel.span import Batch
from rejudge.store.engine import Database
from rejudge.store.writing import Outcome, Placement, save_recordings

PORT: Final = 4318
"""What the protocol names for OTLP over HTTP."""

SPOOL_BYTES: Final = 256 * 1024 * 1024
"""Requests that may wait to be stored; beyond it exporters are asked to wait."""

_STOP_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Reception:
    """Where to listen, for whom, and what is taken."""

    agent: str
    """The agent that the sessions are runs of."""
    tags: tuple[str, ...] = ()
    """Put on every session."""
    host: str = "127.0.0.1"
    port: int = PORT
    """0 takes any that is free."""
    token: str | None = field(default=None, repr=False)
    """A bearer token that every request must carry; None: none."""
    body_bytes: int = BODY_BYTES
    """Size of one request, as it comes and when it is decompressed."""
    spool_bytes: int = SPOOL_BYTES
    options: Options = field(default_factory=Options)
    """Joining, redaction, leaving content out."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A session that was stored or changed."""

    session_id: str
    number: int
    outcome: Outcome
    complete: bool
    """Whether its root is there and nothing in it is open."""


class Receiver:
    """An OTLP/HTTP endpoint whose spans become sessions; use it as a context manager.

    Entering listens, and stores what an earlier receiver of this agent and store had acknowledged and not stored.
    Leaving answers what is under way and stores what waits.

    Args:
        folder: Where requests wait between their acknowledgement and their sessions.
        on_arrival: Told of the sessions of each group that was stored, from a thread of the receiver's own.

    Raises:
        Conflict: Where another receiver runs for this agent and store.
        UsageError: Where the address is taken, the folder cannot be written, or a tag is not allowed.
    """

    def __init__(
        self,
        database: Database,
        reception: Reception,
        *,
        folder: Path,
        on_arrival: Callable[[Sequence[Arrival]], None] = lambda _: None,
    ) -> None:
        own = folder / _name(reception.agent, database)
        self._database = database
        self._reception = reception
        self._on_arrival = on_arrival
        self._placement = Placement(agent=reception.agent, tags=checked_tags(reception.tags))
        self._lock = threading.Lock()
        self._outcomes: Counter[Outcome] = Counter()
        self._spool = Spool(own, limit=reception.spool_bytes)
        try:
            self._holding = Holding(own / "held", options=reception.options)
            rules = Rules(token=reception.token, body_bytes=reception.body_bytes)
            self._serving = Serving(make_app(self._spool, rules), bind(reception.host, reception.port))
            self._drain = Drain(self._spool, self._ingest, limit=reception.body_bytes)
        except BaseException:
            self._spool.close()
            raise

    @property
    def url(self) -> str:
        """What exporters are pointed at, as ``OTEL_EXPORTER_OTLP_ENDPOINT``."""
        return self._serving.url

    @property
    def alive(self) -> bool:
        """False once the endpoint has ended by itself."""
        return self._serving.alive

    @property
    def pending(self) -> int:
        """Requests acknowledged and not stored yet."""
        return self._spool.pending

    @property
    def outcomes(self) -> dict[Outcome, int]:
        """How many sessions were stored anew and how many updated, so far."""
        with self._lock:
            return dict(self._outcomes)

    def __enter__(self) -> Self:
        self._drain.start()
        self._serving.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._serving.stop()
        self._drain.stop(within=_STOP_SECONDS)
        self._spool.close()

    def _ingest(self, batch: Batch) -> None:
        # Redacted before anything of it is held back on disk.
        joined = self._holding.join(redacted(batch, self._reception.options))
        known = known_sources(self._database, self._placement.agent)
        covered = Covered()
        arrivals: list[Arrival] = []
        with Assembler(self._reception.options) as assembler:
            assembler.add(joined)
            for group in in_transactions(assembler.recordings(known)):
                saved = save_recordings(self._database, group, self._placement)
                for recording, one in zip(group, saved, strict=True):
                    session = recording.view.session
                    covered.trace_ids.update(recording.trace_ids)
                    covered.keys.add((session.source, session.external_id))
                    arrivals.append(Arrival(one.session_id, one.number, one.outcome, session.complete))
        self._database.make_durable()
        self._holding.settle(joined, covered)
        self._tell([one for one in arrivals if one.outcome != "unchanged"])

    def _tell(self, arrivals: list[Arrival]) -> None:
        if not arrivals:
            return
        with self._lock:
            self._outcomes.update(one.outcome for one in arrivals)
        self._on_arrival(arrivals)


def _name(agent: str, database: Database) -> str:
    """A folder of its own for each agent and store: what waits in it belongs to no other."""
    text = f"{agent}\n{database.url.render_as_string(hide_password=True)}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
