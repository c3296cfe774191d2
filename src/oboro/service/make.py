"""Making and running a service from a recipe: between brokers, or between a broker and a file, a pipe or a socket."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oboro._lazy import lazy_module
from oboro.errors import InputError, UsageError
from oboro.recipe.stream import StreamOptions, anonymizer, cautions_of_stream, pseudonyms
from oboro.service.base import broker_of, open_place
from oboro.service.health import health_page, listen_secrets
from oboro.service.settings import ServiceSettings, check_key, expected_price, measured_price
from oboro.stream.endpoints import FileSink, LineSource, NoSink, PipeSink, RecordSink, RecordSource, StopRequest
from oboro.stream.engine import Decided, Decider, Service, Watch, to_stderr
from oboro.stream.exit_codes import stream_exit_codes
from oboro.stream.records import BodyForm, RecordIds, body_form
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.recipe.recipe import Recipe

recipes = lazy_module("oboro.recipe.recipe")

__all__ = ["check_service", "make_service", "run_service", "served", "service_sink", "service_source"]


SAMPLE = 100  # records that a check looks at
LARGE_SAMPLE = 10_000  # and where it says what parts cost


def service_source(place: str, stop: StopRequest, longest: int = 1 << 20) -> RecordSource:
    """Where records come from."""
    if broker_of(place) is not None:
        source: RecordSource = open_place(place, "source", "FROM")
        return source
    return LineSource(place, stop, longest)


def service_sink(place: str, stop: StopRequest, side: str = "TO") -> RecordSink:
    """Where released records or dead letters go."""
    if broker_of(place) is not None:
        sink: RecordSink = open_place(place, "sink", side)
        return sink
    return FileSink(place, stop) if _is_file(place) else PipeSink(place, stop)


def _is_file(place: str) -> bool:
    return place != "-" and "://" not in place


def make_service(
    recipe: Recipe,
    settings: ServiceSettings,
    *,
    dry: bool = False,
    lang: str = "en",
    watch: Watch | None = None,
    stop: StopRequest | None = None,
    every: int | None = None,
) -> Service:
    """A service that can be run. Addresses and settings are checked; nothing is connected yet."""
    _check_places(settings)
    options = settings.decide.of(recipe)
    plan, settings = settings.plan(lang, pseudonyms(recipe)), settings.placed()
    if (part := settings.part) is not None:
        check_key(part, options.person, [*recipe.attributes, *([options.person] if options.person else [])])
    if dry:
        plan = replace(plan, state=None, once=True)
    if every is not None:
        plan = replace(plan, every=every)
    with ExitStack() as refused:
        if stop is None:
            stop = StopRequest()
            refused.callback(stop.close)
        source, sink, letters = _ends(settings, stop, dry, refused)
        made = Service(
            lambda: anonymizer(recipe, options),
            (source, sink),
            _forms(settings, anonymizer(recipe, options).fields),
            plan,
            letters=letters,
            store=None if settings.snapshots is None or dry else open_place(settings.snapshots, "store", "TO"),
            lease=None if settings.lease is None or dry else _lease(settings.target, settings.lease),
            watch=watch,
            stop=stop,
            names=(settings.source, settings.target),
        )
        refused.pop_all()  # it closes what is its own when it has run
    return made


def _check_places(settings: ServiceSettings) -> None:
    """Raise where two places do not go together."""
    if settings.lease is not None and settings.dead_letters is not None and _is_file(settings.dead_letters):
        raise UsageError(Message("error_service.lease_and_file", place=settings.dead_letters))
    if broker_of(settings.target) and settings.target in (settings.source, settings.dead_letters):
        raise UsageError(Message("error_service.same_place", place=settings.target))


def _ends(
    settings: ServiceSettings, stop: StopRequest, dry: bool, refused: ExitStack
) -> tuple[RecordSource, RecordSink, RecordSink | None]:
    """Where records come from, where they and the dead letters go. A socket listens from now on; `refused` closes it."""
    source = service_source(settings.source, stop, settings.longest_line)
    refused.callback(source.close)
    if settings.form != "ndjson" and getattr(source, "adds_fields", False):
        raise UsageError(Message("error_service.fields_in_json", source=settings.source, form=settings.form))
    if dry:
        if not source.replays:
            raise UsageError(Message("error_service.dry_takes", source=settings.source))
        return source, NoSink(), None
    sink = service_sink(settings.target, stop)
    refused.callback(sink.close)
    if settings.dead_letters is None:
        return source, sink, None
    letters = service_sink(settings.dead_letters, stop, "LETTERS")
    refused.callback(letters.close)
    return source, sink, letters


def _forms(settings: ServiceSettings, fields: Sequence[str]) -> tuple[BodyForm, BodyForm]:
    return body_form(settings.form, settings.avro), body_form(settings.output_form or settings.form, None, fields)


def _lease(target: str, seconds: float) -> Any:
    if broker_of(target) is None:
        raise UsageError(Message("error_service.lease_needs_broker", place=target))
    lease = open_place(target, "lease", "TO")
    lease.seconds = seconds
    return lease


def run_service(settings: ServiceSettings, *, dry: bool = False, lang: str = "en") -> dict[str, Any]:
    """Run until the input ends or a stop is requested; return its counts. Its log goes to standard error."""
    stop = StopRequest()
    watch = Watch(to_stderr(lang, settings.log == "json"))
    logging.getLogger().addHandler(
        logging.NullHandler()
    )  # what clients say beside it is in no form that anybody could read
    with ExitStack() as opened:
        opened.callback(stop.close)
        opened.enter_context(stop.listening())
        opened.enter_context(stream_exit_codes(refusals=False))
        watch.live_within = settings.live_within
        if settings.listen is not None:
            opened.enter_context(health_page(settings.listen, watch, *listen_secrets()))
        recipe = recipes.Recipe.load(settings.recipe)
        service = make_service(recipe, settings, dry=dry, lang=lang, watch=watch, stop=stop)
        for said in cautions_of_stream(recipe, settings.decide):
            watch.say(said, "warning")
        if (part := settings.part) is not None:
            watch.say(expected_price(part, recipe.schema_given.quasi))
        return {**service.run(own_process=True), "stopped": stop.asked}


def _record(form: BodyForm, body: bytes) -> dict[str, Any] | None:
    try:
        return form.decode(body)
    except InputError:
        return None  # it was named above


def check_service(settings: ServiceSettings) -> list[Message]:
    """Try the recipe on a sample of the input and reach the output; what was found. Nothing is published or confirmed."""
    recipe = recipes.Recipe.load(settings.recipe)
    service, settings = make_service(recipe, settings), settings.placed()
    with ExitStack() as opened:
        opened.callback(service.stop.close)
        for end in (service.source, service.sink, service.letter_sink):
            if end is not None:
                opened.callback(end.close)
        cautions = cautions_of_stream(recipe, settings.decide)
        return [*cautions, *_sampled(recipe, settings, service), *_reached(settings, service)]


def _sampled(recipe: Recipe, settings: ServiceSettings, service: Service) -> Iterator[Message]:
    """What the recipe makes of the first records, and what parts of the stream would cost."""
    if getattr(service.source, "takes", False):
        if (reach := getattr(service.source, "reach", None)) is not None:
            yield Message("service.reached", place=settings.source, number=reach())
        yield Message("service.no_sample", place=settings.source)
        return
    service.source.open(None)
    part = settings.part
    items = service.source.read(SAMPLE if part is None else LARGE_SAMPLE, 2.0) or []
    with closing(anonymizer(recipe, settings.decide)) as made:
        plan = service.plan
        ids = RecordIds(plan.id, plan.id_horizon) if plan.id else None
        done = Decider(made, *service.forms, plan.change, ids, plan.lang, longest=plan.longest_line).decide(items)
    yield Message("service.sample", place=settings.source, count=len(items), refused=len(done.letters))
    for letter in done.letters[:3]:
        yield Message("service.refused", why=json.loads(letter)["reason"])
    if part is not None:
        records = [one for body, _, _ in items if (one := _record(service.forms[0], body)) is not None]
        yield expected_price(part, recipe.schema_given.quasi)
        yield measured_price(recipe, settings.decide, part, records)


def _reached(settings: ServiceSettings, service: Service) -> Iterator[Message]:
    """How much the output and the dead letters hold by now."""
    for place, sink in ((settings.target, service.sink), (settings.dead_letters, service.letter_sink)):
        if sink is not None:
            sink.open()
            yield Message("service.reached", place=place, number=sink.last()[0])


# Asynchronous service -------------------------------------------------------------------------------------------------
# A service within another program: `async for released in recipe.stream().serve(source, sink)`.


AHEAD = 4096  # released records that wait for whoever iterates, before the service waits too


async def served(
    recipe: Recipe, options: StreamOptions, source: str, sink: str, settings: dict[str, Any]
) -> AsyncIterator[dict[str, Any]]:
    """The records that were published, one by one; the service ends with the iteration."""
    given = ServiceSettings.load(None, {"recipe": ".", **options.given, **settings, "from": source, "to": sink})
    stop, watch = StopRequest(), Watch()
    watch.live_within = given.live_within
    with ExitStack() as refused:
        refused.callback(stop.close)
        if given.listen is not None:
            refused.enter_context(health_page(given.listen, watch, *listen_secrets()))
        service = make_service(recipe, given, watch=watch, stop=stop)
        opened = refused.pop_all()
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[bytes | None](AHEAD)
    decode = service.forms[1].decode

    def tell(count: int, done: Decided, seconds: float) -> None:
        for body in done.bodies:  # blocks while nobody takes them: back-pressure
            asyncio.run_coroutine_threadsafe(queue.put(body), loop).result()

    watch.told.append(tell)
    running = asyncio.create_task(asyncio.to_thread(service.run))
    running.add_done_callback(lambda _: asyncio.ensure_future(queue.put(None)))
    try:
        while (body := await queue.get()) is not None:
            record = decode(body)
            if record is not None:
                yield record
        await running
    finally:
        stop.ask()
        while not running.done():
            with suppress(asyncio.QueueEmpty):
                queue.get_nowait()
            await asyncio.sleep(0.01)
        opened.close()
