"""Schema of a table: roles and attributes of its columns, references to further tables, and traits of techniques."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from pydantic_core import CoreSchema, core_schema

from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.folding import Fold, folded, merged_missing
from oboro.data.frames import Frame
from oboro.data.parameters import Parameters, names_shown
from oboro.errors import ColumnError, InputError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.spec import HierarchySpec
from oboro.system.files import beside
from oboro.text import Message, Words

__all__ = ["Attribute", "Opinion", "PrivacySpent", "Role", "Schema", "TableReference", "Traits"]


class Role(StrEnum):
    """What a column is to the person it speaks of."""

    IDENTIFIER = "identifier"  # names the person: must be dropped or pseudonymized
    QUASI = "quasi"  # known to others: together with its like it can single a person out
    SENSITIVE = "sensitive"  # the secret
    OTHER = "other"  # neither


class Attribute(Parameters):
    """What the recipe says of one column."""

    role: Role = Field(default=Role.OTHER, description="identifier, quasi, sensitive or other")
    hierarchy: HierarchySpec | None = Field(
        default=None, description="how values become coarser; without one: the value, or *"
    )
    weight: float = Field(
        default=1.0,
        ge=0,
        allow_inf_nan=False,
        description="how much losing detail here counts when solutions are compared",
    )
    fold: tuple[Fold, ...] = Field(
        (),
        description="which differences of writing do not make another secret or person: space, case, unicode (forms of a letter, "
        "invisible ones), number (01, 1.0); for sensitive columns and the person, values are released as they are",
    )


@dataclass(frozen=True)
class Schema:
    """The attributes of a table, with what is left of the hierarchies of columns that were already generalized."""

    attributes: Mapping[str, Attribute]
    folder: Path = Path(".")  # where relative paths of hierarchy files start
    remaining: Mapping[str, Hierarchy] = field(default_factory=dict)
    coming: Mapping[str, Future[Hierarchy | None]] = field(default_factory=dict, repr=False, compare=False)
    """Hierarchies that are read while the table is: those of 500,000 addresses take a second or two."""
    person: str | None = None
    """The column that says whose a row is, also after it was dropped: people are counted then, not rows."""
    # For the same column a hierarchy is built once.
    _built: dict[str, tuple[Column, HierarchySpec | None, Hierarchy]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def named(self, role: Role) -> list[str]:
        """The columns of one role, in the order of the recipe."""
        return [name for name, attribute in self.attributes.items() if attribute.role is role]

    @property
    def quasi(self) -> list[str]:
        """The quasi-identifiers."""
        return self.named(Role.QUASI)

    @property
    def sensitive(self) -> list[str]:
        """The sensitive columns."""
        return self.named(Role.SENSITIVE)

    def fold(self, name: str | None) -> tuple[Fold, ...]:
        """Return the differences in notation that are ignored in a column."""
        return self.attributes[name].fold if name is not None and name in self.attributes else ()

    def secret(self, name: str, data: Dataset) -> Column:
        """Return a sensitive column as its values are counted by the reader who merges the most.

        Values that differ only in what is folded are one; so are those that some readers take for missing (`merged_missing`).
        """
        return self.secret_readings(name, data)[0]

    def secret_readings(self, name: str, data: Dataset) -> list[Column]:
        """Return a sensitive column as read by those who merge the most and, where it differs, by those who tell words apart."""
        fold = self.fold(name)
        merged = folded(merged_missing(data[name], fold), fold)
        plain = folded(data[name], fold)
        return [merged] if len(merged.values) == len(plain.values) else [merged, plain]

    def chosen(self, names: list[str] | None, step: str) -> list[str]:
        """The columns that a step takes for quasi-identifiers: those that it names, or all that have the role."""
        names = self.quasi if names is None else names
        if not names:
            raise UsageError(Message("error_table.no_quasi", step=step))
        if len(set(names)) < len(names):
            raise UsageError(Message("error_table.quasi_twice", step=step, names=names))
        return names

    def hierarchy(self, name: str, column: Column) -> Hierarchy:
        """The hierarchy of a column as it is now: the recipe's, or what an earlier generalization left of it."""
        if name in self.remaining:
            return self.remaining[name].bind(column)
        spec = self.attributes[name].hierarchy if name in self.attributes else None
        known = self._built.get(name)
        if known is None or known[0] is not column or known[1] is not spec:
            whole = self.coming[name].result() if name in self.coming else None
            built = (spec or HierarchySpec()).build(name, column, self.folder) if whole is None else whole.bind(column)
            known = column, spec, built
            self._built[name] = known
        return known[2]

    def fitting_hierarchies(self, data: Dataset) -> dict[str, Hierarchy]:
        """Return the hierarchies that fit these columns; one that needs an earlier step is left out."""
        found = {}
        for name in dict.fromkeys((*self.quasi, *self.remaining)):
            with suppress(InputError):
                found[name] = self.hierarchy(name, data[name])
        return found

    def with_labels_of_any_number(self) -> Schema:
        """The schema with interval labels that do not depend on the values of the table, unless the recipe says which."""
        specs = {name: one.hierarchy for name, one in self.attributes.items() if one.hierarchy is not None}
        changed = {name: {"hierarchy": spec.of_any_number} for name, spec in specs.items()}
        return replace(
            self,
            attributes={name: one.model_copy(update=changed.get(name)) for name, one in self.attributes.items()},
        )

    def without(self, names: Iterable[str]) -> Schema:
        """The schema after columns were dropped."""
        attributes, remaining = dict(self.attributes), dict(self.remaining)
        for name in names:
            attributes.pop(name, None)
            remaining.pop(name, None)
        return replace(self, attributes=attributes, remaining=remaining)

    def with_role(self, name: str, role: Role) -> Schema:
        """The schema with one column in another role (a pseudonym is no identifier any more)."""
        changed = self.attributes.get(name, Attribute()).model_copy(update={"role": role})
        return replace(self, attributes={**self.attributes, name: changed})

    def with_remaining(self, name: str, hierarchy: Hierarchy) -> Schema:
        """The schema after a column was generalized: what is left of its hierarchy."""
        return replace(self, remaining={**self.remaining, name: hierarchy})

    def require(self, data: Dataset, names: Iterable[str], what: Words) -> None:
        """Raise a `ColumnError` that says `what` asked for a column that is not there."""
        names = list(names)
        if not data.columns.keys() >= set(names):
            unknown = [name for name in names if name not in data]
            raise ColumnError(
                Message(
                    "error_table.step_column",
                    what=what,
                    unknown=unknown,
                    columns=names_shown(data, [*names, *self.attributes]),
                )
            )


# Table references -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class TableReference:
    """A further table that a recipe or a step names: an earlier release, a population.

    A recipe names a file or another place; in Python it may also be a frame.
    """

    given: str | Dataset
    """The path or address as the recipe has it, or the table itself."""

    @classmethod
    def of(cls, value: Any) -> TableReference:
        """Return the reference that a recipe or a parameter means by `value`: a path, an address or a frame."""
        if isinstance(value, cls):
            return value
        if isinstance(value, str | Path):
            return cls(str(value))
        return cls(value if isinstance(value, Dataset) else Frame.read(value).data)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        """Make it a type of parameters: `of` validates, text is what is written down."""
        text = core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema())
        return core_schema.no_info_plain_validator_function(cls.of, serialization=text)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        return {"type": "string"}

    def __str__(self) -> str:
        return self.given if isinstance(self.given, str) else f"(a table of {self.given.rows} people)"

    def __repr__(self) -> str:
        return f"TableReference({str(self)!r})"  # no values of the table, which a log might keep

    @property
    def name(self) -> str | None:
        """The path or address as the recipe has it; None of a frame."""
        return self.given if isinstance(self.given, str) else None

    def file(self, folder: Path) -> Path | None:
        """Return the file that is read, or None of a frame and of a table at an address. A relative path starts at `folder`."""
        place = None if self.name is None else beside(folder, self.name)
        return place if isinstance(place, Path) else None

    def load(self, read: Callable[[str | Path], Dataset], folder: Path) -> Dataset:
        """Return the table; one in a file or at another place is read by `read`, a relative path from `folder` on."""
        return read(beside(folder, self.given)) if isinstance(self.given, str) else self.given


# Traits of techniques -------------------------------------------------------------------------------------------------
# Traits by which a release is judged without knowledge of single techniques.


Opinion = Literal["pseudonymisation", "noise", "aggregation"]


@dataclass(frozen=True)
class PrivacySpent:
    """Privacy budget that a step spends: ε and δ of its differential privacy for two tables that differ in one privacy unit."""

    unit: Literal["record", "value"]
    """record: somebody's record is in the table or not; value: a record has one value of a column or another."""
    epsilon: float
    delta: float = 0.0
    columns: tuple[str, ...] = ()
    """The columns that it speaks of; none: all that are released."""


@dataclass(frozen=True)
class Traits:
    """Traits that a technique states of itself. A report asks these and knows no technique by its name."""

    iso: Words
    """What ISO/IEC 20889 calls it."""
    random: bool = False
    """Whether values are drawn, disturbed or moved to other records by chance."""
    coarser: bool = False
    """Whether unusual values become coarser, or are left out."""
    reorders: bool = False
    """Whether the records lose the order of the original."""
    moves_records: bool = False
    """Whether the n-th record may afterwards be another person's."""
    by_construction: Words | None = None
    """What it promises by the way in which it works, and what nobody can see in the released table."""
    bounds_linkage: bool = False
    """Whether that promise is that nobody is linked to a record with more than 1/k certainty, k being a fact of the step."""
    spends: tuple[PrivacySpent, ...] = ()
    """What it takes of a budget of differential privacy; nothing: it is not differentially private."""
    opinion: Opinion | None = None
    """Which row of the table in WP216 (Article 29 Working Party, Opinion 05/2014) judges it."""
