"""Handing work to a deployment that is served, by `rejudge up` or by a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rejudge import server, settings
from rejudge.errors import UsageError
from rejudge.models.requests import IDS_LIMIT, Request
from rejudge.served import deployment_name
from rejudge.tasks import policy
from rejudge.tasks.reaching import reaching

if TYPE_CHECKING:
    from prefect.client.schemas.responses import DeploymentResponse


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A flow run that a deployment was asked for."""

    id: str
    name: str
    url: str


def hand_over(flow: str, request: Request) -> HandedOver:
    """Ask the served deployment of a flow for a run, and do not wait.

    Args:
        flow: The flow's name, such as ``evaluate-sessions``.

    Raises:
        UsageError: Where nothing serves it: a run that waits for ever is not made.
        ServerUnreachable: Where Prefect's server does not answer.
    """
    _refuse_too_many_ids(request)
    chosen = settings.current()
    api_url = chosen.prefect_api_url
    if api_url is None:
        local = server.find(chosen)
        if local is None:
            raise UsageError("nothing serves deployments here: no local Prefect server is up", mend=_MEND)
        api_url = local.api_url
    settings.put_defaults(server.variables(chosen))
    settings.put({"PREFECT_API_URL": api_url})
    name = f"{flow}/{chosen.deployment or deployment_name(chosen)}"

    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound

    with reaching(api_url), get_client(sync_client=True) as client:
        try:
            deployment = client.read_deployment_by_name(name)
        except ObjectNotFound as error:
            raise UsageError(f"there is no deployment {name!r}", mend=_MEND) from error
        if not _is_served(deployment):
            raise UsageError(f"the deployment {name!r} is served by nothing now", mend=_MEND)
        # By alias: the deployment holds parameters to the schema that names them so.
        parameters = {"request": request.model_dump(mode="json", by_alias=True)}
        run = client.create_flow_run_from_deployment(deployment.id, parameters=parameters)
    return HandedOver(str(run.id), run.name, f"{api_url.rstrip('/').removesuffix('/api')}/runs/flow-run/{run.id}")


_MEND = "start it with `rejudge up`, or leave out --detach"


def _is_served(deployment: DeploymentResponse) -> bool:
    from datetime import UTC, datetime

    status = deployment.status
    if status is None or status.value != "READY":
        return False
    polled = deployment.last_polled
    return polled is None or (datetime.now(UTC) - polled).total_seconds() < policy.SERVED_WITHIN_SECONDS


def _refuse_too_many_ids(request: Request) -> None:
    ids = getattr(getattr(request, "selection", None), "ids", None)
    if ids is not None and len(ids) > IDS_LIMIT:
        raise UsageError(
            f"{len(ids):,} session ids are too many to hand over",
            mend="tag them with `rejudge session tag`, and name the tag",
        )
