"""Benchmarks: seeded traces, and what rejudge spends on them beside a bare loop over the same rows."""
