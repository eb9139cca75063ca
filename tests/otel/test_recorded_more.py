"""More recorded runs, one per trait that only some producers have; right is what the model server saw."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson
import pytest

from rejudge.models.session import SessionView
from rejudge.otel import assemble, read
from tests.otel.traces import ANSWERS, CHAT, DATA, joined, otlp, sessions_of, spans_in, wire_span

MORE = DATA.parent / "otlp_more"


class Right(NamedTuple):
    framework: str
    calls: int
    errors: int
    input_tokens: int | None
    output_tokens: int | None
    cached: int | None
    reasoning: int | None
    tools: tuple[str, ...]
    """Every tool call, told by a span or by messages alone."""


PAIR = ("get_weather", "convert_temperature")
THREE = ("get_weather", "get_weather", "convert_temperature")


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("ai_sdk6_parallel", Right("vercel-ai", 2, 0, 220, 25, 32, 6, THREE)),
        ("anthropic_oi", Right("anthropic", 2, 0, 220, 25, 32, None, THREE)),
        ("anthropic_tl", Right("anthropic", 2, 1, 100, 10, 16, None, ("get_weather",))),
        ("autogen_oi", Right("autogen", 2, 0, 220, 25, None, None, ("lookup_order",))),
        ("gemini_oi", Right("google-genai", 3, 0, 360, 45, 48, 9, PAIR)),
        ("lc_oi_dual_llmerr", Right("langchain", 2, 1, 100, 10, 16, 3, ("get_weather",))),
        ("lc_langfuse_anthropic", Right("langfuse", 3, 0, 360, 45, 48, None, PAIR)),
        ("llama_tl_toolerr", Right("llama-index", 2, 0, None, None, None, None, ("lookup_order",))),
        ("logfire_openai", Right("openai", 2, 0, 220, 25, 32, 6, THREE)),
        ("openlit_anthropic", Right("anthropic", 2, 1, 100, 10, 16, None, ("get_weather",))),
        ("openlit_langchain", Right("langchain", 3, 0, 360, 45, 48, None, PAIR)),
        ("responses_tl47", Right("openai", 2, 0, 220, 25, 32, 6, THREE)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_recorded_run_of_another_kind_gives_its_counts(name: str, right: Right) -> None:
    view = view_of_file(name)

    session = view.session
    assert right == Right(
        str(session.framework),
        session.llm_call_count,
        session.llm_error_count,
        session.input_tokens,
        session.output_tokens,
        session.cached_input_tokens,
        session.reasoning_tokens,
        tuple(str(node.tool_name) for node in view.tool_calls),
    )


def view_of_file(name: str) -> SessionView:
    batch = joined(read([MORE / f"{name}.pb"], refuse=lambda refusal: pytest.fail(str(refusal))))
    (recording,) = assemble(batch.spans, batch.logs)
    return recording.view


@pytest.mark.parametrize("name", ["autogen_oi", "llama_tl_toolerr"])
def test_a_tool_that_raised_has_failed_though_its_framework_caught_it(name: str) -> None:
    view = view_of_file(name)

    (tool,) = view.tool_calls
    assert (tool.status, tool.inputs) == ("failed", {"order_id": "A-1009"})
    assert str(tool.error).endswith("no such order A-1009")
    assert (view.session.tool_error_count, view.session.status) == (1, "completed")


def test_a_tool_output_of_llama_index_is_its_text() -> None:
    (tool,) = view_of_file("llama_tl_toolerr").tool_calls

    assert tool.outputs == "no such order A-1009"
    assert tool.tool_call_id is not None


def test_an_answer_without_an_id_is_found_by_its_place_in_the_history() -> None:
    tools = view_of_file("gemini_oi").tool_calls

    assert [(tool.inferred, tool.tool_call_id) for tool in tools] == [(True, None), (True, None)]
    assert [tool.outputs for tool in tools] == [{"result": "18.5 °C, light rain in Paris"}, {"result": "65.3 °F"}]


@pytest.mark.parametrize("name", ["anthropic_oi", "responses_tl47"])
def test_calls_at_once_are_tool_calls_of_one_answer(name: str) -> None:
    asked = view_of_file(name).llm_calls[0].outputs["messages"][-1]["parts"]

    assert [(part["type"], part["name"], part["arguments"]) for part in asked] == [
        ("tool_call", "get_weather", {"city": "Paris"}),
        ("tool_call", "get_weather", {"city": "Rome"}),
        ("tool_call", "convert_temperature", {"celsius": 18.5}),
    ]


def test_tools_that_started_in_the_same_millisecond_stand_as_they_were_asked_for() -> None:
    tools = view_of_file("ai_sdk6_parallel").tool_calls

    assert len({tool.started_at for tool in tools}) == 1
    assert [tool.inputs for tool in tools] == [{"city": "Paris"}, {"city": "Rome"}, {"celsius": 18.5}]


def test_the_finish_reason_that_only_the_answer_tells_is_the_call_s() -> None:
    calls = view_of_file("logfire_openai").llm_calls

    assert [call.finish_reason for call in calls] == ["tool_calls", "stop"]


def test_arguments_and_results_in_python_s_own_words_are_values() -> None:
    tools = view_of_file("openlit_langchain").tool_calls

    assert [tool.inputs for tool in tools] == [{"city": "Paris"}, {"celsius": 18.5}]
    assert [tool.outputs for tool in tools] == ["18.5 °C, light rain in Paris", "65.3 °F"]


def test_a_later_turn_in_a_session_of_its_own_began_with_its_own_question() -> None:
    answer = next(answer for answer in ANSWERS if answer["run"] == "openai_v2__multi")

    asked = [recording.view.session.inputs for recording in sessions_of(*answer["files"])]

    assert len(set(asked)) == 3


LONG: dict[str, Any] = {"startTimeUnixNano": "1790000000000000000", "endTimeUnixNano": "1790000009000000000"}
BROKEN: dict[str, Any] = {"status": {"code": 2, "message": "overloaded"}}


def calls_in(*requests: dict[str, Any]) -> tuple[int, int]:
    spans = [span for request in requests for span in spans_in_request(request)]
    (recording,) = assemble(spans)
    return recording.view.session.llm_call_count, recording.view.session.llm_error_count


def spans_in_request(request: dict[str, Any]) -> list[Any]:
    return spans_in(orjson.dumps(request)).spans


def test_two_reports_beside_each_other_of_one_failed_call_are_one() -> None:
    root = otlp(wire_span(1, attributes={}, **LONG))
    outer = otlp(wire_span(2, parent=1, attributes=CHAT, **LONG, **BROKEN), scope="an instrumentation")
    inner = otlp(wire_span(3, parent=1, attributes=CHAT, **BROKEN), scope="a vendor's SDK")
    other = otlp(wire_span(4, parent=1, attributes={**CHAT, "gen_ai.request.model": "o3"}, **BROKEN), scope="third")
    again = otlp(wire_span(5, parent=1, attributes=CHAT, **BROKEN), scope="an instrumentation")

    assert calls_in(root, outer, inner) == (1, 1)
    assert calls_in(root, outer, other) == (2, 2)
    assert calls_in(root, outer, again) == (2, 2)


def test_two_calls_at_once_that_counted_differently_are_two() -> None:
    root = otlp(wire_span(1, attributes={}, **LONG))
    first = otlp(wire_span(2, parent=1, attributes={**CHAT, "gen_ai.usage.input_tokens": 10}, **LONG), scope="one")
    second = otlp(wire_span(3, parent=1, attributes={**CHAT, "gen_ai.usage.input_tokens": 12}), scope="two")

    assert calls_in(root, first, second) == (2, 0)
