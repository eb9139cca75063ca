"""Serving an application on a socket, in a thread: signals stay the main thread's."""

from __future__ import annotations

import socket
import threading
import time
from typing import Final, Self

import uvicorn
from starlette.types import ASGIApp

from rejudge.errors import UsageError

_BACKLOG: Final = 2048
_START_SECONDS: Final = 30.0
_GRACE_SECONDS: Final = 5


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any that is free.

    Raises:
        UsageError: Where the address is taken or is not this machine's.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port}: {error.strerror or error}", mend="name another --host or --port"
        ) from error


class Serving:
    """An HTTP server in a thread of its own.

    Args:
        app: The application.
        listener: A socket from `bind`; closed when the server ends.
    """

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            backlog=_BACKLOG,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        host, port = listener.getsockname()[:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._server = uvicorn.Server(config)
        self._listener = listener
        self._thread = threading.Thread(target=self._run, name="rejudge-receive-http", daemon=True)

    def start(self) -> Self:
        """Returns when requests are answered."""
        self._thread.start()
        deadline = time.monotonic() + _START_SECONDS
        while not self._server.started and self._thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        if not self._server.started:
            raise UsageError(f"the receiver did not start at {self.url}", mend="see its log for the reason")
        return self

    @property
    def alive(self) -> bool:
        """False once the server has ended."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Answers what is under way, then ends."""
        self._server.should_exit = True
        self._thread.join(_GRACE_SECONDS + 5)
        self._listener.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._listener])
