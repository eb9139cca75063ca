"""Request bodies as strangers send them: compressed or not, protobuf or JSON. For `make fuzz`."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["rejudge"]):
    from rejudge.otel.receiver.decoding import inspect
    from rejudge.otel.receiver.encoding import decompress
    from rejudge.otel.receiver.refused import Refused

ENCODINGS = ("", "gzip", "deflate", "zstd")
LIMIT = 1_000_000


def one_request(data: bytes) -> None:
    """Anything but a verdict or a refusal is a finding."""
    if not data:
        return
    choice, body = data[0], data[1:]
    try:
        content = decompress(body, ENCODINGS[choice & 3], limit=LIMIT)
        inspect(content, "logs" if choice & 4 else "traces", "json" if choice & 8 else "protobuf")
    except Refused:
        return


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_request)
    atheris.Fuzz()
