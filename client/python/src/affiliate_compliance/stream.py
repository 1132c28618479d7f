"""Reads events while they arrive."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


class Incomplete(Exception):
    """The response has ended too early."""


def check_ndjson(headers: Mapping[str, str]) -> None:
    """Raises `Incomplete` for a response of another type, such as one that a cache had."""
    if not headers.get("Content-Type", "").startswith("application/x-ndjson"):
        raise Incomplete("the response is not NDJSON")


def events(lines: Iterable[bytes]) -> Iterator[tuple[str, Any]]:
    """Server-sent events: the ID, and the JSON of the data; None if there is none."""
    id, data = "", None
    for line in lines:
        name, _, value = line.decode().partition(": ")
        if name == "id":
            id = value
        elif name == "data":
            data = json.loads(value)
        elif not line:
            yield id, data
            data = None
