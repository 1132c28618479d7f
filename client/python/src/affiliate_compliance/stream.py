"""Reads a list while it arrives, so that it does not have to fit into memory."""

import codecs
import json
from collections.abc import Iterable, Iterator
from typing import Any


class Incomplete(Exception):
    """The response is not a whole list of records."""


# Characters of one record: far more than there can be.
LONGEST_RECORD = 16 * 2**20


class JsonText:
    """JSON that arrives in parts."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self.parts = iter(parts)
        self.decode = codecs.getincrementaldecoder("utf-8")().decode
        self.scan = json.JSONDecoder().raw_decode
        self.text, self.at = "", 0

    def more(self) -> None:
        part = next(self.parts, None)
        if part is None:
            raise Incomplete("the response ended too early")
        if len(self.text) - self.at > LONGEST_RECORD:
            raise Incomplete("the response is no list of records")
        self.text, self.at = self.text[self.at :] + self.decode(part), 0

    def peek(self) -> str:
        """The next character that is not white space."""
        while True:
            while self.at < len(self.text):
                if self.text[self.at] not in " \t\r\n":
                    return self.text[self.at]
                self.at += 1
            self.more()

    def take(self, characters: str) -> str:
        found = self.peek()
        if found not in characters:
            raise Incomplete(f"{found!r} instead of one of {characters!r}")
        self.at += 1
        return found

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = self.scan(self.text, self.at)
                # A number may go on in the next part.
                if end < len(self.text) or not isinstance(value, (int, float)):
                    self.at = end
                    return value
            except json.JSONDecodeError:
                pass
            self.more()

    def list(self) -> Iterator[Any]:
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        while True:
            yield self.value()
            if self.take(",]") == "]":
                return


def records(parts: Iterable[bytes]) -> Iterator[Any]:
    """The elements of `data` of an envelope. Raises `Incomplete` if there is less."""
    text = JsonText(parts)
    text.take("{")
    while True:
        key = text.value()
        text.take(":")
        if key == "data":
            yield from text.list()
        else:
            text.value()
        if text.take(",}") == "}":
            return


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
