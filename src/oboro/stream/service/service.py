"""The loop of a service: read what is there, decide, note it, publish it; again, for months.

What was published and forgotten would be decided again, perhaps differently: two forms of one record. So everything is noted before
it is published, the place in the input follows from what the output holds, and publishing succeeds only where the output stands
where this process believes it does. Whatever is unsure stops the service.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, TypeVar

from oboro.errors import BrokerError, ConflictError, FileError
from oboro.stream.anonymizer import Anonymizer
from oboro.stream.exit_codes import stream_exit_codes
from oboro.stream.runner.endpoints import StopRequest
from oboro.stream.runner.state_folder import StateFolder
from oboro.stream.service.deciding import BodyForm, Decider
from oboro.stream.service.ends import Incoming, Lease, RecordSink, RecordSource, Store
from oboro.stream.service.journal import JournalEntry
from oboro.stream.service.letter_ids import LetterIds
from oboro.stream.service.outlet import Outlet, digest, publisher, same_letter
from oboro.stream.service.record_ids import RecordIds
from oboro.stream.service.service_plan import ServicePlan, ServicePosition
from oboro.stream.service.starting import (
    Missing,
    check_held,
    check_input,
    check_plan,
    check_state,
    from_store,
    gone_on,
    put_away,
    replayed,
    restored,
    unnoticed,
)
from oboro.stream.service.watching import Watch
from oboro.system.steady_clock import SteadyClock
from oboro.text import Message

__all__ = ["Service"]

T = TypeVar("T")
WAIT = 0.25  # seconds: a wish to end is heard this soon
AGAIN = 10.0  # seconds of the processor that a start after a kill may take to decide again what was decided since the last snapshot
SILENT = 3  # times that nothing came, after which an input that cannot say is at its end
LOOK = 5.0  # seconds, after which a service that never rests asks how much waits for it
PAUSES: tuple[float, ...] = (0.05, 0.1, 0.2, 0.5, 1.0)  # before a broker that is away is asked again


class _Stopped(Exception):
    """Somebody asked to end while a broker was away. Everything that was decided is noted, or will be decided alike."""


class Service:
    """One stream between two places."""

    def __init__(
        self,
        make: Callable[[], Anonymizer],
        ends: tuple[RecordSource, RecordSink],
        forms: tuple[BodyForm, BodyForm],
        plan: ServicePlan,
        *,
        letters: RecordSink | None = None,
        store: Store | None = None,
        lease: Lease | None = None,
        watch: Watch | None = None,
        stop: StopRequest | None = None,
        names: tuple[str, str] = ("--from", "--to"),
    ) -> None:
        self.plan, self.store, self.lease = plan, store, lease
        (self.source, self.sink), self.letter_sink = ends, letters
        self.forms, self.names, self._make = forms, names, make
        self.watch, self.stop = watch or Watch(), stop or StopRequest()
        self.fsync = plan.fsync or unnoticed(*ends)
        self._away, self._away_since = 0, 0.0  # times that a broker did not answer, one after the other
        self._taken_bytes, self._saving, self._saved = 0, 0.0, time.process_time()
        self._silent, self._looked, self._last_read = 0, 0.0, b""
        self._settled = False  # whether all that was decided is published

    def run(self, own_process: bool = False) -> dict[str, Any]:
        """Until the input ends or somebody asks to stop; counts of this run."""
        with stream_exit_codes(), self.stop.listening(), ExitStack() as self._opened:
            self._hold()
            try:
                self._start()
                self.watch.say(Message("service.ready", source=self.names[0], sink=self.names[1], at=self.records.at))
                if self.lease is not None:
                    self.watch.say(Message("service.asks_to_lead", seconds=self.lease.seconds))
                self.watch.ready = self._settled = True
                if own_process:
                    gc.freeze()  # what is there stays: looking through it for garbage held a block up for 60 ms
                    self._opened.callback(gc.unfreeze)
                self._loop()
            except _Stopped:
                pass
            self.watch.ready = False
            self._end()
        return self.watch.counts()

    def _hold(self) -> None:
        """Whatever was opened is closed at the end, also where it does not come to a start."""
        self._opened.callback(self.stop.close)
        for end in (self.source, self.sink, self.letter_sink):
            if end is not None:
                self._opened.callback(end.close)
        if self.lease is not None:
            self._opened.callback(self.lease.release)

    # The start ----------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        plan = self.plan
        self.folder = StateFolder(plan.state, JournalEntry, self.fsync) if plan.state else None
        if self.folder is not None:
            self._opened.callback(self.folder.close)
        anonymizer, self.at = self._known() or (self._make(), ServicePosition(lang=plan.lang))
        self._opened.callback(anonymizer.close)
        self.watch.glance = anonymizer.glance
        self._fresh = self.at.position is None
        self.watch.leading = self.lease is None
        check_plan(self.plan, (self.source, self.sink), self.names, anonymizer, self.lease is not None)
        check_state(self.at, self.plan, self.source)
        self.at.options = list(self.plan.options)
        if (ids := RecordIds(plan.id, plan.id_horizon) if plan.id else None) is not None:
            ids.load(self.at.ids)
        (incoming, outgoing), at, lang, now = self.forms, self.at, self.at.lang, self.at.now
        self.decider = Decider(
            anonymizer, incoming, outgoing, plan.change, ids, lang, plan.raw_letters, now, plan.part, plan.longest_line
        )
        self.decider.letter_ids = LetterIds(self.at.letter_key, self.source.message_id, plan.raw_letters)
        self.records = Outlet(self.sink, self.names[1], self.at.stream, self._interrupted)
        self.records.at, self.records.last = self.at.published, self.at.last
        given = "--dead-letters", at.stream, self._interrupted, same_letter, self.records.run
        self.letters = Outlet(self.letter_sink or self.watch.letters(), *given)
        self.letters.at, self.letters.last, self.letters.elsewhere = at.letters, at.last_letter, at.letters_elsewhere
        anonymizer.warm()
        self._meet_output()
        self._open_source(self.at.position)
        check_input(self.source, self.at, self.names[0])
        self.clock = SteadyClock(self.decider.now)

    def _known(self) -> tuple[Anonymizer, ServicePosition] | None:
        """What was saved, if anything was."""
        if self.folder is not None:
            found = self.folder.snapshot.exists()
            given = str(self.folder.path), self.plan.options
            return restored(self._make, self.folder.snapshot, *given) if found else None
        store = self.store
        if store is None:
            return None
        self._opened.callback(store.close)
        return self._answered(lambda: from_store(self._make, store))

    def _meet_output(self) -> None:
        """Whether the output is the one that belongs to the state; publish what it lacks."""
        held, held_letters = self.records.open(), gone_on(self.letters, self.letters.open(), self.watch)
        if self.folder is None:
            self._adopt(held, held_letters)
            return
        if not self.folder.snapshot.exists():
            if held[0]:
                raise FileError(Message("error_service.not_empty", place=self.names[1]))
            list(self.folder.entries())
            self._snapshot()
            return
        missing, letters = Missing(self.records), Missing(self.letters, counted=False)
        replayed(self.folder, self.decider, missing, letters, self.at)
        again = missing.publish(held)
        letters.publish(held_letters)
        if again:
            self.watch.say(Message("service.published_again", count=again))
        self._fresh = False
        if self.letters.elsewhere != self.at.letters_elsewhere or "letter_key" not in self.decider.anonymizer.extra:
            self._snapshot()

    def _adopt(self, held: tuple[int, str, bytes], held_letters: tuple[int, str, bytes]) -> None:
        """Without a journal: what the output holds beyond the snapshot is decided again, and compared."""
        if held[0] < self.records.at:
            raise FileError(
                Message("error_service.output_lacks", place=self.names[1], number=held[0], known=self.records.at)
            )
        if self._fresh and held[0]:
            self.at.stream = publisher(held[1])[0]
            if not self.at.stream:
                raise FileError(Message("error_service.not_empty", place=self.names[1]))
            self.records.stream = self.letters.stream = self.at.stream
        check_held(self.records, held, self.records.last if held[0] == self.records.at else "")

    def _open_source(self, after: str | None) -> None:
        self._answered(lambda: self.source.open(after))
        if self.folder is None and after is None and self.records.there and not self.source.whole:
            raise FileError(Message("error_service.input_trimmed", place=self.names[0]))

    def _answered(self, ask: Callable[[], T]) -> T:
        """The answer of a broker that may be away for a while."""
        while True:
            try:
                return ask()
            except BrokerError as away:
                self._interrupted(away)

    def _interrupted(self, away: BrokerError) -> None:
        """A broker did not answer: wait a little longer each time, unless somebody asks to end or it takes too long."""
        if self.stop.asked:
            raise _Stopped
        self.watch.turn()
        self.watch.interruptions += 1
        self.watch.connected = False
        if not self._away:
            self._away_since = time.monotonic()
            self.watch.say(Message("service.away", why=away.words), "warning")
        if time.monotonic() - self._away_since > self.plan.patience:
            raise away
        time.sleep(PAUSES[min(self._away, len(PAUSES) - 1)])
        self._away += 1

    # The loop -----------------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        self.watch.turn(first=True)
        try:
            self._rounds()
        except ConflictError as taken:
            taken.transient = self.lease is not None  # it stands by when it is started again
            raise

    def _rounds(self) -> None:
        began, taken = time.monotonic(), 0
        kept = self.source.replays or self.source.repeats  # what was not read is there for the next life, too
        while not (self.stop.asked and kept):
            self.watch.turn()
            items = self._read()
            if items is None:
                self._handle([], last=True)
                return
            if items:
                self._silent = 0
                self._handle(items)
                taken += len(items)
                self._slow_down(began, taken)
                self._save_if_due()
                if time.monotonic() - self._looked > LOOK:
                    self._behind()
            elif self.stop.asked or self._idle():
                return

    def _read(self) -> list[Incoming] | None:
        due = self.decider.anonymizer.due
        wait = WAIT if due is None else min(WAIT, max(0.0, due - self.clock.now()))
        try:
            items = self.source.read(self.plan.most, wait)
        except BrokerError as away:
            self._interrupted(away)
            self._open_source(self.at.position)
            return []
        if self._away:
            self.watch.say(Message("service.back"))
        self._away, self.watch.connected = 0, True
        return items

    def _idle(self) -> bool:
        """Nothing came; whether that is the end."""
        due = self.decider.anonymizer.due
        if due is not None and due <= self.clock.now():
            self._handle([], self.clock.now())
        for outlet in (self.records, self.letters):
            outlet.tend()
        self._leads()
        behind = self._behind()
        self._silent += 1
        if not self.plan.once or behind or (behind is None and self._silent < SILENT):
            return False
        if self.decider.anonymizer.holds:
            self._handle([], last=True)
        return True

    def _behind(self) -> int | None:
        """How much waits in the input; None where it cannot say."""
        self._looked = time.monotonic()
        try:
            behind = self.source.behind()
        except BrokerError:
            return self.watch.behind or 1  # the next read says more
        self.watch.behind = behind or 0
        return behind

    def _handle(self, items: Sequence[Incoming], moment: float = 0.0, last: bool = False) -> None:
        """One block: decide, note, publish, confirm."""
        began = time.perf_counter()
        position = items[-1][1] if items else self.at.position or ""
        done = self.decider.decide(items, moment, None, last)
        self.clock.reach(self.decider.now)
        if self.folder is not None and (items or done.bodies or done.letters or self.decider.anonymizer.holds):
            bodies, moments = [one[0] for one in items], [one[2] for one in items]
            decided = (moment, done.decisions, position, self.records.at, done.bodies, self.letters.at, done.letters)
            self.folder.log(JournalEntry(bodies, moments, *decided, last, self.records.run))
        if items:
            self.at.position, self._last_read = position, items[-1][0]
        self._settled = False
        self._publish(done.bodies, position)
        self._tell(done.letters, position)
        self._settled = True
        if items:
            self._confirm(position)
        self.watch.took(len(items), done, time.perf_counter() - began)
        if self.store is not None:
            self._taken_bytes += sum(len(one[0]) for one in items)

    def _publish(self, bodies: list[bytes], position: str) -> None:
        if bodies:
            self._await_lead(self.records, bodies)
            self.records.put(bodies, position)
            if self.folder is not None and not self.sink.compares:
                self.folder.done(self.records.at)

    def _await_lead(self, outlet: Outlet, bodies: list[bytes]) -> None:
        """As a standby: wait until the leader has published this, or until it is gone.

        Whoever only goes over what was there at its start asks for no lease: the one that has caught up takes over sooner.
        """
        if self.lease is None or not outlet.sink.compares:
            return
        end = outlet.at + len(bodies)
        while outlet.there < end and not self._leads() and self._refresh(outlet) < end:
            if self.stop.asked:
                raise _Stopped
            self.watch.turn()
            time.sleep(min(0.05, self.lease.seconds / 10))

    def _leads(self) -> bool:
        """Whether this process may publish. One that begins to lead first asks what the one before has published."""
        leads = self.lease is None or self.lease.held()
        if leads != self.watch.leading:
            self.watch.leading = leads
            self.watch.say(Message("service.leads" if leads else "service.stands_by"))
            if leads:
                self._refresh(self.records)
                self._refresh(self.letters)
        return leads

    def _refresh(self, outlet: Outlet) -> int:
        """How much an output holds by now."""
        try:
            outlet.there = max(outlet.there, outlet.held()[0])
        except BrokerError as away:
            self._interrupted(away)
            outlet.open()
        return outlet.there

    def _tell(self, letters: list[bytes], position: str) -> None:
        if letters:
            self._await_lead(self.letters, letters)
            self.letters.put(letters, position)

    def _confirm(self, position: str) -> None:
        try:
            self.source.confirm(position)
        except BrokerError as away:  # it will be handed over again, and is known then
            self._interrupted(away)
            self._open_source(self.at.position)

    def _slow_down(self, began: float, taken: int) -> None:
        while self.plan.rate and not self.stop.asked:
            left = taken / self.plan.rate - (time.monotonic() - began)
            if left <= 0:
                return
            if self.watch.leading:
                self._leads()
            self.watch.turn()
            time.sleep(min(left, WAIT))

    # Snapshots ----------------------------------------------------------------------------------------------------

    def _save_if_due(self) -> None:
        """Save where a start after a kill would read or decide too much again; saving takes a hundredth of the time."""
        size = self.folder.size if self.folder is not None else self._taken_bytes if self.store is not None else 0
        worked = time.process_time() - self._saved
        if size > self.plan.every or (size and worked > max(AGAIN, 100 * self._saving)):
            self._snapshot()

    def _snapshot(self) -> None:
        began = time.process_time()
        self._note_position()
        anonymizer, extra = self.decider.anonymizer, asdict(self.at)
        if self.folder is not None:
            if self.fsync:  # the state must not know more than the output holds
                self.records.sync()
                self.letters.sync()
            anonymizer.save(self.folder.next(), extra=extra)
            self.folder.advance()
            self.watch.saved()
        elif self.store is not None and self.watch.leading:
            try:
                put_away(anonymizer, extra, self.store)
                self.watch.saved()
            except BrokerError as away:  # the one before still holds; only the next start takes longer
                self.watch.say(Message("service.not_saved", why=away.words), "warning")
        self._taken_bytes, self._saved = 0, time.process_time()
        self._saving = self._saved - began

    def _note_position(self) -> None:
        at = self.at
        at.published, at.last = self.records.at, self.records.last
        at.letters, at.last_letter, at.letters_elsewhere = self.letters.at, self.letters.last, self.letters.elsewhere
        at.now, at.seen = self.decider.now, digest(self._last_read) if self._last_read else at.seen
        at.ids = self.decider.ids.dump() if self.decider.ids is not None else ""

    def _end(self) -> None:
        if self._settled:
            self._snapshot()  # so that the next start is quick
        self.watch.say(Message("service.ended", records=self.watch.records, released=self.watch.released))
