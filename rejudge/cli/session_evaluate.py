"""`rejudge session evaluate`: judge sessions, here or where a deployment is served."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import click

from rejudge.cli.choosing import evaluator_options
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options, table
from rejudge.cli.progress import bar
from rejudge.cli.selecting import required, selection_options

if TYPE_CHECKING:
    from rejudge.models.requests import EvaluationRequest, EvaluatorChoice
    from rejudge.models.selection import Selection
    from rejudge.scoring.report import BatchReport

_UNSCORED_SHOWN = 10


@click.command()
@selection_options
@evaluator_options(required=True)
@click.option(
    "--mode",
    type=click.Choice(["missing", "force", "changed"]),
    default="missing",
    show_default=True,
    help="Score what is not scored yet; score again; what is missing or was changed by late spans.",
)
@click.option("--detach", is_flag=True, help="Hand it to the served deployment, and do not wait.")
@click.option("--ephemeral", is_flag=True, help="No background server: Prefect's temporary one.")
@output_options
def evaluate(
    output: Output,
    *,
    selection: Callable[[], Selection | None],
    evaluators: tuple[EvaluatorChoice, ...],
    mode: str,
    detach: bool,
    ephemeral: bool,
) -> int:
    """Judge sessions by evaluators, and wait for it.

    What is scored already is skipped, so a batch that was stopped goes on where it was.
    """
    from rejudge.models.requests import EvaluationRequest

    chosen = required(selection())
    request = EvaluationRequest.model_validate({"selection": chosen, "evaluators": evaluators, "mode": mode})
    if detach:
        return _hand_over(output, request)
    with opened() as store, bar(output, "scoring") as move:
        from rejudge.store.selecting import session_numbers

        report = store.evaluations.run(
            request,
            ephemeral=ephemeral,
            say=output.note,
            progress=lambda now: move(now.done, now.total),
        )
        shown = report.unscored[:_UNSCORED_SHOWN]
        numbers = {} if output.as_json else session_numbers(store.database, (one.session_id for one in shown))
    _show(output, report, numbers)
    return report.exit_code


def _show(output: Output, report: BatchReport, numbers: Mapping[str, int]) -> None:
    if output.as_json:
        output.document(report.facts())
        return
    headings = ("evaluator", "result", "sessions", "mean", "lowest", "highest", "passed", "failed")
    rows = [
        (
            report.title(one),
            one.result,
            one.count,
            one.mean,
            one.lowest,
            one.highest,
            one.passed if one.passed + one.failed else None,
            one.failed if one.passed + one.failed else None,
        )
        for one in report.metrics
    ]
    if rows:
        table(rows, headings)
    click.echo(report.sentence)
    if report.url:
        output.note(f"the run: {report.url}")
    for one in report.unscored[:_UNSCORED_SHOWN]:
        output.note(f"{one.status}: {report.evaluators[one.judge]} on session {numbers[one.session_id]}: {one.error}")
    if len(report.unscored) > _UNSCORED_SHOWN:
        output.note("and more; --json lists them")
    if report.not_tried_again:
        output.note(f"{report.not_tried_again:,} that may yet work were not tried again now; run it again later")
    for why in report.lost:
        output.note(f"a part was not stored: {why}")


def _hand_over(output: Output, request: EvaluationRequest) -> int:
    from rejudge.tasks.judges import find_judges, pinned
    from rejudge.tasks.pools import check_judges
    from rejudge.tasks.serving import hand_over

    with opened() as store:
        # What can be refused is refused here, not in a run that nobody watches; latest is resolved now.
        store.sessions.select(request.selection)
        judges = find_judges(store.database, request.evaluators)
        check_judges(judges)
    pinned_down = request.model_copy(update={"evaluators": pinned(request.evaluators, judges)})
    run = hand_over("evaluate-sessions", pinned_down)
    output.result({"flow_run_id": run.id, "url": run.url}, f"handed over: {run.url}")
    return 0
