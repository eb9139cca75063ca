"""rejudge from Python: the same nouns and verbs as the command line."""

from rejudge.api.store import Store, open

__all__ = ["Store", "open"]
