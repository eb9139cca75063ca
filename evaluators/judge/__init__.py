"""Typed questions to a model about a session: question files, views, fences, verdicts."""
