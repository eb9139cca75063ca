"""What a report tells of an experiment run beside its figures: money, time, fidelity, the runs side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Final

import orjson

from rejudge.api.experimenting import change_line, members_of, replays_of
from rejudge.models.comparison import Comparison
from rejudge.models.report import (
    ChangedText,
    Divergence,
    Fidelity,
    LedgerEntry,
    Priced,
    ReportContext,
    SideBySide,
    Step,
)
from rejudge.models.session import Session, SessionView
from rejudge.replay.steps import Step as ReplayStep
from rejudge.replay.steps import steps_of
from rejudge.store.cohorts import find_cohort_version_by_id
from rejudge.store.engine import Database
from rejudge.store.evaluations import Wanted, list_scorings
from rejudge.store.experiments import ExperimentRun
from rejudge.store.reading import load_views
from rejudge.store.replays import Replay
from rejudge.store.selecting import list_sessions_by_id

SIDE_BY_SIDE: Final = 20
"""Flipped members whose runs are shown beside each other."""
STEPS: Final = 12
"""Steps shown of each from the first divergence on."""
_TEXT: Final = 2_000


def report_context(database: Database, run: ExperimentRun, comparison: Comparison) -> ReportContext:
    """Everything in a run's report that is not a figure of its comparison."""
    from rejudge import __version__

    cohort = find_cohort_version_by_id(database, run.cohort_version_id)
    replays = replays_of(database, run)
    return ReportContext(
        title=run.reference,
        experiment=run.reference,
        run_id=run.id,
        change=change_line(run.spec["change"]),
        texts=_texts(run.spec["change"]),
        agent=f"{run.agent}@{run.agent_version}",
        cohort=f"{cohort.name}@{cohort.number}",
        created_at=run.created_at,
        version=__version__,
        ledger=_ledger(database, run, replays),
        fidelity=_fidelity(replays),
        divergences=_divergences(replays),
        runs=_runs(database, comparison, replays),
    )


def _texts(change: dict[str, Any]) -> tuple[ChangedText, ...]:
    given = change.get("override") or {}
    named = {"system_prompt": "system prompt", "prompt": "prompt"}
    return tuple(ChangedText(label=label, text=given[name]) for name, label in named.items() if given.get(name))


def _ledger(database: Database, run: ExperimentRun, replays: Sequence[Replay]) -> tuple[LedgerEntry, ...]:
    members = members_of(database, run)
    results = [one.result_session_id for one in replays if one.result_session_id is not None]
    entries = [
        _agent_entry("agent, baseline", list_sessions_by_id(database, members)),
        _agent_entry("agent, replay", list_sessions_by_id(database, results)),
    ]
    wanted = {(one["evaluator"], one["number"], one["params_digest"]) for one in run.spec["evaluators"]}
    scorings = [
        one
        for one in list_scorings(database, Wanted(session_ids=[*members, *results]))
        if (one.evaluator, one.evaluator_version, one.params_digest) in wanted
    ]
    for evaluator, version, digest in sorted(wanted):
        mine = [
            one
            for one in scorings
            if (one.evaluator, one.evaluator_version, one.params_digest) == (evaluator, version, digest)
        ]
        costs = [one.cost for one in mine if one.cost is not None]
        entries.append(
            LedgerEntry(
                label=f"evaluator {evaluator}@{version}",
                count=len(mine),
                cost=sum(costs, Decimal(0)),
                priced="priced",
                seconds=sum(one.duration_seconds or 0.0 for one in mine),
            )
        )
    return tuple(entries)


def _agent_entry(label: str, sessions: Sequence[Session]) -> LedgerEntry:
    costs = [one.cost for one in sessions if one.cost is not None]
    whole = all(one.cost_status in ("recorded", "estimated") for one in sessions)
    priced: Priced = "unpriced" if not costs else "priced" if whole else "partial"
    seconds = [(one.ended_at - one.started_at).total_seconds() for one in sessions if one.started_at and one.ended_at]
    return LedgerEntry(
        label=label,
        count=len(sessions),
        cost=sum(costs, Decimal(0)) if costs else None,
        priced=priced,
        seconds=sum(seconds) if seconds else None,
        input_tokens=_total(one.input_tokens for one in sessions),
        output_tokens=_total(one.output_tokens for one in sessions),
    )


def _total(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _fidelity(replays: Sequence[Replay]) -> Fidelity | None:
    told = [one.result["fidelity"] for one in replays if one.result is not None]
    if not told:
        return None
    names = ("history", "static", "llm", "live", "model_history", "model_live", "misses")
    answers = {name.replace("_", " "): sum(int(one.get(name, 0)) for one in told) for name in names}
    return Fidelity(
        answers={name: count for name, count in answers.items() if count},
        replays=len(told),
        same_tools=sum(bool(one.get("tools_equal")) for one in told),
        same_requests=sum(bool(one.get("requests_equal")) for one in told),
        same_output=sum(bool(one.get("output_equal")) for one in told),
    )


def _divergences(replays: Sequence[Replay]) -> tuple[Divergence, ...]:
    counted = Counter(_divergence_label(one) for one in replays if one.result is not None)
    return tuple(Divergence(label=label, count=count) for label, count in counted.most_common())


def _divergence_label(replay: Replay) -> str:
    divergence = (replay.result or {}).get("divergence")
    if not divergence:
        return "none"
    side = divergence.get("replay") or divergence.get("baseline") or {}
    where = f" of {side['name']}" if side.get("name") else ""
    return f"step {divergence['step'] + 1}, {divergence['kind'].replace('_', ' ')}{where}"


def _runs(database: Database, comparison: Comparison, replays: Sequence[Replay]) -> tuple[SideBySide, ...]:
    flipped = dict.fromkeys(flip.member for metric in comparison.metrics for flip in metric.flips)
    shown = []
    for member in list(flipped)[:SIDE_BY_SIDE]:
        mine = [one for one in replays if one.baseline_session_id == member and one.result_session_id is not None]
        if mine and mine[0].result_session_id is not None:
            baseline, replay = load_views(database, [member, mine[0].result_session_id])
            shown.append(side_by_side(member, baseline, replay, trial=mine[0].trial))
    return tuple(shown)


def side_by_side(member: str, baseline: SessionView, replay: SessionView, *, trial: int = 1) -> SideBySide:
    """Both runs from the first step on that is not the same call with the same result."""
    before, after = steps_of(baseline), steps_of(replay)
    same = 0
    for left, right in zip(before, after, strict=False):
        if not (left.same_call(right) and left.same_result(right)):
            break
        same += 1
    return SideBySide(
        member=member,
        trial=trial,
        skipped=same,
        baseline=_shown(before, after, same, baseline.session),
        replay=_shown(after, before, same, replay.session),
    )


def _shown(
    steps: Sequence[ReplayStep], others: Sequence[ReplayStep], start: int, session: Session
) -> tuple[Step, ...]:
    shown = [_step(one, others) for one in steps[start : start + STEPS]]
    return (*shown, Step(label="answer", text=_text(session.outputs)))


def _step(step: ReplayStep, others: Sequence[ReplayStep]) -> Step:
    twins = [other for other in others if step.same_call(other)]
    same = any(step.same_result(other) for other in twins)
    text = f"{_text(step.arguments)} → {_text(step.shown_result)}"
    mark = "same" if same else "different" if any(step.same_callee(other) for other in others) else "only here"
    return Step(label=step.name, text=text[:_TEXT], mark=mark)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else orjson.dumps(value).decode()
