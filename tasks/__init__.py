"""Prefect tasks: what is retried, limited and shown as one thing."""
