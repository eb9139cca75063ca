"""Comparisons, gates and calibrations made readable."""
