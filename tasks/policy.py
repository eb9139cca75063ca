"""Every retry, timeout and limit of the flows, once."""

from __future__ import annotations

from typing import Final

CHUNK_SECONDS: Final = 3.0
"""What a chunk of scorings aims to take: long beside the 35 ms of a task run, short beside a person's patience."""
FIRST_CHUNK_SESSIONS: Final = 50
"""Sessions in the first chunk, before anything was measured."""
DRAGGING_CHUNK_SESSIONS: Final = 10
"""Sessions in the chunks that start beside a first one which takes long."""
CHUNK_SESSIONS_MAX: Final = 500
"""Sessions in a chunk at most: what is lost when the machine goes down, and what is held in memory."""
SLOW_CHUNK_SESSIONS: Final = 15
"""Sessions in a chunk of evaluators that declare themselves slow."""
SLOW_AT_ONCE: Final = 8
"""Sessions in flight in a chunk of slow evaluators, where no global limit says less."""
SLOT_SECONDS: Final = 5.0
"""How long one attempt at a slot of a global limit waits, before it is looked whether anybody still wants it."""
TASK_RUNS_MAX: Final = 2_000
"""Task runs in one flow run at most: past some 3,400 waiting ones Prefect's server drops their states."""

ESCALATIONS_MAX: Final = 200
"""Scorings of one evaluator that get a task run of their own: when a backend is down, all of them fail."""
ESCALATIONS_IN_ALL: Final = 600
"""Escalated scorings of one flow run, whatever the number of evaluators."""
ESCALATION_WAVE: Final = 16
"""Escalated scorings of one evaluator at once; where none of a wave comes right, the rest is not tried."""
THREADS: Final = 16
"""Threads of a flow's task runner: a task run that waits out its delay holds one."""
CHUNK_RETRIES: Final = 2
"""Attempts after the first at a chunk whose database could not be used; what evaluators do is no failure of it."""
REPLAY_RETRIES: Final = 2
"""Attempts after the first at a replay whose process or database failed; what the agent does is its result."""
REPLAY_TASK_RUNS_MAX: Final = 1_000
"""Task runs that an experiment run's replays are spread over."""
RETRIES: Final = 3
"""Attempts after the first at one escalated scoring, for what may work another time."""
RETRY_BASE_SECONDS: Final = 0.5
"""The first delay."""
RETRY_DELAYS: Final = (1.0, 2.0, 4.0)
"""The delays after it, each twice the one before."""
RETRY_DELAY_MAX: Final = 60.0
"""Seconds between two attempts at most, whatever the backend asked for."""
RETRY_JITTER: Final = 0.3
"""How much longer a delay may be, at random, so that what failed together does not return together."""

LOOK_SECONDS: Final = 0.5
"""Between two looks at how a batch gets on, where nothing ended in between."""
PROGRESS_SECONDS: Final = 1.0
"""Between two updates of the progress artifact: each is a request to the server."""
TABLE_ROWS_MAX: Final = 200
"""Rows of a table artifact: more is not readable there, and the rows themselves are in our database."""

CANCEL_SECONDS: Final = 3.0
"""Between two looks whether somebody canceled the run of a command at Prefect: each is a request to the server."""

UNSCORED_TOLD: Final = 50
"""Scorings without a score that are told one by one in the log of a run's page."""
LINE_CHARACTERS: Final = 1_000
"""Of a line in that log."""

LABEL_SECONDS: Final = 24 * 3600
"""How long a paused run waits for a person's answer."""

DRAIN_SECONDS: Final = 60.0
"""How long a command with Prefect's temporary server waits until everything it did is recorded there."""
SERVED_WITHIN_SECONDS: Final = 90.0
"""A deployment nobody asked for work within this time is not served."""
