"""Reads streamed responses."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


class Incomplete(Exception):
    """The response ended too early."""


def check_ndjson(headers: Mapping[str, str]) -> None:
    """Raises `Incomplete` if the response is not NDJSON, for example because it comes from a cache."""
    if not headers.get("Content-Type", "").startswith("application/x-ndjson"):
        raise Incomplete("the response is not NDJSON")


def events(lines: Iterable[bytes]) -> Iterator[tuple[str, Any]]:
    """Yields the ID of each server-sent event, with its parsed data or None."""
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
