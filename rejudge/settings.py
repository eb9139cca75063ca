"""The one place that reads the environment.

Nothing here imports more than the standard library: a command that only prints help pays for it too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from rejudge.errors import UsageError

FOLDER = ".rejudge"
"""The project's own folder, in the current one."""

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})
_SECRET_WORDS = ("password", "passwd", "secret", "token", "key", "sslpassword")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything rejudge takes from its surroundings, read once."""

    folder: Path
    """The project's folder: the default database and what belongs to it."""
    database_url: str
    """Where sessions and evaluations are kept; may hold a password: show it `masked`."""
    home: Path
    """The user's folder: the local Prefect server, one for all projects."""
    prefect_home: Path
    """Prefect's own folder, with its own database."""
    prefect_api_url: str | None
    """A Prefect API that the user named; None: find or start the local one."""
    ephemeral: bool
    """True: no background server but Prefect's temporary one, as long as the command (the default in CI)."""
    workers: int
    """Evaluator processes at once."""
    deployment: str | None
    """The deployment that ``--detach`` hands work to; None: the one served for this database."""
    receive_token: str | None = field(default=None, repr=False)
    """The bearer token that `rejudge receive` asks for; None: none."""
    otlp_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the OpenTelemetry variable says is to be sent with every export."""

    @property
    def is_default_database(self) -> bool:
        """True where the database is the SQLite file of the current folder."""
        return self.database_url == default_database_url(self.folder)


_PROXIES: Final = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
_THIS_MACHINE: Final = ("127.0.0.1", "localhost")


def current(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings as the environment has them now.

    ``REJUDGE_DATABASE_URL`` (else SQLite in ``.rejudge/`` of the current folder), ``REJUDGE_HOME`` (else the
    user's data folder), ``REJUDGE_EPHEMERAL`` (else ``CI``), ``REJUDGE_WORKERS`` (else the processors there
    are, at most 8), ``REJUDGE_DEPLOYMENT``, ``REJUDGE_RECEIVE_TOKEN``,
    Prefect's own ``PREFECT_API_URL`` and ``PREFECT_HOME``, and ``OTEL_EXPORTER_OTLP_HEADERS``.

    Args:
        environment: Instead of the process's own.

    Raises:
        UsageError: For a value that cannot be read, with its name.
    """
    environ = os.environ if environment is None else environment
    folder = Path.cwd() / FOLDER
    home = Path(environ.get("REJUDGE_HOME") or _user_data_folder(environ)).expanduser().absolute()
    ci = _flag(environ, "CI", lenient=True)
    return Settings(
        folder=folder,
        database_url=environ.get("REJUDGE_DATABASE_URL") or default_database_url(folder),
        home=home,
        prefect_home=Path(environ.get("PREFECT_HOME") or home / "prefect").expanduser().absolute(),
        prefect_api_url=environ.get("PREFECT_API_URL") or None,
        ephemeral=_flag(environ, "REJUDGE_EPHEMERAL") if "REJUDGE_EPHEMERAL" in environ else ci,
        workers=_count(environ, "REJUDGE_WORKERS", default=min(_processors(), 8)),
        deployment=environ.get("REJUDGE_DEPLOYMENT") or None,
        receive_token=environ.get("REJUDGE_RECEIVE_TOKEN") or None,
        otlp_headers=_headers(environ.get("OTEL_EXPORTER_OTLP_HEADERS", "")),
    )


def default_database_url(folder: Path) -> str:
    """The SQLite file in a project's folder, as a URL."""
    return f"sqlite:///{folder / 'rejudge.db'}"


def put_defaults(variables: Mapping[str, str]) -> None:
    """Set environment variables that are not set yet: what the user chose stays."""
    for name, value in variables.items():
        os.environ.setdefault(name, value)


def put(variables: Mapping[str, str]) -> None:
    """Set environment variables of this process, whatever they were."""
    os.environ.update(variables)


def without_proxy(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables under which programs reach this machine's own servers directly; none where no proxy is set.

    Prefect's server, an agent's tape and a receiver listen on 127.0.0.1, and no proxy elsewhere leads there.

    Args:
        environment: As it is without them; what it exempts from its proxy already stays exempted.
    """
    if not any(environment.get(name) for name in _PROXIES):
        return {}
    kept = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    exempted = [part.strip() for part in kept.split(",") if part.strip()]
    if "*" in exempted:
        return {}
    value = ",".join(dict.fromkeys([*exempted, *_THIS_MACHINE]))
    return {"no_proxy": value, "NO_PROXY": value}


def reach_this_machine() -> None:
    """Set the variables of `without_proxy` for this process, and so for the ones it starts."""
    os.environ.update(without_proxy(os.environ))


def is_set(name: str) -> bool:
    """Whether an environment variable is set, to whatever."""
    return name in os.environ


def drop(*names: str) -> None:
    """Unset environment variables of this process."""
    for name in names:
        os.environ.pop(name, None)


def environment_with(
    variables: Mapping[str, str], *, without: tuple[str, ...] = (), set_to: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment for a child process.

    Args:
        variables: Defaults, for what is not set here.
        without: Names to leave out.
        set_to: Values that hold whatever is set here.
    """
    kept = {name: value for name, value in os.environ.items() if name not in without}
    return {**variables, **kept, **(set_to or {})}


def masked(url: str) -> str:
    """A URL that can be shown: its password, and what looks like a secret in its query, replaced by ``***``.

    Example:
        >>> masked("postgresql://ann:s3cret@db.example/rejudge?sslpassword=x")
        'postgresql://ann:***@db.example/rejudge?sslpassword=***'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "***"
    host = parts.netloc
    if "@" in host:
        user, _, address = host.rpartition("@")
        name, colon, _ = user.partition(":")
        host = f"{name}:***@{address}" if colon else f"{name}@{address}"
    query = parts.query
    if query:
        pairs = parse_qsl(query, keep_blank_values=True)
        shown = [(name, "***" if _is_secret(name) else value) for name, value in pairs]
        query = urlencode(shown, quote_via=quote, safe="*/")
    # urlunsplit would drop the empty host of sqlite:///path.
    tail = f"{parts.path}{'?' + query if query else ''}{'#' + parts.fragment if parts.fragment else ''}"
    return f"{parts.scheme}://{host}{tail}" if "://" in url else urlunsplit(("", "", tail, "", ""))


def _is_secret(name: str) -> bool:
    lowered = name.lower()
    return any(word in lowered for word in _SECRET_WORDS)


def _user_data_folder(environ: Mapping[str, str]) -> Path:
    home = Path(environ.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "rejudge"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "rejudge"


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def _flag(environ: Mapping[str, str], name: str, *, lenient: bool = False) -> bool:
    value = environ.get(name, "").strip().lower()
    if value in _TRUE or (lenient and value not in _FALSE):
        return True
    if value in _FALSE:
        return False
    mend = f"set {name}=1 or {name}=0"
    raise UsageError(f"{name} is {environ[name]!r}, which is neither true nor false", mend=mend)


def _headers(text: str) -> dict[str, str]:
    """``name=value,name=value``, values percent-encoded, as OpenTelemetry's exporters read them."""
    pairs = (pair.partition("=") for pair in text.split(","))
    return {name.strip().lower(): unquote(value).strip() for name, equals, value in pairs if equals and name.strip()}


def _count(environ: Mapping[str, str], name: str, *, default: int) -> int:
    value = environ.get(name)
    if not value:
        return default
    if not value.isascii() or not value.isdecimal() or int(value) < 1:
        mend = f"unset it, or set {name}={default}"
        raise UsageError(f"{name} is {value!r}, not a number of 1 or more", mend=mend)
    return int(value)
