"""Sends items in batches. Those that the service does not accept are left out, so that the others are saved."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from ..client import Result
from ..errors import Invalid, Refused
from .file import Problem
from .plan import Item

Send = Callable[[list[Any]], list[Result]]
TOO_LARGE = 413


class Outcome:
    """What became of the items of some rows, by line."""

    def __init__(self) -> None:
        self.saved: set[int] = set()
        self.refused: dict[int, Problem] = {}
        """Refused by a result of their own. After a repeated request, the first try may have saved them."""
        self.invalid: list[Problem] = []
        """Refused since a field violates its rules. A row may have several."""


def send(items: Sequence[Item], call: Send, size: int) -> Outcome:
    outcome = Outcome()
    # The next one is last.
    batches = [items[start : start + size] for start in range(0, len(items), size)][::-1]
    while batches:
        batch = batches.pop()
        try:
            results = call([item.body for item in batch])
        except Refused as refused:
            if refused.status not in (422, TOO_LARGE):
                raise
            batches += accepted(batch, refused, outcome)[::-1]
        else:
            for item, result in zip(batch, results, strict=True):
                if result.ok:
                    outcome.saved.add(item.row.line)
                else:
                    outcome.refused[item.row.line] = Problem(item.row.line, None, f"{result.code} {result.message}")
    return outcome


def accepted(batch: Sequence[Item], refused: Refused, outcome: Outcome) -> list[Sequence[Item]]:
    """What is left of a batch without the items that the refusal names; halves of it if it names none."""
    violations = by_item(refused.violations if isinstance(refused, Invalid) else {})
    if not violations and len(batch) > 1:
        middle = len(batch) // 2
        return [batch[:middle], batch[middle:]]
    for index, item in enumerate(batch):
        outcome.invalid += [Problem(item.row.line, field, reason) for field, reason in violations.get(index, [])]
    if not violations:
        outcome.invalid.append(Problem(batch[0].row.line, None, str(refused)))
        return []
    left = [item for index, item in enumerate(batch) if index not in violations]
    return [left] if left else []


def by_item(violations: dict[str, list[str]]) -> dict[int, list[tuple[str | None, str]]]:
    """The violations of each item, as field and sentence."""
    found: dict[int, list[tuple[str | None, str]]] = {}
    for path, sentences in violations.items():
        if parts := re.fullmatch(r"affiliates\.(\d+)(?:\.(.+))?", path):
            prefix = f"affiliates.{parts[1]}."
            found.setdefault(int(parts[1]), []).extend((parts[2], sentence.replace(prefix, "")) for sentence in sentences)
    return found
