"""Message: an id and values, worded in the language of its reader when it is shown."""

from __future__ import annotations

import math
import string
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import accumulate, repeat
from pathlib import PurePath
from typing import Any, NamedTuple
from unicodedata import east_asian_width

from oboro.errors import OboroError, UsageError, listing
from oboro.text.printable import printable
from oboro.text.raw import Raw, shows_values, values_shown, without_passwords

__all__ = [
    "LANGUAGES",
    "UNSAID",
    "Message",
    "Words",
    "bring_words",
    "catalogue",
    "count",
    "few",
    "known",
    "labelled",
    "listed",
    "number",
    "percent",
    "quoted",
    "say",
    "size",
]


# Figures --------------------------------------------------------------------------------------------------------------
# Figures and names for readers; figures are the same in every language.


def count(value: int | None) -> str:
    """A whole number for people.

    >>> count(12345), count(None)
    ('12,345', '–')
    """
    return "–" if value is None else f"{value:,}"


def number(value: float | None) -> str:
    """Four significant digits, four decimals at most: nobody acts on a fifth. Nothing but zero is called zero.

    >>> number(0.123456), number(1234567.0), number(None), number(0.00001234), number(-0.00001)
    ('0.1235', '1,234,567', '–', '< 0.0001', '> -0.0001')
    """
    if value is None:
        return "–"
    if value and abs(value) < 0.0001:
        return "< 0.0001" if value > 0 else "> -0.0001"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{round(float(f'{value:.4g}'), 4):g}"


def percent(value: float | None) -> str:
    """A share for people; small ones keep two digits, and nothing but zero is called zero.

    What is left of zero by the arithmetic of floats (the lower end of an interval) is zero.

    >>> percent(0.2), percent(0.01234), percent(0.000001), percent(0), percent(1e-19)
    ('20 %', '1.2 %', '< 0.01 %', '0 %', '0 %')
    """
    if value is None:
        return "–"
    if 1e-12 < value < 0.0001:
        return "< 0.01 %"
    return f"{float(f'{100 * value:.2g}') if 1e-12 < value < 0.1 else round(100 * value, 1):g} %"


def few(names: Sequence[str], width: int = 160, joint: str = ", ") -> str:
    """Names with commas; of a long list the first ones, and how many more there are. Evidence has them all.

    >>> few(["age", "sex"]), few(["a long name", "another one", "a third"], width=15)
    ('age, sex', 'a long name … (+2)')
    """
    every = joint.join(names)
    if width_of(every) + 2 <= width:
        return every
    fit = sum(end <= width for end in accumulate(width_of(name) + 2 for name in names)) or 1
    more = len(names) - fit
    return joint.join(names[:fit]) + (f" … (+{more})" if more > 0 else "")


MOST_QUOTED = 50  # names in a sentence; evidence has them all


def quoted(names: Sequence[str], lang: str = "en", last: str = "and") -> str:
    """Column names for a sentence.

    >>> quoted(["age"]), quoted(["age", "income", "born"]), quoted(["age", "income"], "ja")
    ("'age'", "'age', 'income' and 'born'", '「age」「income」')
    """
    more = len(names) - MOST_QUOTED if len(names) > MOST_QUOTED + 1 else 0
    names = names[:MOST_QUOTED] if more else names
    if lang == "ja":
        return "".join(f"「{name}」" for name in names) + (f"ほか {count(more)} 個" if more else "")
    if not names:
        return ""
    first, end = list(names if more else names[:-1]), f"{count(more)} more" if more else repr(names[-1])
    return f"{', '.join(map(repr, first))} {last} {end}" if first else end


def listed(names: Iterable[object], most: int = 30, lang: str = "en") -> str:
    """Names for an error: at most `most` of them, then how many more.

    >>> listed(["age", "sex"]), listed("abc", 2), listed(["age", "sex"], lang="ja"), listed("abc", 2, "ja")
    ("'age', 'sex'", "'a', 'b' and 1 more", '「age」「sex」', '「a」「b」ほか 1 個')
    """
    if lang == "en":
        return listing(names, most)
    items = [f"「{name}」" for name in names]
    return "".join(items[:most]) + (f"ほか {len(items) - most} 個" if len(items) > most else "")


def width_of(text: str) -> int:
    """In letters; Chinese and Japanese ones count twice."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def size(value: int) -> str:
    """Bytes for people.

    >>> size(999), size(20480), size(3_500_000)
    ('999 B', '20.5 kB', '3.5 MB')
    """
    amount, unit = float(value), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            break
        amount /= 1000
    return f"{amount:.3g} {unit}"


# Message --------------------------------------------------------------------------------------------------------------


LANGUAGES = ("en", "ja")
UNSAID = "\0"  # begins the names of choices that pydantic makes, which nobody wrote
JOINTS = {  # between the parts of a list, by how its place in the template is written
    "en": {
        "": ", ",
        "remarks": "; ",
        "sentences": " ",
        "lines": "\n",
        "joined": "",
        "and": " and ",
        "or": " or ",
        "then": ", then ",
    },
    "ja": {
        "": "、",
        "remarks": "、",
        "sentences": "",
        "lines": "\n",
        "joined": "",
        "and": "、かつ ",
        "or": "又は",
        "then": "、次に ",
    },
}


class Message:
    """An id and its values: figures, names from tables, other messages, or lists of these.

    Text among the values is somebody's data (a column, a file) and the same in every language; words of ours are messages.
    A value from a row of a table is marked (`Raw`): its words are its kind, unless values may be shown.
    """

    __slots__ = ("id", "values")

    def __init__(self, id: str, /, **values: Any) -> None:
        self.id = id
        self.values: Mapping[str, Any] = values

    def say(self, lang: str = "en") -> str:
        """Return the message in one language."""
        part, _, rest = self.id.partition(".")
        template = catalogue(lang, part)[rest]
        if not self.id.startswith("error_"):
            return _FORMATTERS[lang].vformat(template, (), self.values)
        return without_passwords(_FORMATTERS[lang].vformat(template, (), _presentable(self.values)))

    def show(self, lang: str = "en") -> str:
        """Return the message with the values of the data, only for readers who may see these."""
        with values_shown():
            return self.say(lang)

    def placed(self, row_of: Callable[[Any], int | None]) -> Message:
        """The same; values of the data get the row in which `row_of` finds them."""
        return Message(self.id, **{name: _placed(value, row_of) for name, value in self.values.items()})

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON: the id, the values, and the English words."""
        return {
            "id": self.id,
            "values": {name: _plain(value) for name, value in self.values.items()},
            "text": str(self),
        }

    def __str__(self) -> str:
        return self.say()

    def __repr__(self) -> str:
        values = "".join(f", {name}={value!r}" for name, value in self.values.items())
        return f"Message({self.id!r}{values})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and (self.id, self.values) == (other.id, other.values)

    def __hash__(self) -> int:
        return hash((self.id, repr(self.values)))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """As a field of a model: itself in Python, its plain data in JSON."""
        from pydantic_core import core_schema  # noqa: PLC0415  (pydantic asks, so it is there; `oboro --help` loads none of it)

        shape = core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
        written = core_schema.plain_serializer_function_ser_schema(cls.as_dict, return_schema=shape, when_used="json")
        return core_schema.no_info_plain_validator_function(
            cls.read, serialization=written, json_schema_input_schema=shape
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        """The shape of its plain data."""
        texts = {name: {"type": "string"} for name in ("id", "text")}
        return {"type": "object", "properties": {**texts, "values": {"type": "object"}}, "required": ["id", "values"]}

    @classmethod
    def read(cls, value: Any) -> Message:
        """A message from its plain data, or from itself."""
        if isinstance(value, Message):
            return value
        if isinstance(value, Mapping) and {"id", "values"} <= value.keys():
            return Message(value["id"], **{name: _read(inner) for name, inner in value["values"].items()})
        raise ValueError("a message has an id and values")


Words = Message | str
"""What a place for words may hold: a message of ours, or somebody's data as it stands."""


def say(value: Any, lang: str = "en") -> Any:
    """The same with every message in words: a message, or whatever holds some (lists, tuples, mappings, dataclasses)."""
    if isinstance(value, Message):
        return value.say(lang)
    if isinstance(value, list | tuple):
        return type(value)(say(one, lang) for one in value)
    if isinstance(value, Mapping):
        return {name: say(inner, lang) for name, inner in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: say(getattr(value, one.name), lang) for one in fields(value) if one.init})
    return value


@cache
def catalogue(lang: str, part: str) -> Mapping[str, str]:
    """All messages whose id begins with `part`, by the rest of the id."""
    if lang not in LANGUAGES:
        raise UsageError(Message("error_text.language", known=list(LANGUAGES), lang=lang))
    if part in _BROUGHT:
        return _BROUGHT[part][lang]
    text = files("oboro.text").joinpath(lang, f"{part}.toml").read_text(encoding="utf-8")
    return dict(_flat(tomllib.loads(text)))


def bring_words(part: str, *, en: Mapping[str, str], ja: Mapping[str, str]) -> None:
    """Register words of another package, for messages whose id begins with `part`; both languages have the same ids.

    >>> bring_words("blur", en={"plan": "Blur {column}."}, ja={"plan": "{column} をぼかします。"})
    >>> Message("blur.plan", column="age").say("ja")
    'age をぼかします。'
    """
    if en.keys() != ja.keys():
        raise UsageError(Message("error_text.one_language", part=part, lacking=sorted(en.keys() ^ ja.keys())))
    if part not in _BROUGHT and files("oboro.text").joinpath("en", f"{part}.toml").is_file():
        raise UsageError(Message("error_text.own_words", part=part))
    _BROUGHT[part] = {"en": dict(en), "ja": dict(ja)}
    catalogue.cache_clear()


_BROUGHT: dict[str, dict[str, dict[str, str]]] = {}


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, inner in table.items():
        if isinstance(inner, str):
            yield before + name, inner.strip("\n")
        else:
            yield from _flat(inner, f"{before}{name}.")


def known(id: str) -> bool:
    """Return whether there is a message of this id."""
    part, _, rest = id.partition(".")
    return rest in catalogue("en", part)


class _Formatter(string.Formatter):
    """`{rows:count}`, `{share:percent}`, `{groups:many group}`: how a value is written stands in the template.

    Lists are joined with commas, or as `remarks`, `sentences` or `lines`; `capital` begins with a capital letter.
    """

    def __init__(self, lang: str) -> None:
        self.lang = lang

    def convert_field(self, value: Any, conversion: Any) -> Any:
        value = _opened(value)
        return value if isinstance(value, _Hidden) else super().convert_field(value, conversion)

    def format_field(self, value: Any, spec: str) -> str:
        kind, _, rest = spec.partition(" ")
        value = _opened(value)
        if isinstance(value, _Hidden):
            return value.words.say(self.lang)
        if kind == "many":  # 1 group, 2 groups
            return f"{count(value)} {_form(value, rest)}"
        if kind == "form":  # is|are
            return _form(value, rest)
        if kind == "word":  # a choice of ours (`equal`), by the message of that name
            return Message(f"{rest}.{value}").say(self.lang)
        if kind == "listing":  # names in quotes: at most 30 of them, or as many as stand there
            return printable(listed(value, int(rest or 30), self.lang))
        if kind in ("quoted", "either"):
            return printable(quoted(value, self.lang, last="and" if kind == "quoted" else "or"))
        if kind == "few":
            return few([printable(str(name)) for name in value], joint=JOINTS[self.lang][""])
        if kind in _KINDS:
            return _KINDS[kind](value)
        if kind == "capital":
            text = self._written(value, "")
            return text[:1].upper() + text[1:]
        return self._written(value, spec)

    def _written(self, value: Any, spec: str) -> str:
        if isinstance(value, Message | OboroError):  # words of ours, which may have several lines
            return value.say(self.lang)
        if isinstance(value, list | tuple):
            inner = "" if spec in JOINTS[self.lang] else spec
            return JOINTS[self.lang].get(spec, JOINTS[self.lang][""]).join(map(self._written, value, repeat(inner)))
        return printable(format(value, spec))


LONGEST = 300  # characters of a text that came from outside, in an error


def _presentable(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Values for an error, which ends on a terminal or in a log: no text is too long."""
    return {name: _cut(value) for name, value in values.items()}


def _cut(value: Any) -> Any:
    if isinstance(value, Raw):
        return Raw(_cut(value.value), value.row) if shows_values() else value
    if isinstance(value, PurePath):
        return _cut(str(value))
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[: LONGEST // 2]} … {value[-LONGEST // 2 :]}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**LONGEST:
        return f"{'-' if value < 0 else ''}1e{int(math.log10(abs(value)))}"
    return type(value)(map(_cut, value)) if type(value) in (list, tuple) else value


class _Hidden(NamedTuple):
    """Replacement text for values of the data."""

    words: Message


def _opened(value: Any) -> Any:
    """Return values of the data unchanged if they may be shown; else their replacement text."""
    if isinstance(value, Raw):
        return value.value if shows_values() else _Hidden(_hidden(value))
    if isinstance(value, list | tuple) and not isinstance(value, _Hidden) and Raw in map(type, value):
        if shows_values():
            return [one.value if isinstance(one, Raw) else one for one in value]
        first = next((one.row for one in value if isinstance(one, Raw) and one.row is not None), None)
        told = Message("raw.several", count=len(value))
        return _Hidden(told if first is None else Message("raw.first_row", count=len(value), row=first))
    return value


def _hidden(value: Raw) -> Message:
    what = Message(f"raw.{value.kind}", letters=value.letters)
    return what if value.row is None else Message("raw.row", what=what, row=value.row)


def _placed(value: Any, row_of: Callable[[Any], int | None]) -> Any:
    if isinstance(value, Raw | Message):
        return value.placed(row_of)
    return [_placed(one, row_of) for one in value] if isinstance(value, list) else value


def _form(value: float | list[Any], forms: str) -> str:
    """One of two forms, by a number or by how many a list has."""
    one, _, many = forms.partition("|")
    return one if (len(value) if isinstance(value, list) else value) == 1 else many or f"{one}s"


_KINDS: dict[str, Callable[[Any], str]] = {
    "count": count,
    "number": number,
    "percent": percent,
    "size": size,
}
_FORMATTERS = {"en": _Formatter("en"), "ja": _Formatter("ja")}


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return value.as_dict()
    if isinstance(value, Raw):
        return value.value if shows_values() else _hidden(value).say()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value


def _read(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Message.read(value)
    return [_read(one) for one in value] if isinstance(value, list) else value


# Lines for the terminal -----------------------------------------------------------------------------------------------
# A label and its text, one line below the other.


LABELS = {"en": 9, "ja": 10}  # letters; Japanese ones count twice


def labelled(label: Message, said: Message, lang: str = "en") -> str:
    """A line whose text begins where that of every other line begins."""
    words = label.say(lang)
    return f"{words}{' ' * max(1, LABELS[lang] - width_of(words))}{said.say(lang)}"
