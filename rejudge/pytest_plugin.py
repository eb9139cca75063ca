"""The pytest plugin: registered by the entry point of that name, so it is there wherever rejudge is."""
