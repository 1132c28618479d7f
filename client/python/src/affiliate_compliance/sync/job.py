"""The job: compares, sends what differs, and reads the list again, until nothing differs any more."""

from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import uuid4

from ..client import Client
from .file import File, Problem, Row, read
from .plan import Known, Plan, in_order, known, plan
from .send import Outcome, send

# Items of a request.
BATCH = 500
# How often the list is read, at most.
ROUNDS = 6


@dataclass
class Summary:
    """Rows of the file, by what became of them."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    problems: list[Problem] = field(default_factory=list)
    """Why the others were refused. A row may have several problems."""

    @property
    def refused(self) -> int:
        return len({problem.line for problem in self.problems})


def sync(client: Client, path: str, *, ignored: Collection[str] = (), dry_run: bool = False, batch: int = BATCH) -> Summary:
    """Brings the affiliates up to date with a file. When it returns, the list was read, and every row that no problem names
    agreed with it. With `dry_run`, counts what would be created and changed, and sends nothing."""
    job = Job(client, read(path, ignored), batch)
    for _ in range(ROUNDS):
        service, difference = job.compare()
        if dry_run or not difference.items():
            break
        job.apply(difference, service)
    else:
        _, difference = job.compare()
        job.refuse([Problem(item.row.line, None, f"still differs after {ROUNDS} tries") for item in difference.items()])
    if dry_run:
        job.created |= {item.row.line for item in difference.create}
        job.changed |= {item.row.line for item in difference.change + difference.rename}
    return job.summary()


class Job:
    def __init__(self, client: Client, file: File, batch: int) -> None:
        self.client = client
        self.batch = batch
        self.columns = file.columns
        self.rows: dict[int, Row] = {row.line: row for row in file.rows}
        self.problems = list(file.problems)
        self.created: set[int] = set()
        self.changed: set[int] = set()
        self.doubtful: dict[int, Problem] = {}

    def compare(self) -> tuple[Known, Plan]:
        """Reads the list. Rows that were refused, and differ nevertheless, are refused for good; so are those that cannot be
        applied. Others may depend on them."""
        service = known(self.client.affiliates(), self.columns)
        while True:
            difference = plan(self.rows.values(), service)
            lines = {item.row.line for item in difference.items()}
            final = difference.problems + [problem for line, problem in self.doubtful.items() if line in lines]
            self.doubtful = {}
            if not final:
                return service, difference
            self.refuse(final)

    def apply(self, difference: Plan, service: Known) -> None:
        changed = self.keep(send(difference.change, self.client.update_affiliates, self.batch))
        create = difference.create
        if changed.refused or changed.invalid:
            # Names that were to become free may be taken still: what needs them waits for the next comparison.
            create = [item for item in create if item.body["affiliate_name"] not in service.by_name]
        else:
            renames = in_order(difference.rename, service, f"(renaming {uuid4().hex})")
            self.keep(send(renames, self.client.update_affiliates, self.batch))
        created = self.keep(send(create, self.client.create_affiliates, self.batch))
        self.changed |= {item.row.line for item in difference.change + difference.rename}
        self.created |= created.saved | created.refused.keys()

    def keep(self, outcome: Outcome) -> Outcome:
        self.refuse(outcome.invalid)
        self.doubtful |= outcome.refused
        return outcome

    def refuse(self, problems: list[Problem]) -> None:
        self.problems += problems
        for problem in problems:
            self.rows.pop(problem.line, None)

    def summary(self) -> Summary:
        # A row whose creation was repeated is created, whatever its result.
        created = len(self.created & self.rows.keys())
        changed = len(self.changed & self.rows.keys() - self.created)
        return Summary(created, changed, len(self.rows) - created - changed, sorted(set(self.problems), key=order))


def order(problem: Problem) -> tuple[int, str, str]:
    return (problem.line, problem.field or "", problem.reason)
