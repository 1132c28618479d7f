"""Reads events while they arrive."""

import json
from collections.abc import Iterable, Iterator
from typing import Any


class Incomplete(Exception):
    """The response has ended too early."""


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
