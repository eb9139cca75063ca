"""The command line: one file per noun, thin, heavy imports inside the commands."""

from rejudge.cli.program import main

__all__ = ["main"]
