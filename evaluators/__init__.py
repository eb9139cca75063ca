"""The built-in evaluators, one a file."""
