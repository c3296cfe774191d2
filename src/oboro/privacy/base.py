"""Privacy models as declarations, and the registry of them.

A declaration says everything about a model that needs no table: parameters, words, keywords, controls of forms, and the
bound that it sets on attacks. It holds no data and no earlier releases. The judge of a model in `privacy/x` is in
`verifier/x`, its rule for the search in `algorithms/lattice/constraints`; both are found by the declaration, and neither
knows the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, Literal, Self, get_args

from oboro.data.parameters import Parameters
from oboro.text import Message

__all__ = ["MODELS", "Bounds", "Control", "Keyword", "PrivacyModel", "Scope", "keywords_of", "model_named"]

FAMILIES = ("identity", "risk", "attribute", "economics", "differential", "series")
Scope = Literal["class", "table", "population", "attribute", "worth", "release"]


@dataclass(frozen=True)
class Keyword:
    """A keyword of `oboro.verify` and the option of the command line that asks the same."""

    name: str
    parameters: tuple[str, ...]
    """The parameters of the judge that it gives: one, or two as a pair."""
    kind: str = "float | None"
    """The annotation of the keyword."""
    default: Any = None
    option: str | None = ""
    """The parameter of the command, where it has another name than the keyword; None where there is no option."""
    example: str = ""
    """The example that an error shows for a pair on the command line."""
    wrong: str = ""
    """The id of the error where the value is no pair."""


@dataclass(frozen=True)
class Control:
    """The slider of the web form by which a model is asked for."""

    group: Literal["main", "secrets", "risk", "population"]
    steps: str | tuple[float, ...]
    """The values of the slider, or the name of a scale of the form."""
    off: float
    """The value that asks for nothing."""
    show: Literal["number", "percent", "count"] = "number"
    part: str | None = None
    """The parameter that the slider sets, where the recipe writes the model with names."""
    choice: str | None = None
    """A parameter with named choices, shown where the model is asked for."""
    also: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that are set with the first value."""
    amount: tuple[str, str] | None = None
    """A further parameter that is typed, and the id of its label."""
    last: bool = False
    """Whether it comes after the other controls of its group."""


@dataclass(frozen=True)
class Bounds:
    """The facts of one sensitive attribute of a release by which models bound inference."""

    everywhere: float | None
    """The share of the attribute's most frequent value in the whole table; None where it is not known."""
    values: int
    """The number of different values of the attribute."""


class PrivacyModel(Parameters):
    """A privacy model with its parameters, as a recipe writes them."""

    key: ClassVar[str]
    """The name in the registry, and in recipes the key of the model."""
    scope: ClassVar[Scope]
    """The thing that is judged: the size of each class, all classes together, the people of a population that match a class, the
    values of a sensitive attribute in each class, the worth of each class, or the release as a whole."""
    words: ClassVar[Mapping[str, Mapping[str, Any]]]
    """The ids of the messages that name the model in verdicts, each with the parameters that it implies."""
    limit: ClassVar[str]
    """The parameter that a bare number stands for."""
    examples: ClassVar[Sequence[Mapping[str, Any]]]
    """Parameters with which the common checks try the model; they can be kept on a table of eight records."""
    in_recipe: ClassVar[bool] = True
    """Whether recipes write the model under its key; others are made by a technique or by several releases."""
    scalar: ClassVar[bool] = False
    """Whether recipes write the limit alone, and never parameters by name."""
    for_all: ClassVar[bool] = False
    """Whether recipes may write one limit for all sensitive attributes."""
    compares_with_table: ClassVar[bool] = False
    """Whether classes are compared with the whole table. Then a reader who tells more values apart may also see it violated."""
    estimated: ClassVar[bool] = False
    """Whether the judge estimates from the sizes of all classes alone; a search then asks it for those of each choice."""
    keywords: ClassVar[Sequence[Keyword]] = ()
    """The keywords of `oboro.verify`; the first asks for the model."""
    control: ClassVar[Control | None] = None
    unjudged: ClassVar[str] = ""
    """The reason why no judge decides the model on a released table."""
    unsearched: ClassVar[str] = ""
    """The reason why no search decides by the model."""
    unbounded: ClassVar[str] = ""
    """The reason why the model bounds no attack."""

    @property
    def hierarchical(self) -> bool:
        """Whether the hierarchy of the sensitive attribute is needed."""
        return False

    def plan(self, sensitive: str | None = None) -> Message:
        """Describe the requirement on each class, as a part of the plan of a step."""
        raise NotImplementedError

    def judged(self, sample: int) -> dict[str, Any]:
        """Return the parameters of the judge, for a table of so many records, or people."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    def least_class(self, sample: int) -> int:
        """Return the least size that the model asks of each class, for a table of so many records, or people."""
        return 1

    @property
    def at_risk(self) -> tuple[int, float] | None:
        """The size below which the records of a class are at risk, and the greatest share of such records; None without a limit."""
        return None

    def largest_share(self, bounds: Bounds) -> float | None:
        """Bound the share of any value of the sensitive attribute in a class; None where the model sets no bound."""
        return None

    @property
    def linked(self) -> float | None:
        """Bound on the probability that a person is linked to the right record; None where the model sets none."""
        return None

    @classmethod
    def wrong_keywords(cls, given: Mapping[str, Any]) -> Message | None:
        """Explain why the keywords of the model do not fit together; None where they do."""
        return None

    @classmethod
    def of_limit(cls, given: Any) -> Self:
        """Return the declaration that a recipe wrote: itself, or a bare number as the limit."""
        return given if isinstance(given, cls) else cls(**{cls.limit: given})

    @classmethod
    def of_words(cls, words: Message) -> Self:
        """Read the parameters from the message by which a verdict names the model."""
        given = {**cls.words[words.id], **words.values}
        return cls(**{name: given[name] for name in cls.model_fields if given.get(name) is not None})

    @classmethod
    def choices(cls, parameter: str) -> tuple[str, ...]:
        """The named choices of a parameter, the usual one first."""
        return get_args(cls.model_fields[parameter].annotation)


class Registry(Mapping[str, type[PrivacyModel]]):
    """All privacy models by their keys; the files of the families are loaded when one is first asked for."""

    @cached_property
    def _found(self) -> dict[str, type[PrivacyModel]]:
        found: dict[str, type[PrivacyModel]] = {}
        for family in FAMILIES:
            module = import_module(f"oboro.privacy.{family}")
            declared = (one for one in vars(module).values() if isinstance(one, type) and "key" in vars(one))
            for one in declared:
                if one.__module__ == module.__name__ and issubclass(one, PrivacyModel):
                    found[one.key] = one
        return found

    def __getitem__(self, key: str) -> type[PrivacyModel]:
        return self._found[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def in_recipes(self, *scopes: Scope) -> list[str]:
        """Return the keys that recipes write, of some scopes or of all, those of sensitive attributes first."""
        found = [key for key, one in self.items() if one.in_recipe and (not scopes or one.scope in scopes)]
        order: tuple[tuple[Scope, ...], ...] = (
            ("attribute",),
            ("class", "table", "release"),
            ("population",),
            ("worth",),
        )
        return [key for scopes in order for key in found if self[key].scope in scopes]

    @cached_property
    def by_words(self) -> dict[str, type[PrivacyModel]]:
        """The model of each id that a verdict may name."""
        return {id: one for one in self.values() for id in one.words}


MODELS = Registry()
"""Every privacy model that a recipe, `oboro.verify` or a release can state."""


def model_named(words: Message) -> PrivacyModel | None:
    """Return the model that a verdict names, with its parameters; None for a name that no model has.

    >>> model_named(Message("model.k_anonymity", k=3))
    KAnonymity(k=3)
    """
    declared = MODELS.by_words.get(words.id)
    return None if declared is None else declared.of_words(words)


def keywords_of(models: Iterable[type[PrivacyModel]]) -> dict[str, Keyword]:
    """Return the keywords of some models by their names; one that several models share comes after the first of each."""
    found: dict[str, Keyword] = {}
    for keyword in (one for model in models for one in model.keywords):
        found.pop(keyword.name, None)
        found[keyword.name] = keyword
    return found
