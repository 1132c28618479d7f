"""Compares the file with the affiliates of the service: what is to be created, what is to be changed, and in which order."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .fields import IDENTIFIER, NAME, Value, stored
from .file import Problem, Row


@dataclass(frozen=True)
class Stored:
    """An affiliate of the service, with the values of the file's columns in their order."""

    id: int
    identifier: str
    name: str
    values: tuple[Value, ...]


@dataclass
class Known:
    """The affiliates of the service."""

    by_identifier: dict[str, list[Stored]] = field(default_factory=lambda: defaultdict(list))
    by_name: dict[str, Stored] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """What is sent for a row."""

    row: Row
    body: dict[str, Any]


@dataclass
class Plan:
    create: list[Item] = field(default_factory=list)
    change: list[Item] = field(default_factory=list)
    """Changes whose name, if it changes, is free."""
    rename: list[Item] = field(default_factory=list)
    """Changes of the name alone, to names that other affiliates of this list leave."""
    problems: list[Problem] = field(default_factory=list)

    def items(self) -> list[Item]:
        return [*self.create, *self.change, *self.rename]


def known(affiliates: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Known:
    result = Known()
    for affiliate in affiliates:
        identifier, name = str(stored(IDENTIFIER, affiliate) or ""), str(stored(NAME, affiliate) or "")
        one = Stored(affiliate["id"], identifier, name, tuple(stored(column, affiliate) for column in columns))
        result.by_identifier[identifier].append(one)
        result.by_name[name] = one
    return result


def plan(rows: Iterable[Row], service: Known) -> Plan:
    result = Plan()
    matched: list[tuple[Row, Stored | None]] = []
    for row in rows:
        found = service.by_identifier.get(row.identifier, [])
        if len(found) > 1:
            ids = ", ".join(str(one.id) for one in found)
            result.problems.append(Problem(row.line, IDENTIFIER, f"{row.identifier!r} is that of several affiliates: IDs {ids}"))
        elif not found and NAME not in row.cells:
            result.problems.append(Problem(row.line, IDENTIFIER, f"{row.identifier!r} is that of no affiliate; to create one, {NAME} is needed"))
        else:
            matched.append((row, found[0] if found else None))
    matched = without_taken(matched, service, result)
    for row, one in matched:
        if one is None:
            result.create.append(Item(row, {name: cell for name, cell in row.cells.items() if cell}))
            continue
        compared = zip(row.cells.items(), row.values, one.values, strict=True)
        body = {name: cell or None for (name, cell), wanted, found in compared if wanted != found}
        if NAME in body and body[NAME] in service.by_name:
            result.rename.append(Item(row, {"id": one.id, NAME: body.pop(NAME)}))
        if body:
            result.change.append(Item(row, {"id": one.id, **body}))
    return result


def without_taken(matched: list[tuple[Row, Stored | None]], service: Known, result: Plan) -> list[tuple[Row, Stored | None]]:
    """Leaves out the rows whose name another affiliate keeps, or another row wants as well."""
    while True:
        wanted = defaultdict(list)
        for row, one in matched:
            if NAME in row.cells:
                wanted[row.cells[NAME]].append((row, one))
        leaving = {one.id for row, one in matched if one and row.cells.get(NAME, one.name) != one.name}
        refused: dict[int, str] = {}
        for name, wanting in wanted.items():
            holder = service.by_name.get(name)
            for row, one in wanting:
                if holder and one and holder.id == one.id:
                    continue
                if holder and holder.id not in leaving:
                    refused[row.line] = f"{name!r} is the name of the affiliate {holder.id}, whose identifier is {holder.identifier!r}"
                elif len(wanting) > 1:
                    others = ", ".join(str(other.line) for other, _ in wanting if other.line != row.line)
                    refused[row.line] = f"{name!r} is also on line {others}"
        if not refused:
            return matched
        # Who does not get a new name keeps the old one, which others may want.
        result.problems += [Problem(line, NAME, reason) for line, reason in refused.items()]
        matched = [(row, one) for row, one in matched if row.line not in refused]


def in_order(renames: Sequence[Item], service: Known, temporary: str) -> list[Item]:
    """The renames, each after the one that leaves its name. In a circle, one affiliate gets a temporary name first."""
    by_id = {item.body["id"]: item for item in renames}
    ordered: list[Item] = []
    done: set[int] = set()
    for item in renames:
        chain: list[Item] = []
        step: Item | None = item
        while step and step.body["id"] not in done:
            done.add(step.body["id"])
            chain.append(step)
            holder = service.by_name.get(step.body[NAME])
            step = by_id.get(holder.id) if holder else None
        if step and step in chain:
            ordered.append(Item(step.row, {"id": step.body["id"], NAME: f"{temporary} {step.body['id']}"}))
        ordered += reversed(chain)
    return ordered
