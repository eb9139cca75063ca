"""First schema"""

import sqlalchemy as sa
from alembic import op

from rejudge.store.types import Json, Money, UtcDateTime

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "agent",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent")),
        sa.UniqueConstraint("name", name=op.f("uq_agent_name")),
    )
    op.create_table(
        "counter",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_counter")),
    )
    op.create_table(
        "evaluator",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("name", sa.String(length=511), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("deleted_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluator")),
        sa.UniqueConstraint("name", name=op.f("uq_evaluator_name")),
    )
    op.create_table(
        "experiment",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("spec", Json(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiment")),
        sa.UniqueConstraint("name", name=op.f("uq_experiment_name")),
    )
    op.create_table(
        "pack",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_pack")),
    )
    op.create_table(
        "agent_version",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("agent_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("spec", Json(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_agent_version_agent_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_version")),
        sa.UniqueConstraint("agent_id", "digest", name=op.f("uq_agent_version_agent_id_digest")),
        sa.UniqueConstraint("agent_id", "number", name=op.f("uq_agent_version_agent_id_number")),
    )
    op.create_table(
        "cohort",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("agent_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_cohort_agent_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cohort")),
        sa.UniqueConstraint("name", name=op.f("uq_cohort_name")),
    )
    op.create_table(
        "evaluator_version",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("evaluator_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("spec", Json(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["evaluator_id"], ["evaluator.id"], name=op.f("fk_evaluator_version_evaluator_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluator_version")),
        sa.UniqueConstraint(
            "evaluator_id", "fingerprint", name=op.f("uq_evaluator_version_evaluator_id_fingerprint")
        ),
        sa.UniqueConstraint("evaluator_id", "number", name=op.f("uq_evaluator_version_evaluator_id_number")),
    )
    op.create_table(
        "session",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("agent_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("agent_version", sa.Integer(), nullable=True),
        sa.Column("external_id", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(), nullable=True),
        sa.Column("framework", sa.String(), nullable=True),
        sa.Column("user_id", sa.String(), nullable=True),
        sa.Column("started_at", UtcDateTime(), nullable=True),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("llm_call_count", sa.Integer(), nullable=False),
        sa.Column("llm_error_count", sa.Integer(), nullable=False),
        sa.Column("tool_call_count", sa.Integer(), nullable=False),
        sa.Column("tool_error_count", sa.Integer(), nullable=False),
        sa.Column("node_count", sa.Integer(), nullable=False),
        sa.Column("tool_names", Json(), nullable=True),
        sa.Column("agents", Json(), nullable=True),
        sa.Column("models", Json(), nullable=True),
        sa.Column("providers", Json(), nullable=True),
        sa.Column("input_tokens", sa.Integer(), nullable=True),
        sa.Column("output_tokens", sa.Integer(), nullable=True),
        sa.Column("cached_input_tokens", sa.Integer(), nullable=True),
        sa.Column("reasoning_tokens", sa.Integer(), nullable=True),
        sa.Column("cost", Money(), nullable=True),
        sa.Column("cost_status", sa.String(length=16), nullable=True),
        sa.Column("recorded_cost", Money(), nullable=True),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("parent_session_id", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_session_agent_id")),
        sa.ForeignKeyConstraint(["parent_session_id"], ["session.id"], name=op.f("fk_session_parent_session_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session")),
        sa.UniqueConstraint("agent_id", "external_id", "source", name=op.f("uq_session_agent_id_external_id_source")),
        sa.UniqueConstraint("number", name=op.f("uq_session_number")),
    )
    with op.batch_alter_table("session", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_session_parent_session_id"), ["parent_session_id"], unique=False)
        batch_op.create_index("session_by_start", ["started_at"], unique=False)

    op.create_table(
        "cohort_version",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("cohort_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("selection", sa.String(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["cohort_id"], ["cohort.id"], name=op.f("fk_cohort_version_cohort_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cohort_version")),
        sa.UniqueConstraint("cohort_id", "number", name=op.f("uq_cohort_version_cohort_id_number")),
    )
    op.create_table(
        "node",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("node_type", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("parent_id", sa.String(), nullable=True),
        sa.Column("link_ids", Json(), nullable=True),
        sa.Column("trace_id", sa.String(), nullable=True),
        sa.Column("started_at", UtcDateTime(), nullable=True),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("tool_name", sa.String(), nullable=True),
        sa.Column("tool_call_id", sa.String(), nullable=True),
        sa.Column("agent_name", sa.String(), nullable=True),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("requested_model", sa.String(), nullable=True),
        sa.Column("provider", sa.String(), nullable=True),
        sa.Column("response_id", sa.String(), nullable=True),
        sa.Column("finish_reason", sa.String(), nullable=True),
        sa.Column("input_tokens", sa.BigInteger(), nullable=True),
        sa.Column("output_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cached_input_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cache_write_tokens", sa.BigInteger(), nullable=True),
        sa.Column("reasoning_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cost", Money(), nullable=True),
        sa.Column("cost_status", sa.String(length=16), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("error_type", sa.String(), nullable=True),
        sa.Column("inferred", sa.Boolean(), nullable=False),
        sa.Column("incomplete", sa.String(), nullable=True),
        sa.Column("payload_ref", sa.BigInteger(), nullable=True),
        sa.Column("attributes_ref", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_node_session_id")),
        sa.PrimaryKeyConstraint("session_id", "position", name=op.f("pk_node")),
    )
    op.create_table(
        "scoring",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("identity", sa.String(length=32), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("superseded", sa.Boolean(), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_digest", sa.String(length=64), nullable=False),
        sa.Column("evaluator", sa.String(), nullable=False),
        sa.Column("evaluator_version", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("params", Json(), nullable=True),
        sa.Column("params_digest", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("retryable", sa.Boolean(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=True),
        sa.Column("duration_seconds", sa.Float(), nullable=True),
        sa.Column("cost", Money(), nullable=True),
        sa.Column("flow_run_id", sa.String(length=36), nullable=True),
        sa.Column("task_run_id", sa.String(length=36), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_scoring_session_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scoring")),
        sa.UniqueConstraint("identity", "sequence", name=op.f("uq_scoring_identity_sequence")),
    )
    with op.batch_alter_table("scoring", schema=None) as batch_op:
        batch_op.create_index("scoring_by_flow_run", ["flow_run_id"], unique=False)
        batch_op.create_index("scoring_by_session", ["session_id"], unique=False)

    op.create_table(
        "session_pack",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["digest"], ["pack.digest"], name=op.f("fk_session_pack_digest")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_session_pack_session_id")),
        sa.PrimaryKeyConstraint("session_id", "position", name=op.f("pk_session_pack")),
    )
    with op.batch_alter_table("session_pack", schema=None) as batch_op:
        batch_op.create_index("session_pack_by_digest", ["digest"], unique=False)

    op.create_table(
        "session_source",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("spans", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_session_source_session_id")),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_session_source")),
    )
    op.create_table(
        "session_trace",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("trace_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_session_trace_session_id")),
        sa.PrimaryKeyConstraint("session_id", "trace_id", name=op.f("pk_session_trace")),
    )
    with op.batch_alter_table("session_trace", schema=None) as batch_op:
        batch_op.create_index("session_trace_by_trace", ["trace_id"], unique=False)

    op.create_table(
        "tag",
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_tag_session_id")),
        sa.PrimaryKeyConstraint("session_id", "name", name=op.f("pk_tag")),
    )
    with op.batch_alter_table("tag", schema=None) as batch_op:
        batch_op.create_index("tag_by_name", ["name"], unique=False)

    op.create_table(
        "cohort_member",
        sa.Column("cohort_version_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.ForeignKeyConstraint(
            ["cohort_version_id"], ["cohort_version.id"], name=op.f("fk_cohort_member_cohort_version_id")
        ),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_cohort_member_session_id")),
        sa.PrimaryKeyConstraint("cohort_version_id", "position", name=op.f("pk_cohort_member")),
    )
    op.create_table(
        "evaluation",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("scoring_id", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("evaluator", sa.String(), nullable=True),
        sa.Column("evaluator_version", sa.Integer(), nullable=True),
        sa.Column("fingerprint", sa.String(length=64), nullable=True),
        sa.Column("params", Json(), nullable=True),
        sa.Column("params_digest", sa.String(length=64), nullable=True),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("data_type", sa.String(length=16), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("value", sa.String(), nullable=True),
        sa.Column("passed", sa.Boolean(), nullable=True),
        sa.Column("explanation", sa.String(), nullable=True),
        sa.Column("evidence", Json(), nullable=True),
        sa.Column("min_score", sa.Float(), nullable=True),
        sa.Column("max_score", sa.Float(), nullable=True),
        sa.Column("target_score", sa.Float(), nullable=True),
        sa.Column("direction", sa.String(length=8), nullable=False),
        sa.Column("unscored", sa.String(), nullable=True),
        sa.Column("cost", Money(), nullable=True),
        sa.Column("input_tokens", sa.Integer(), nullable=True),
        sa.Column("output_tokens", sa.Integer(), nullable=True),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("author", sa.String(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["scoring_id"], ["scoring.id"], name=op.f("fk_evaluation_scoring_id")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_evaluation_session_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluation")),
    )
    with op.batch_alter_table("evaluation", schema=None) as batch_op:
        batch_op.create_index("evaluation_by_scoring", ["scoring_id"], unique=False)
        batch_op.create_index("evaluation_by_session", ["session_id"], unique=False)
        batch_op.create_index(
            "label_name_in_session",
            ["session_id", "name"],
            unique=True,
            sqlite_where=sa.text("scoring_id IS NULL"),
            postgresql_where=sa.text("scoring_id IS NULL"),
        )

    op.create_table(
        "experiment_run",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("experiment_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("cohort_version_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("agent_version", sa.Integer(), nullable=False),
        sa.Column("spec", Json(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("summary", Json(), nullable=True),
        sa.Column("flow_run_id", sa.String(length=36), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["cohort_version_id"], ["cohort_version.id"], name=op.f("fk_experiment_run_cohort_version_id")
        ),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiment.id"], name=op.f("fk_experiment_run_experiment_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiment_run")),
        sa.UniqueConstraint("experiment_id", "number", name=op.f("uq_experiment_run_experiment_id_number")),
    )
    op.create_table(
        "replay",
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("identity", sa.String(length=64), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("baseline_session_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("result_session_id", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("experiment_run_id", sa.Uuid(as_uuid=False), nullable=True),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("agent_version", sa.Integer(), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column("plan", Json(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("result", Json(), nullable=True),
        sa.Column("owner", sa.String(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=True),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("flow_run_id", sa.String(length=36), nullable=True),
        sa.ForeignKeyConstraint(["baseline_session_id"], ["session.id"], name=op.f("fk_replay_baseline_session_id")),
        sa.ForeignKeyConstraint(
            ["experiment_run_id"], ["experiment_run.id"], name=op.f("fk_replay_experiment_run_id")
        ),
        sa.ForeignKeyConstraint(["result_session_id"], ["session.id"], name=op.f("fk_replay_result_session_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_replay")),
        sa.UniqueConstraint("identity", "sequence", name=op.f("uq_replay_identity_sequence")),
        sa.UniqueConstraint("number", name=op.f("uq_replay_number")),
    )
    with op.batch_alter_table("replay", schema=None) as batch_op:
        batch_op.create_index("replay_by_baseline", ["baseline_session_id"], unique=False)
        batch_op.create_index("replay_by_run", ["experiment_run_id"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("replay", schema=None) as batch_op:
        batch_op.drop_index("replay_by_run")
        batch_op.drop_index("replay_by_baseline")

    op.drop_table("replay")
    op.drop_table("experiment_run")
    with op.batch_alter_table("evaluation", schema=None) as batch_op:
        batch_op.drop_index(
            "label_name_in_session",
            sqlite_where=sa.text("scoring_id IS NULL"),
            postgresql_where=sa.text("scoring_id IS NULL"),
        )
        batch_op.drop_index("evaluation_by_session")
        batch_op.drop_index("evaluation_by_scoring")

    op.drop_table("evaluation")
    op.drop_table("cohort_member")
    with op.batch_alter_table("tag", schema=None) as batch_op:
        batch_op.drop_index("tag_by_name")

    op.drop_table("tag")
    with op.batch_alter_table("session_trace", schema=None) as batch_op:
        batch_op.drop_index("session_trace_by_trace")

    op.drop_table("session_trace")
    op.drop_table("session_source")
    with op.batch_alter_table("session_pack", schema=None) as batch_op:
        batch_op.drop_index("session_pack_by_digest")

    op.drop_table("session_pack")
    with op.batch_alter_table("scoring", schema=None) as batch_op:
        batch_op.drop_index("scoring_by_session")
        batch_op.drop_index("scoring_by_flow_run")

    op.drop_table("scoring")
    op.drop_table("node")
    op.drop_table("cohort_version")
    with op.batch_alter_table("session", schema=None) as batch_op:
        batch_op.drop_index("session_by_start")
        batch_op.drop_index(batch_op.f("ix_session_parent_session_id"))

    op.drop_table("session")
    op.drop_table("evaluator_version")
    op.drop_table("cohort")
    op.drop_table("agent_version")
    op.drop_table("pack")
    op.drop_table("experiment")
    op.drop_table("evaluator")
    op.drop_table("counter")
    op.drop_table("agent")
