"""A recipe on a stream: record by record in Python, or from one place to another until the input ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oboro.errors import InputError, UsageError
from oboro.recipe.stream_plan import StreamOptions, anonymizer, pseudonyms
from oboro.stream.anonymizer import BlockResult, Closing, Record
from oboro.stream.runner.other_encoding import stream_encoding
from oboro.stream.runner.runner import Runner, StreamPlan
from oboro.table.frames import Frame
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe

__all__ = ["RecipeStream", "run_stream"]


class RecipeStream(Closing):
    """A recipe that anonymizes records as they come. Made by `Recipe.stream`.

    Every mode has the same verbs, and each returns the records that are released now, in the order in which they came:
    without delay that is the record itself, in a window they are earlier ones, or none yet.

    Given: records with the fields that the recipe names. Promises: what `DelayFree` (its mode) or `Window` promise of the
    recipe's quasi-identifiers; identifiers are dropped or pseudonymized. Checked by: `oboro.verifier.stream_check` and
    `window_check`.
    """

    def __init__(self, recipe: Recipe, options: StreamOptions, restore: str | Path | None = None) -> None:
        self._recipe, self._options = recipe, options
        self._pseudonyms = pseudonyms(recipe)
        self._anonymizer = anonymizer(recipe, options)
        if restore is not None:
            fresh = self._anonymizer
            self._anonymizer = type(fresh).restore(restore)
            if fresh.fingerprint() != self._anonymizer.fingerprint():
                raise UsageError(Message("error_recipe.other_settings", restore=restore))

    def push(self, record: Record, *, now: float | None = None) -> list[dict[str, Any]]:
        """Take one record. `now` (seconds) is for horizons and delays; without it the clock is asked.

        Raises `ColumnError` where fields are missing, unknown or no single values; the record then leaves no trace.
        """
        found = self._anonymizer.push(self._renamed(record), now=now)
        return found if isinstance(found, list) else [found]

    def push_many(self, batch: Any, *, now: float | None = None) -> list[dict[str, Any]]:
        """Take many records, a list or a frame, as if pushed one after the other. Where one is refused, none is taken."""
        records = batch if isinstance(batch, Sequence) else Frame.read(batch).data.to_arrow().to_pylist()
        found: list[dict[str, Any]] = self._anonymizer.push_many([self._renamed(one) for one in records], now=now)
        return found

    def take(self, records: Sequence[Record], now: float) -> BlockResult:
        """For a loop of one's own (Quix Streams, Bytewax …): a block of records that came at a moment.

        `released` are those that come out now; `refused` gives the places of those that were not taken, with the reason. A record
        that is refused keeps no other from being taken.
        """
        result = BlockResult()
        renamed: list[Record] = []
        places: list[int] = []
        for place, record in enumerate(records):
            try:
                renamed.append(self._renamed(record))
                places.append(place)
            except InputError as error:
                result.refused[place] = error
        taken = self._anonymizer.take(renamed, now)
        refused = {places[at]: error for at, error in taken.refused.items()}
        return BlockResult(taken.released, taken.decisions, {**result.refused, **refused})

    def serve(self, source: str, sink: str, **settings: Any) -> AsyncIterator[dict[str, Any]]:
        """Run as a service from one place to another: `async for released in recipe.stream().serve(source, sink, state="state")`.

        Places and settings are those of `oboro stream` (docs/service.md). A record is handed over once it is published.
        """
        from oboro.recipe.service.async_service import served

        return served(self._recipe, self._options, source, sink, settings)

    def flush(self, *, now: float | None = None) -> list[dict[str, Any]]:
        """Release all that wait, with the promise kept: no more records will come for now."""
        return self._anonymizer.flush(now)

    def withheld(self) -> list[dict[str, Any]]:
        """Records that waited and can never be released with the promise kept, since this was last asked."""
        return self._anonymizer.withheld()

    def save(self, path: str | Path) -> None:
        """Write everything to one file, atomically, for `Recipe.stream(restore=path)`. It holds raw values: keep it secret."""
        self._anonymizer.save(path)

    @property
    def fields(self) -> Sequence[str]:
        """The fields of a released record, in order."""
        return self._anonymizer.fields

    def stats(self) -> dict[str, Any]:
        """Counts so far: records, and what was suppressed or lost."""
        return self._anonymizer.stats()

    def close(self) -> None:
        """End what runs in the background."""
        self._anonymizer.close()

    def _renamed(self, record: Record) -> Record:
        """The record with pseudonyms; where a field is missing, the anonymizer says so."""
        names = [name for name in self._pseudonyms if name in record]
        return {**record, **{name: self._pseudonyms[name](record[name]) for name in names}} if names else record


def run_stream(
    recipe: Recipe,
    options: StreamOptions | None = None,
    *,
    watch: Callable[[dict[str, Any]], None] | None = None,
    **told: Any,
) -> dict[str, Any]:
    """Anonymize what comes from `source` and write it to `target` until the input ends or somebody asks to stop; its metrics.

    `StreamPlan` has what can be told. `source` and `target` are `-` (standard input and output), a file, `tcp://HOST:PORT`,
    `unix:///PATH` or `tcp-listen://…`. `encoding` is that of the input (UTF-8 if not given); the output is UTF-8. A `state` folder
    survives `kill -9`. Dead letters give their reasons in `lang`, also after a restart in another. `watch` is told the metrics now
    and then.
    """
    _one_of("format", told.get("form"), ("ndjson", "csv"))
    _one_of("output-format", told.get("output_form"), ("ndjson", "csv"))
    _one_of("resume", told.get("resume"), ("replay", "continue"))
    others = {"--recipe": [] if recipe.path is None else [recipe.path], "the recipe's files": recipe.files}
    plan = StreamPlan(**told, change=pseudonyms(recipe), others=others)
    plan = replace(plan, encoding=stream_encoding(plan.encoding))
    return Runner(lambda: anonymizer(recipe, options or StreamOptions()), plan, watch).run()


def _one_of(name: str, value: str | None, allowed: tuple[str, ...]) -> None:
    if value is not None and value not in allowed:
        raise UsageError(Message("error_recipe.one_of", name=name, allowed=list(allowed), value=value))
