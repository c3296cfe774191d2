"""How a service starts: what it knows, what the output holds, and whether the two belong together.

The output is asked, not the input's acknowledgements. What it holds beyond the state, what it lacks, and what another stream wrote
there is refused: going on would lose or double records, or release one in two forms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from oboro.errors import ConflictError, FileError, UsageError
from oboro.stream.anonymizer import Anonymizer
from oboro.stream.runner.state_folder import StateFolder
from oboro.stream.service.deciding import Decider
from oboro.stream.service.ends import Held, RecordSink, RecordSource, Store
from oboro.stream.service.journal import JournalEntry
from oboro.stream.service.outlet import Outlet, digest, publisher
from oboro.stream.service.service_plan import ServicePlan, ServicePosition
from oboro.stream.service.watching import Watch
from oboro.stream.snapshot import KIND
from oboro.text import Message

__all__ = [
    "Missing",
    "check_held",
    "check_input",
    "check_plan",
    "check_state",
    "from_store",
    "gone_on",
    "put_away",
    "replayed",
    "restored",
    "unnoticed",
]

ADDED = (
    "part",
    "seen",
    "input",
    "id",
    "renamed",
    "letters_elsewhere",
    "options",
    "letter_key",
)  # states of earlier versions do not have them


def restored(
    make: Callable[[], Anonymizer], snapshot: Path, name: str, options: Sequence[str] = ()
) -> tuple[Anonymizer, ServicePosition]:
    """The anonymizer of a snapshot and where it was; raises unless it was made under the same settings.

    `options`: those that make this stream a service, for the message about a state of a stream between files.
    """
    fresh = make()
    anonymizer = type(fresh).restore(snapshot)
    if anonymizer.extra.get("kind") != KIND and "taken" in anonymizer.extra:
        raise UsageError(Message("error_service.state_of_files", folder=name, options=list(options)))
    known = {one.name for one in fields(ServicePosition)}
    if fresh.fingerprint() != anonymizer.fingerprint() or {*anonymizer.extra, *ADDED} != known:
        raise UsageError(Message("error_stream.other_settings", folder=name))
    return anonymizer, ServicePosition(**anonymizer.extra)


def from_store(make: Callable[[], Anonymizer], store: Store) -> tuple[Anonymizer, ServicePosition] | None:
    """The same from a store outside of this machine."""
    data = store.get()
    if data is None:
        return None
    with TemporaryDirectory() as folder:
        path = Path(folder, "snapshot")
        path.touch(mode=0o600)
        path.write_bytes(data)
        return restored(make, path, "--state")


def put_away(anonymizer: Anonymizer, extra: Mapping[str, Any], store: Store) -> None:
    """The way there."""
    with TemporaryDirectory() as folder:
        anonymizer.save(Path(folder, "snapshot"), extra=extra)
        store.put(Path(folder, "snapshot").read_bytes())


class Missing:
    """What the journal knows of an output: all of it since the snapshot, of which the place may lack the end."""

    def __init__(self, outlet: Outlet, *, counted: bool = True) -> None:
        self.outlet = outlet
        self._counted = counted  # as this place counts; dead letters may have gone to another one
        self.start = outlet.at
        self.bodies: list[bytes] = []
        self.runs: list[str] = []  # who noted each
        self.end = outlet.at
        self.position = ""

    def add(self, after: int, bodies: list[bytes], position: str, run: str) -> None:
        """A block."""
        if after != self.end and self._counted:
            raise FileError(Message("error_service.broken_journal", place=self.outlet.name))
        self.bodies += bodies
        self.runs += [run] * len(bodies)
        self.end += sum(map(self.outlet.sink.units, bodies))
        self.position = position

    def confirmed(self, number: int) -> None:
        """The place had it up to a number: what it cannot say itself."""
        if not self.outlet.sink.compares:
            self._drop(number)

    def _drop(self, number: int) -> None:
        """Leave out what is there up to a number."""
        units, at, count = self.outlet.sink.units, self.outlet.at, 0
        while at < number:
            at += units(self.bodies[count])
            count += 1
        if at != number:
            raise FileError(Message("error_stream.shorter_output", place=self.outlet.name))
        if count:
            self.outlet.last = digest(self.bodies[count - 1])
        self.outlet.at, self.bodies, self.runs = at, self.bodies[count:], self.runs[count:]

    def publish(self, held: Held) -> int:
        """Publish what the place lacks, byte for byte as it was noted; how many."""
        number, outlet = held[0], self.outlet
        if outlet.sink.compares:
            if number < self.start:
                raise FileError(
                    Message("error_service.output_lacks", place=outlet.name, number=number, known=self.start)
                )
            if number > self.end:
                raise ConflictError(
                    Message("error_service.state_older", place=outlet.name, number=number, known=self.end)
                )
            self._drop(number)
            check_held(outlet, held, outlet.last)
        for run, noted in groupby(zip(self.runs, self.bodies, strict=True), itemgetter(0)):
            outlet.put([body for _, body in noted], self.position, None if outlet.sink.compares else run)
        return len(self.bodies)


def check_held(outlet: Outlet, held: Held, last: str) -> None:
    """Raise unless the last of the output is what this stream put there."""
    number, mark, body = held
    if number and mark and publisher(mark)[0] != outlet.stream:
        raise ConflictError(Message("error_service.foreign_output", place=outlet.name))
    if number and body and last and digest(body) != last:
        raise ConflictError(Message("error_service.other_output", place=outlet.name))


def gone_on(letters: Outlet, held: Held, watch: Watch) -> Held:
    """Where the place of dead letters holds fewer than were written, they went elsewhere, or were removed: it is gone on with.

    They keep no promise and are no records. Those of another stream are refused all the same.
    """
    number, mark, body = held
    short = letters.at - number
    if short <= 0 or not letters.sink.compares:
        return held
    check_held(letters, held, "")
    letters.elsewhere, letters.last, letters.there = letters.elsewhere + short, "", number + short
    watch.say(Message("service.letters_elsewhere"), "warning")
    return number + short, mark, body


def unnoticed(source: RecordSource, sink: RecordSink) -> bool:
    """Whether nobody would notice what a power failure took from the journal: the input hands over once, or the output cannot say
    what it holds. Then the disk is waited for.
    """
    return source.repeats or bool(getattr(sink, "keeps", False))


def check_plan(
    plan: ServicePlan,
    ends: tuple[RecordSource, RecordSink],
    names: tuple[str, str],
    anonymizer: Anonymizer,
    leased: bool,
) -> None:
    """Raise where the two places and the plan do not go together."""
    (source, sink), name = ends, names[0]
    if source.repeats and plan.id is None:
        raise UsageError(Message("error_service.needs_id", source=name))
    if source.repeats and plan.id_horizon < plan.most:  # it may hand over all that was taken last, a whole block
        raise UsageError(Message("error_service.short_horizon", source=name, least=plan.most))
    if plan.state is not None:
        if leased:
            raise UsageError(Message("error_service.lease_and_state"))
        return
    if not (source.replays and sink.compares):
        raise UsageError(Message("error_service.needs_state", source=name, sink=names[1]))
    if not anonymizer.repeatable:
        raise UsageError(Message("error_service.not_deterministic"))


def check_state(at: ServicePosition, plan: ServicePlan, source: RecordSource) -> None:
    """Raise where a state does not go on as it began; from here on it knows what it goes on with.

    The records of another part protect nobody here, a position in another kind of input means nothing, and ids of another field
    do not know the records that were taken.
    """
    part, kind = "" if plan.part is None else repr(plan.part), str(getattr(source, "kind", ""))
    if at.position is not None and at.part != part:
        raise UsageError(Message("error_service.other_part"))
    if at.position is not None and at.input not in ("", kind):
        raise UsageError(Message("error_service.other_kind", known=at.input, kind=kind))
    if at.id and plan.id != at.id:
        raise UsageError(Message("error_service.other_id", field=at.id))
    renamed = digest(repr([(name, change("oboro")) for name, change in plan.change.items()]).encode())
    if at.position is not None and at.renamed not in ("", renamed):
        raise UsageError(Message("error_service.other_key", fields=list(plan.change)))
    at.part, at.input, at.id, at.renamed = part, kind, plan.id or "", renamed


def check_input(source: RecordSource, at: ServicePosition, name: str) -> None:
    """Raise where a file does not hold what was read from it last; a broker knows its records by their moments."""
    reread = getattr(source, "reread", None)
    found = reread(at.position) if reread is not None and at.position and at.seen else None
    if found is not None and digest(found) != at.seen:
        raise FileError(Message("error_service.other_input", place=name))


def replayed(
    folder: StateFolder[JournalEntry], decider: Decider, records: Missing, letters: Missing, at: ServicePosition
) -> None:
    """Take what the journal holds into memory again, and note where in the input it ends."""
    for entry in folder.entries():
        if isinstance(entry, int):
            records.confirmed(entry)
            continue
        items = [(body, "", moment) for body, moment in zip(entry.bodies, entry.moments, strict=True)]
        done = decider.decide(items, entry.moment, entry.decisions, entry.last)
        if done.bodies != entry.released:
            raise FileError(Message("error_service.not_repeatable", path=folder.path))
        records.add(entry.after, entry.released, entry.position, entry.run)
        letters.add(entry.letters_after, entry.letters, entry.position, entry.run)
        at.position = entry.position or None
        at.seen = digest(entry.bodies[-1]) if entry.bodies else at.seen
