"""The error tree.

RejudgeError                    anything rejudge refuses, with a mend; ``exit_code`` 2
├── UsageError                  a call or a configuration that cannot work (2)
├── Incomplete                  a verdict that could not be reached (3)
├── NotFound                    a name or id that is not there, or a selection that matched nothing (4)
├── Conflict                    something of that identity exists already (5)
├── PartialFailure              some of the work failed, the rest is stored (8)
├── StoreError                  the database cannot be used as it is (2)
│   └── StoreUnreachable        its server does not answer, or its disk is full (8)
├── ServerUnreachable           Prefect's server does not answer, or refuses (8)
└── ReplayError                 a replay that cannot be run, or ended without a result (8)

EvaluatorSignal                 raised by evaluators, the error contract: it ends one scoring, never a batch
├── MissingInput                a field the metric needs was not there; never retried
├── NotSupported                the evaluator cannot do what was asked of it; never retried
└── EvaluationError             a configured backend failed to produce a score; retried unless told otherwise

RecordedToolError               raised inside a replayed agent: the recorded failure of a call, or (NoRecordedAnswer)
└── NoRecordedAnswer            that nothing was recorded for it and the policy says the agent is to cope

ReplayEnded                     raised inside a replayed agent to end the replay; no `except Exception` holds it
"""

from __future__ import annotations


class RejudgeError(Exception):
    """Anything rejudge refuses. ``message`` says what, ``mend`` says what to do about it."""

    exit_code = 2

    def __init__(self, message: str, *, mend: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.mend = mend


class UsageError(RejudgeError):
    """A call or a configuration that cannot work."""


class Incomplete(RejudgeError):
    """A verdict could not be reached: too little was there to judge."""

    exit_code = 3


class NotFound(RejudgeError):
    """A name or an id is not there, or a selection matched nothing."""

    exit_code = 4


class Conflict(RejudgeError):
    """Something of that identity exists already; nothing was changed."""

    exit_code = 5


class PartialFailure(RejudgeError):
    """Some of the work failed; everything else is stored."""

    exit_code = 8


class StoreError(RejudgeError):
    """The database cannot be used as it is."""


class StoreUnreachable(StoreError):
    """The database's server does not answer, or its disk is full; what was finished is stored."""

    exit_code = 8


class ServerUnreachable(RejudgeError):
    """Prefect's server does not answer, or refuses; what was finished is stored."""

    exit_code = 8


class ReplayError(RejudgeError):
    """A replay cannot be run, or ended without a result."""

    exit_code = 8


class EvaluatorSignal(Exception):
    """Root of what an evaluator raises to say that it cannot score."""


class MissingInput(EvaluatorSignal):
    """A field that the metric needs was not there. Never retried."""


class NotSupported(EvaluatorSignal):
    """The evaluator cannot do what was asked of it. Never retried."""


class EvaluationError(EvaluatorSignal):
    """A configured backend failed to produce a score.

    Args:
        message: What failed, for the person who reads the row.
        retryable: False where another attempt cannot help (missing credentials, a refused request).
        retry_after: Seconds the backend asked to wait before the next attempt.
    """

    def __init__(self, message: str = "", *, retryable: bool = True, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after


class RecordedToolError(Exception):
    """A recorded failure, raised again in a replay where its own class cannot be.

    Args:
        message: The recorded text.
        recorded_type: The recorded class, as it was written down.
    """

    def __init__(self, message: str = "", *, recorded_type: str | None = None) -> None:
        super().__init__(message)
        self.recorded_type = recorded_type


class NoRecordedAnswer(RecordedToolError):
    """Nothing was recorded for this call, and the policy (``on_miss=error_result``) lets the agent cope with it."""

    request: object = None
    """The request to a model that was refused, with the override in it."""


class ReplayEnded(BaseException):
    """The replay is over: a call was made that nothing answers, or the fork diverged before its fork point.

    A BaseException, like KeyboardInterrupt: an agent that catches every Exception must not go on with its
    tools unanswered.
    """

    request: object = None
    """The request to a model that ended it, with the override in it."""
