"""Arguments and results of LangChain's tools, as its tracers write them."""

from __future__ import annotations

from rejudge.otel.asked import Asked

from .traces import sessions_of


def test_a_tools_bare_argument_is_the_argument_that_the_model_asked_for() -> None:
    [recording] = sessions_of("lc_oi/tools2.traces.00.pb")
    calls = [(node.tool_name, node.inputs, node.outputs) for node in recording.view.tool_calls]
    assert calls == [
        ("get_weather", {"city": "Paris"}, "18.5 °C, light rain in Paris"),
        ("convert_temperature", {"celsius": 18.5}, "65.3 °F"),
    ]
    assert all(node.tool_call_id for node in recording.view.tool_calls)


def test_a_value_that_nobody_asked_for_stays_as_it_is() -> None:
    message = {"parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"q": "a", "n": 1}}]}
    call = {"node_type": "tool_call", "inputs": "a", "outputs": None, "tool_name": "look", "tool_call_id": None}
    Asked([message]).restore(call)
    assert call["inputs"] == "a"
