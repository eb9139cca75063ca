"""Names of our own span attributes, as `rejudge.models.attributes` has them."""

from rejudge.models.attributes import INPUTS, OUTPUTS, SCOPE

__all__ = ["INPUTS", "OUTPUTS", "SCOPE"]
