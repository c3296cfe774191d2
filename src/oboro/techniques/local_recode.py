"""Local recoding: every group of similar records gets its own ranges and its own labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from oboro.algorithms.lattice.constraints import Rule, diversity_rule, rule_of
from oboro.algorithms.partitioning.density import bic
from oboro.algorithms.partitioning.mondrian import mondrian
from oboro.algorithms.partitioning.records import LocalAttribute, OrderedAttribute, Records, TreeAttribute, ranks
from oboro.algorithms.partitioning.top_down import top_down
from oboro.data.column import Column
from oboro.data.grouping import Groups
from oboro.errors import PromiseError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.labels import range_marks
from oboro.notations.kinds import STAR, Kind
from oboro.privacy.attribute import AttributeModel, Closeness, Diversity
from oboro.schema import Opinion, Schema
from oboro.techniques import columns
from oboro.techniques.base import Outcome, SecretExample, Technique, Work
from oboro.techniques.columns import places, written
from oboro.techniques.requirements import attribute_models, keeps_or_not
from oboro.text import Message, Words
from oboro.verifier.identity import KAnonymity
from oboro.verifier.judges import judge_attribute
from oboro.verifier.promises import Promise

__all__ = ["LocalRecode"]


Method = Literal["mondrian", "relaxed_mondrian", "top_down", "bic"]


class LocalRecode(Technique):
    """Put k or more similar records together and let each group say only what its members have in common.

    Unlike `k_anonymize`, which takes one level for all, every group has its own ranges and levels; that loses far less.
    A group's number becomes the range from its smallest to its largest (or their mean); a category the lowest common
    ancestor in its hierarchy, without a hierarchy the set of the values if it is small, else `*`.

    Given: k records or more; numbers, dates or categories as quasi-identifiers (numbers with a `mask` hierarchy count
    as categories); with `bic` numbers only; for l-diversity and t-closeness sensitive columns, of which the whole table
    must keep the demand. A missing value is a value of its own: a group of missing ones stays missing, a group with and
    without says `*`.
    Promises: every combination of released quasi-identifiers occurs k times or more and keeps every other demand. The
    order of the rows does not matter, except for who of several like records goes to which of two groups. Other
    columns, rows and their order stay.
    Checked by: the verifier on the released table; tests/techniques/test_local_recode.py, groups against plain loops.

    >>> people = {"age": [31, 32, 38, 45], "sex": ["F", "F", "M", "M"]}
    >>> roles = {"age": {"role": "quasi"}, "sex": {"role": "quasi"}}
    >>> LocalRecode(k=2).apply(people, attributes=roles)
    {'age': ['31–32', '31–32', '38–45', '38–45'], 'sex': ['F', 'F', 'M', 'M']}
    """

    step: ClassVar[str] = "local_recode"
    promises: ClassVar[bool] = True
    iso: ClassVar[Words] = Message("technique.local_recode.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"k": 2},
        {"k": 3, "method": "top_down", "l_diversity": {"disease": 2}},
        {"k": 3, "method": "relaxed_mondrian", "t_closeness": {"disease": 0.4}, "publish": "hierarchy"},
        {"k": 3, "method": "bic", "quasi": ["age", "income"], "publish": "mean"},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample({"k": 5})
    coarser: ClassVar[bool] = True
    opinion: ClassVar[Opinion | None] = "aggregation"
    uses_hierarchies: ClassVar[bool] = True
    not_in_stream: ClassVar[Message | None] = Message("technique.stream.local")

    k: int = Field(ge=1)
    """Every group must have at least this many records."""
    method: Method = "mondrian"
    """mondrian, relaxed_mondrian, top_down (the least information loss, slower) or bic (numbers only: split where the
    density changes)."""
    publish: Literal["ranges", "hierarchy", "mean"] = "ranges"
    """What a group shows of a number: its range, a label of its hierarchy (where it has one), or the mean."""
    largest_set: int = Field(default=3, ge=1)
    """Categories without a hierarchy: a group lists up to this many values; more become `*`."""
    l_diversity: dict[str, Annotated[float, Field(ge=1)] | Diversity] = Field(default_factory=dict)
    """For each sensitive column: how many different values every group must have. Or l with a kind, and c."""
    t_closeness: dict[str, Annotated[float, Field(ge=0, le=1)] | Closeness] = Field(default_factory=dict)
    """For each sensitive column: how far its distribution in a group may be from that in the whole table. Or t with a distance."""
    quasi: list[str] | None = Field(default=None, min_length=1)
    """The columns to recode. Without it: all quasi-identifiers."""
    blind: bool = False
    """Whether groups are formed by the quasi-identifiers alone, never by the secrets in them: then nobody learns more from the
    grouping than the table shows. Where the other demands do not hold on it, nothing is released."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.method == "bic" and (self.l_diversity or self.t_closeness):
            raise ValueError(Message("error_technique.bic_numbers"))
        if self.method == "bic" and self.publish == "hierarchy":
            raise ValueError(Message("error_technique.bic_ranges"))
        return self

    def cannot_count_people(self) -> Message | None:
        """What looks at numbers alone."""
        return Message("technique.local_recode.bic_not_people") if self.method == "bic" else None

    def run(self, work: Work) -> Outcome:
        """Group, then publish what each group has in common."""
        data, schema = work.data, work.schema
        names = schema.chosen(self.quasi, self.step)
        demands = self.demands(schema)
        schema.require(data, [*names, *(sensitive for sensitive, _ in demands)], self.step)
        secrets = {name: schema.secret_readings(name, data) for name, _ in demands}
        models = [
            judge_attribute(demand, name, _tree(name, secrets[name][0], demand, schema)).folding(schema.fold(name))
            for name, demand in demands
        ]
        promise = Promise(self.step, tuple(names), (KAnonymity(k=self.k), *models))
        if data.rows == 0:
            return Outcome(data, schema, {"method": self.method, "k": self.k, "groups": 0}, (promise,))
        attributes = {name: self._attribute(name, data[name], schema) for name in names}
        rules = (
            [] if self.blind else [rule for name, one in demands for rule in _rules(name, one, secrets[name], schema)]
        )
        groups = self._groups(attributes, rules, work.person)
        released = {name: self._published(name, data[name], one, groups) for name, one in attributes.items()}
        outcome = Outcome(data.with_columns(released), schema, self._facts(attributes, groups), (promise,))
        return keeps_or_not(outcome, promise, work.person, self.k) if self.blind else outcome

    def promised_over(self, schema: Schema) -> list[Sequence[str]]:
        """The quasi-identifiers, all together."""
        return [schema.chosen(self.quasi, self.step)]

    def plan(self, schema: Schema) -> Words:
        """Who stands together, what they say, and what that promises."""
        names = schema.chosen(self.quasi, self.step)
        common = [Message("technique.local_recode.common_label")]
        common += [demand.plan(name) for name, demand in self.demands(schema)]
        plan = Message(
            "technique.local_recode.plan" if schema.person is None else "technique.local_recode.plan_people",
            k=self.k,
            person=schema.person,
            columns=names,
            method=self.method,
            number=self.publish,
            common=common,
        )
        told = Message("technique.local_recode.blind" if self.blind else "technique.local_recode.groups_tell")
        return Message("text.sentences", said=[plan, told]) if self.demands(schema) else plan

    def demands(self, schema: Schema) -> list[tuple[str, AttributeModel]]:
        """Return every model of a sensitive attribute that is asked for, with the attribute."""
        quasi = schema.chosen(self.quasi, self.step)
        demands = attribute_models({key: getattr(self, key) for key in ("l_diversity", "t_closeness")})
        if both := [name for name, _ in demands if name in quasi]:
            raise UsageError(Message("error_technique.quasi_and_sensitive", step=self.step, both=both))
        return demands

    def _people(self, person: Column) -> Rule:
        """k people are k different values of the column that says whose a row is: a union of groups holds no fewer."""
        people = int(np.count_nonzero(person.counts))
        if people < self.k:
            raise PromiseError(Message("error_technique.few_people", step=self.step, people=people, k=self.k))
        return diversity_rule("person", person, l=self.k)

    def _attribute(self, name: str, column: Column, schema: Schema) -> LocalAttribute:
        known = schema.attributes.get(name)
        weight = known.weight if known is not None else 1.0
        spec = known.hierarchy if known is not None else None
        by_label = name in schema.remaining or (
            spec is not None and (spec.mask is not None or self.publish == "hierarchy")
        )
        if self.method == "bic" or (_is_number(column) and not by_label):
            return OrderedAttribute.of(column, name, weight)
        return TreeAttribute.of(column, schema.hierarchy(name, column), weight)

    def _groups(self, attributes: Mapping[str, LocalAttribute], rules: list[Rule], person: Column | None) -> Groups:
        if self.method == "bic":
            return bic(
                [one for one in attributes.values() if isinstance(one, OrderedAttribute)], self._enough(attributes)
            )
        if person is not None:
            rules = [rule.counting(person) for rule in rules]
        people = None if person is None else self._people(person)
        records = Records.of(list(attributes.values()), rules, person=people)
        k = self._enough(attributes)
        if not records.keeps():
            raise PromiseError(
                Message("error_technique.one_group", step=self.step, secrets=sorted({rule.secret for rule in rules}))
            )
        if self.method == "top_down":
            return top_down(records, k)
        return mondrian(records, k, relaxed=self.method == "relaxed_mondrian")

    def _enough(self, attributes: Mapping[str, LocalAttribute]) -> int:
        rows = next(iter(attributes.values())).codes.size
        if rows < self.k:
            raise PromiseError(Message("error_technique.fewer_than_k", step=self.step, rows=rows, k=self.k))
        return self.k

    def _published(self, name: str, column: Column, attribute: LocalAttribute, groups: Groups) -> Column:
        if isinstance(attribute, OrderedAttribute):
            if self.publish == "mean":
                return _mean(name, column, groups)
            return _range(column, attribute, groups)
        return _ancestor(column, attribute, groups, self.largest_set)

    def _facts(self, attributes: Mapping[str, LocalAttribute], groups: Groups) -> dict[str, Any]:
        return {
            "method": self.method,
            "k": self.k,
            "groups": len(groups),
            "smallest": int(groups.sizes.min()),
            "largest": int(groups.sizes.max()),
            "mean": float(groups.sizes.mean()),
        }


def _is_number(column: Column) -> bool:
    return column.kind.numeric


# Sensitive columns ----------------------------------------------------------------------------------------------------


def _tree(name: str, column: Column, demand: AttributeModel, schema: Schema) -> Hierarchy | None:
    return schema.hierarchy(name, column) if demand.hierarchical else None


def _rules(name: str, demand: AttributeModel, readings: Sequence[Column], schema: Schema) -> list[Rule]:
    """Build the rules of a demand, one for each reading of its sensitive column that may break it."""
    return [_rule(name, demand, one, schema) for one in (readings if demand.compares_with_table else readings[:1])]


def _rule(name: str, demand: AttributeModel, secret: Column, schema: Schema) -> Rule:
    """What the deciding side makes of a demand; values in the order of their texts, so that rows may come in any."""
    column = secret.tidy()
    order = ranks(column)
    column = Column(column.values.take(pa.array(np.argsort(order))), order[column.codes])
    return rule_of(demand, name, column, _tree(name, column, demand, schema))


# Labels of a group ----------------------------------------------------------------------------------------------------


def _ends(codes: np.ndarray, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest code of each group."""
    order, starts = groups.members()
    return np.minimum.reduceat(codes[order], starts[:-1]), np.maximum.reduceat(codes[order], starts[:-1])


def _mean(name: str, column: Column, groups: Groups) -> Column:
    numbers = places(column, name)[column.codes]
    if np.isnan(numbers).all():
        return column
    shared = columns.without_minority(columns.mean(numbers, groups), numbers, groups)
    return Column(written(shared, column, name), groups.labels).tidy()


def _range(column: Column, attribute: OrderedAttribute, groups: Groups) -> Column:
    """`31–38`; `-5 to 3` and dates with a word, so that no dash reads as a sign; Japanese dates with `〜`; one value as itself."""
    low, high = _ends(attribute.codes, groups)
    if (low == high).all() and len(column.values) == attribute.width:
        return column  # nobody had to give anything up, and no two texts mean one number
    first, last = attribute.texts.take(pa.array(low)), attribute.texts.take(pa.array(high))
    dash = range_marks(first, plain=column.kind in (Kind.INTEGER, Kind.NUMBER))
    labels = pc.binary_join_element_wise(first, dash, last, "", null_handling="emit_null")
    labels = pc.if_else(pa.array((high == attribute.missing) & (low < high)), STAR, labels)
    return Column(pc.if_else(pa.array(low == high), first, labels), groups.labels).tidy()


def _ancestor(column: Column, attribute: TreeAttribute, groups: Groups, largest_set: int) -> Column:
    """The label on the lowest level that has one for the whole group; for a value or `*`, a small set of values."""
    labels, level = pa.nulls(len(groups), pa.string()), 0
    open_ = np.ones(len(groups), dtype=bool)
    for level, names in enumerate(attribute.labels):
        low, high = _ends(attribute.table[level][attribute.codes], groups)
        settled = open_ & (low == high)
        labels = pc.if_else(pa.array(settled), names.take(pa.array(low)), labels)
        open_ &= low != high
        if not open_.any():
            break
        if level == 0 and len(attribute.labels) == 2 and largest_set > 1:
            labels, open_ = _sets(attribute, groups, labels, open_, largest_set)
    if level == 0:
        return column  # nobody had to give anything up
    return Column(labels, groups.labels).tidy()


def _sets(
    attribute: TreeAttribute, groups: Groups, labels: pa.Array, open_: np.ndarray, most: int
) -> tuple[pa.Array, np.ndarray]:
    """`{A, B}` for the groups that hold few enough values, none of them missing or `*`."""
    pairs = np.unique(groups.labels.astype(np.int64) * attribute.width + attribute.codes)
    owner, code = pairs // attribute.width, pairs % attribute.width
    count = np.bincount(owner, minlength=len(groups))
    texts = attribute.labels[0].take(pa.array(code))
    offsets = pa.array(np.append(0, np.cumsum(count)).astype(np.int32))
    texts = pc.if_else(pc.equal(texts, STAR), None, texts)
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, texts), ", ")  # null where a value is missing or `*`
    small = open_ & (count <= most) & joined.is_valid().to_numpy(zero_copy_only=False)
    sets = pc.binary_join_element_wise("{", joined, "}", "")
    return pc.if_else(pa.array(small), sets, labels), open_ & ~small
