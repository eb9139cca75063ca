"""The one session of one run: every span and record of it, whatever traces and conversations they name."""

from __future__ import annotations

from typing import Any

from rejudge.models.recording import Recording
from rejudge.models.session import Session, SessionView
from rejudge.otel.assembly import assemble_group
from rejudge.otel.costs import Bill
from rejudge.otel.digest import Seal, blobs_of
from rejudge.otel.grouping import Group
from rejudge.otel.options import Options
from rejudge.otel.span import Batch


def assemble_run(
    batch: Batch, *, source: str, external_id: str, known: dict[str, Any] | None = None
) -> Recording | None:
    """The session of a run; None where nothing of an agent is in its spans.

    Args:
        source: Where the session comes from, and with `external_id` its identity.
        known: Facts of the session that are known better than from its spans (status, error, inputs, outputs).
    """
    traces = {span.trace_id for span in batch.spans} | {log.trace_id for log in batch.logs if log.trace_id}
    group = Group(source, external_id, batch.spans, batch.logs, traces)
    recording = assemble_group(group, Options(price=False))
    return _with_facts(recording, known or {}) if recording is not None else None


def _with_facts(recording: Recording, known: dict[str, Any]) -> Recording:
    view = recording.view
    facts = {**view.session.__dict__, **known, "digest": ""}
    # The records were made a moment ago from these very dicts, and nobody has seen them yet.
    nodes = [node.decoded().__dict__ for node in view.nodes]
    seal, bill = Seal(), Bill()
    seal.add(nodes, map(blobs_of, nodes))
    bill.add(nodes)
    facts["digest"] = seal.close(facts)
    bill.close(facts)
    return Recording(SessionView(Session.from_facts(facts), view.nodes), recording.trace_ids, recording.spans)
