"""The OTLP/HTTP receiver: an endpoint that stores requests in a spool, and a thread that turns them into sessions."""

from rejudge.otel.receiver.app import BODY_BYTES, Rules, make_app
from rejudge.otel.receiver.drain import Drain
from rejudge.otel.receiver.holding import Covered, Holding
from rejudge.otel.receiver.serving import Serving, bind
from rejudge.otel.receiver.spool import Spool

__all__ = ["BODY_BYTES", "Covered", "Drain", "Holding", "Rules", "Serving", "Spool", "bind", "make_app"]
