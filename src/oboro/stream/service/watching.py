"""What can be seen of a service: counts, latencies, and a line in the log for what happens. Never a value of a record."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from oboro.stream.service.deciding import Decided
from oboro.stream.service.ends import SilentSink
from oboro.text import Message

__all__ = ["LIVE_WITHIN", "LoggedLetters", "Watch", "log_line", "to_stderr"]

LATENCIES = 4096  # of the latest blocks
LIVE_WITHIN = 120.0  # seconds; one answer of a broker may take 15, and a block asks for several


def log_line(said: Message, level: str, lang: str, as_json: bool) -> str:
    """One line of the log: a sentence, or an object with the event's name and its values."""
    moment = datetime.now(UTC).isoformat(timespec="milliseconds")
    if not as_json:
        return f"{moment} {level} {said.say(lang)}"
    values = {name: value if isinstance(value, int | float) else str(value) for name, value in said.values.items()}
    return json.dumps({"time": moment, "level": level, "event": said.id, "said": said.say(lang), **values})


class Watch:
    """Counts of one run, and where its log goes."""

    def __init__(self, log: Callable[[Message, str], None] | None = None) -> None:
        self._log = log
        self.records = self.released = self.dead_letters = self.repeats = self.blocks = self.interruptions = 0
        self.elsewhere = 0
        self.reasons: Counter[str] = Counter()
        """Dead letters by the short name of their reason."""
        self.behind = 0
        self.live_within = LIVE_WITHIN
        self._turned: float | None = None
        self.ready, self.connected, self.leading = False, True, True
        self.glance: Callable[[], dict[str, int | None]] = dict
        """What the anonymizer tells of itself."""
        self._saved: float | None = None
        self.latencies: deque[float] = deque(maxlen=LATENCIES)
        self.told: list[Callable[[int, Decided, float], None]] = []
        self._began = time.perf_counter()

    def say(self, said: Message, level: str = "info") -> None:
        """A line in the log."""
        if self._log is not None:
            self._log(said, level)

    def took(self, count: int, done: Decided, seconds: float) -> None:
        """A block went through in so many seconds."""
        self.records += count
        self.released += len(done.bodies)
        self.dead_letters += len(done.letters)
        self.reasons.update(done.reasons)
        self.repeats += done.repeats
        self.elsewhere += done.elsewhere
        self.blocks += 1
        self.latencies.append(seconds)
        for tell in self.told:
            tell(count, done, seconds)

    def turn(self, first: bool = False) -> None:
        """Note that the loop turns: it has read, decided and published, or waits for a broker. `first`: from now on it does."""
        if first or self._turned is not None:
            self._turned = time.monotonic()

    @property
    def live(self) -> bool:
        """Whether the loop has turned within `live_within` seconds. Until it begins, a state is restored, which takes its time."""
        return self._turned is None or time.monotonic() - self._turned < self.live_within

    def saved(self) -> None:
        """A snapshot was written now."""
        self._saved = time.monotonic()

    def figures(self) -> dict[str, float]:
        """What the anonymizer tells of itself, as far as it can be known now, and how old the latest snapshot of this run is."""
        told: dict[str, float] = {name: value for name, value in self.glance().items() if value is not None}
        return told if self._saved is None else {**told, "state_age_seconds": round(time.monotonic() - self._saved, 3)}

    def counts(self) -> dict[str, Any]:
        """What `oboro stream --json` prints at the end."""
        seconds = time.perf_counter() - self._began
        ordered = sorted(self.latencies) or [0.0]
        return {
            "records": self.records,
            "released": self.released,
            "dead_letters": self.dead_letters,
            "dead_letters_by_reason": dict(sorted(self.reasons.items())),
            "repeats": self.repeats,
            "elsewhere": self.elsewhere,
            "interruptions": self.interruptions,
            "behind": self.behind,
            **self.figures(),
            "seconds": round(seconds, 3),
            "records_per_second": round(self.records / seconds, 1) if seconds else 0.0,
            "latency_ms": {
                "p50": round(1e3 * ordered[len(ordered) // 2], 3),
                "p99": round(1e3 * ordered[int(len(ordered) * 0.99)], 3),
            },
        }

    def letters(self) -> LoggedLetters:
        """Where dead letters go if nobody gave a place: their reasons, into the log."""
        return LoggedLetters(self)


class LoggedLetters(SilentSink):
    """A sink for dead letters that only names their reasons."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def publish(self, after: int, bodies: Sequence[bytes], mark: str) -> None:
        """A line for each."""
        for body in bodies:
            letter = json.loads(body)
            named = {"position": letter.get("position", ""), "letter": letter["id"], "code": letter["code"]}
            said = Message("service.letter", **named, reason=letter["reason"])
            self._watch.say(said, "warning")


def to_stderr(lang: str, as_json: bool) -> Callable[[Message, str], None]:
    """A log on standard error."""

    def log(said: Message, level: str) -> None:
        print(log_line(said, level, lang, as_json), file=sys.stderr, flush=True)

    return log
