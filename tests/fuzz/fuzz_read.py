"""Fuzz `rejudge.otel.read` and the assembly behind it: nothing that a file holds may raise."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["rejudge"]):
    from rejudge.otel import assemble, read_bytes
    from rejudge.otel.packing import pack, unpack


def one_file(data: bytes) -> None:
    """Read some bytes as a trace file, and make sessions of what is in them."""
    spans, records = [], []
    for batch in read_bytes(data, refuse=str):
        spans += batch.spans
        records += batch.logs
    for recording in assemble(spans, records):
        for record in (recording.view.session, *recording.view.nodes):
            record.decoded().model_dump_json().encode()
    unpack(pack(spans, records))


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_file)
    atheris.Fuzz()
