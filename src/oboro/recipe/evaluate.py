"""Evaluation of a release by any tool against its original: re-identification risk, attacks, and utility.

One function serves Python and the command line. Roles come from a recipe, from arguments, or from a guess.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oboro.attacks.attacker_view import compare_columns
from oboro.attacks.concealment import candidates, linkage
from oboro.attacks.row_pairing import correspond, link_rows
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.folding import folded
from oboro.data.frames import Frame
from oboro.data.parameters import Names, at_the_door, named_columns, names_shown
from oboro.data.row_order import Rows, released_person, same_rows
from oboro.disclosure.counted_people import ask_for_person
from oboro.disclosure.earlier_releases import attack_series
from oboro.errors import InputError, OboroError, UsageError
from oboro.hierarchies.hierarchy import Hierarchy
from oboro.hierarchies.labels import without_star
from oboro.hierarchies.recoding import implied_hierarchy
from oboro.io.places.place import names_a_place
from oboro.io.read import Source, read, read_data
from oboro.measures.base import Measure
from oboro.notations.amounts import has_decimal_commas
from oboro.notations.kinds import STAR, kind_of
from oboro.notations.texts import is_text
from oboro.recipe.evidence import files_evidence, hierarchy_roles, measure
from oboro.recipe.randomness import moves_rows
from oboro.recipe.recipe import Recipe
from oboro.recipe.roles import guess_roles
from oboro.recipe.stream import stream_metrics, verified
from oboro.schema import Attribute, Role, Schema
from oboro.techniques import Technique
from oboro.techniques.base import Work
from oboro.techniques.drop_records import DropRecords
from oboro.techniques.k_anonymize import KAnonymize
from oboro.techniques.k_conceal import KConceal
from oboro.techniques.local_recode import LocalRecode
from oboro.techniques.population import PopulationCodes
from oboro.techniques.requirements import ClassDemands
from oboro.text import Message
from oboro.verifier.identity import KAnonymity, Model
from oboro.verifier.judges import judge_attribute
from oboro.verifier.promises import Promise, judge_together
from oboro.verifier.readings import fewest_people
from oboro.verifier.table import verify
from oboro.verifier.verdict import Verdict, Verification

if TYPE_CHECKING:
    from oboro.attacks.series import SeriesRisk
    from oboro.privacy.attribute import AttributeModel
from oboro.report.report import Report

__all__ = [
    "attacks",
    "comparable",
    "dataset_of",
    "diversity_of",
    "earlier_of",
    "evaluate",
    "explained",
    "hidden_columns",
    "named_promises",
    "owners",
    "promised_by_recipe",
    "renaming",
    "series_of_steps",
    "tables_of",
]


# Comparable tables ----------------------------------------------------------------------------------------------------
# Make a release by another tool comparable with its original: names of columns, decimal commas, NA for suppressed.
#
# Every assumption is stated in one sentence, which becomes a warning of the report.


NOTHING = ("NA", "<NA>", "N/A", "NaN", "nan", "NULL", "null", "None", "?", ".")
COMMA, WITH_COMMA = r"^([-+]?[0-9]+),([0-9]+)$", r"^[-+]?[0-9.]+,[0-9]+$"


def comparable(
    original: Dataset, released: Dataset, names: Mapping[str, str]
) -> tuple[Dataset, Dataset, list[Message]]:
    """Return both tables in comparable form, and the assumptions. `names` maps released to original columns where names differ."""
    released, pairs = _renamed(original, released, names)
    before, after = dict(original.columns), dict(released.columns)
    commas, blanks = [], []
    for name in [name for name in after if name in before]:
        old = _numbers(before[name])
        new = _without(after[name], [word for word in _words(after[name]) if word not in _words(old)])
        if kind_of(without_star(old.values)).numeric:
            commas += [name] if _commas(before[name]) or (_commas(new) and _numbers(new) is not new) else []
            new = _numbers(new)
        if old.missing < 0 <= new.missing:
            new = new.where(new.codes == new.missing, STAR)
            blanks.append(name)
        before[name], after[name] = old, _still_as_written(new, after[name])
    said = {"same_columns": pairs, "decimal_commas": commas, "blanks_suppressed": blanks}
    notes = [Message(f"report.warning.{name}", columns=found) for name, found in said.items() if found]
    return replace(original, columns=before), replace(released, columns=after), notes


def renaming(text: str | None) -> dict[str, str]:
    """Parse `Age=age,ZIP=zip` into a table from released to original names."""
    pairs = [part.split("=") for part in (text or "").split(",") if part.strip()]
    if any(len(pair) != 2 or not all(map(str.strip, pair)) for pair in pairs):
        raise UsageError(Message("error_recipe.rename_pairs", text=text))
    return {new.strip(): old.strip() for new, old in pairs}


def explained(original: Dataset, released: Dataset, schema: Schema, rows: Rows | None) -> tuple[Schema, list[Message]]:
    """Add the hierarchies that recoded columns show where the recipe has none; return the schema, assumptions and open points.

    `rows`: for each released row the original one, if known.
    """
    found: dict[str, Hierarchy] = {}
    for name in (name for name in released if name in original):
        given = schema.attributes.get(name)
        if given is None or given.hierarchy is None:
            shown = implied_hierarchy(name, original[name], released[name], rows)
            found.update({} if shown is None else {name: shown})
    schema = replace(schema, remaining=found)
    trees = schema.fitting_hierarchies(original)
    asked = [name for name in (*schema.quasi, *schema.sensitive) if name in original]
    lacking = [name for name in asked if name not in released]
    added = [name for name in released if name not in original]
    unclear = [
        name
        for name in schema.quasi
        if name in released and compare_columns(original[name], released[name], trees.get(name), rows).nobody.any()
    ]
    said = {"labels_read": list(found), "labels_unclear": unclear}
    notes = [Message("report.warning.not_released", columns=lacking, added=added)] if lacking and added else []
    notes += [Message(f"report.warning.{name}", columns=names) for name, names in said.items() if names]
    return schema, notes


# Names of columns -----------------------------------------------------------------------------------------------------


def _renamed(original: Dataset, released: Dataset, names: Mapping[str, str]) -> tuple[Dataset, list[str]]:
    for new, old in names.items():
        if new not in released or old not in original:
            if new not in released:
                raise UsageError(
                    Message("error_recipe.rename_released", column=new, columns=names_shown(released, names))
                )
            raise UsageError(
                Message("error_recipe.rename_original", column=old, columns=names_shown(original, names.values()))
            )
    alike = {**_alike(original, released), **names}
    columns = {alike.get(name, name): column for name, column in released.columns.items()}
    if len(columns) < len(released.columns):
        raise UsageError(Message("error_recipe.rename_same"))
    if not any(name in original for name in columns):
        both = {"original": names_shown(original, released), "released": names_shown(released, original)}
        raise UsageError(Message("error_recipe.nothing_in_common", **both))
    guessed = [f"{new} = {old}" for new, old in alike.items() if new not in names]
    return replace(released, columns=columns), guessed


def _alike(original: Dataset, released: Dataset) -> dict[str, str]:
    """Released names that are an original one but for capitals, spaces and marks (`marital.status`), and no other's."""
    lacking = [name for name in original if name not in released]
    bare = {name: "".join(filter(str.isalnum, name.casefold())) for name in (*original, *released)}
    often = Counter(bare[name] for name in lacking)
    once = {bare[name]: name for name in lacking if bare[name] and often[bare[name]] == 1}
    new = [name for name in released if name not in original and bare[name] in once]
    return {name: once[bare[name]] for name in new if sum(bare[one] == bare[name] for one in new) == 1}


# Values of columns ----------------------------------------------------------------------------------------------------


def _still_as_written(column: Column, released: Column) -> Column:
    """The column with what it was written as beside it: whoever reads the release tells `NA` from an empty cell."""
    return column if column is released else replace(column, finer=released.finer or (lambda: released))


def _numbers(column: Column) -> Column:
    """A column of numbers that were written with a decimal comma, or beside words for nothing; any other as it is."""
    if not (_commas(column) or _words(column)):
        return column
    plain = _without(column, NOTHING)
    certain = has_decimal_commas(without_star(plain.values))  # then a point is between thousands
    if kind_of(column.values).numeric and not certain:
        return column
    texts = pc.replace_substring(plain.values, ".", "") if certain else plain.values
    points = pc.replace_substring_regex(texts, COMMA, r"\1.\2")
    if not kind_of(without_star(points)).numeric:
        return column
    return plain.recode(np.arange(len(points)), points)


def _commas(column: Column) -> bool:
    if not is_text(column.values) or not pc.any(pc.match_substring(column.values, ",")).as_py():
        return False  # a look for the letter alone is much faster
    return bool(pc.any(pc.match_substring_regex(column.values, WITH_COMMA)).as_py())


def _words(column: Column) -> list[str]:
    """The words for nothing that a column holds."""
    if not is_text(column.values):
        return []
    found: list[str] = column.values.filter(pc.is_in(column.values, value_set=pa.array(NOTHING))).to_pylist()
    return found


def _without(column: Column, words: Sequence[str]) -> Column:
    """The column with these words as missing values. O(dictionary)."""
    if not is_text(column.values) or not words:
        return column
    hit = pc.is_in(column.values, value_set=pa.array(words, column.values.type))
    if not pc.any(hit).as_py():
        return column
    return column.recode(np.arange(len(hit)), pc.if_else(hit, None, column.values))


# Attacks on a k-concealed release -------------------------------------------------------------------------------------
# The attacker knows all originals.


NO_TRUTH = Message("measure.note.no_truth")


def owners(truth: Dataset, original: Dataset, released: Dataset) -> np.ndarray:
    """Return the original row of each released record, from a table whose first column has it, counted from 1."""
    if not truth.columns:
        raise InputError(Message("error_recipe.truth_rows", rows=0, records=released.rows))
    name = next(iter(truth))
    numbers = truth[name].numbers(name)[truth[name].codes]
    if numbers.size != released.rows:
        raise InputError(Message("error_recipe.truth_rows", rows=numbers.size, records=released.rows))
    known = np.isfinite(numbers) & (numbers >= 1) & (numbers <= original.rows) & (numbers == np.floor(numbers))
    if not known.all():
        raise InputError(Message("error_recipe.truth_range", row=int(np.argmin(known)) + 1, rows=original.rows))
    rows = np.asarray(numbers.astype(np.int64) - 1)
    if np.unique(rows).size != rows.size:
        raise InputError(Message("error_recipe.truth_twice"))
    return rows


def attacks(
    plan: Recipe, schema: Schema, original: Dataset, released: Dataset, truth: Dataset | None = None
) -> list[Measure]:
    """Attack a release of `k_conceal`; return no attacks for other recipes.

    Without the truth only how many candidates they are left with. With it, how often the guess of the middle one, the
    guess by running the step again (built around its owner, as its deterministic part is), and what follows from some
    disclosed people's records are right, beside the 1/k of a blind guess.
    """
    step = next((one for one in plan.steps if isinstance(one, KConceal)), None)
    if step is None or original.rows < step.k:
        return []
    names = step.quasi if step.quasi is not None else schema.quasi
    quasi = [name for name in names if name in released and name in original]
    trees = {}
    if step.publish == "hierarchy":
        trees = {name: schema.hierarchy(name, original[name]) for name in quasi}
    if truth is None:
        return [replace(candidates(original, released, quasi, trees), notes=(NO_TRUTH,))]
    owned = replace(released, origin=owners(truth, original, released))
    again = step.model_copy(update={"truth": "identity"}).run(Work(original, schema, np.random.default_rng(0))).data
    return [
        candidates(original, released, quasi, trees),
        *linkage(original, owned, quasi, trees, k=step.k, again=again),
    ]


# Verification of named guarantees -------------------------------------------------------------------------------------
# Privacy models that the caller names, or those of a recipe's steps.


def named_promises(
    asked: Mapping[str, Any],
    plan: Recipe | None,
    schema: Schema,
    original: Dataset,
    released: Dataset,
    person: Column | None,
) -> Verification | None:
    """Verify the `asked` guarantees (k, l, kind, c, t, alpha), else those of a recipe's steps; None where there are none."""
    quasi = [name for name in schema.quasi if name in released]
    if any(asked.get(name) is not None for name in ("k", "l", "t", "alpha")):
        data, whose = (released, None) if person is None else (released.with_columns({PERSON: person}), PERSON)
        secret = [name for name in schema.sensitive if name in released]
        needed = secret if any(asked.get(name) is not None for name in ("l", "t", "alpha")) else None
        return verify(data, quasi=quasi, sensitive=needed, person=whose, **asked)
    promises = [] if plan is None else list(_of_steps(plan, schema, original, person))
    several = len({frozenset(over) for one in promises if (over := one.over(released))}) > 1
    kept = [one for one in promises if one.over(released)]
    found = [one.checked(released, person, several) for one in kept]
    verdicts = [verdict for one in found if not isinstance(one, Message) for verdict in one]
    unchecked = tuple(one for one in found if isinstance(one, Message))
    if not found or plan is None:
        return None
    sure = [one.promise() for one, told in zip(kept, found, strict=True) if several and not isinstance(told, Message)]
    sure = [one for one in sure if not set(one.quasi) <= set(schema.sensitive)]  # no attacker knows the secrets
    whole = replace(
        Verification.of(verdicts, quasi, judge_together(released, sure, person, strict=True)), unchecked=unchecked
    )
    exempted = [one.promise() for one, told in zip(kept, found, strict=True) if one.exempt and isinstance(told, tuple)]
    said = [word for one in exempted[:1] for word in one.verify(released, person).warnings]
    whole = replace(whole, warnings=(*said, *whole.warnings))
    return replace(whole, holds=whole.holds and not whole.apart) if plan.together else whole


def promised_by_recipe(plan: Recipe, released: Dataset, person: str | None = None) -> Verification | None:
    """Verify the guarantees of a recipe's steps on the release alone, by its strictest reading; None where there are none.

    `person`: the released column that says whose a row is, such as a pseudonym; that of the recipe, where it was released.
    """
    name = person or (plan.person if plan.person in released else None)
    whose = None if name is None else fewest_people(folded(released[name], plan.schema_given.fold(name)))
    found = named_promises({}, plan, plan.schema_given, released, released, whose)
    if found is None or plan.person is None or name is not None:
        return found
    return replace(found, warnings=(*found.warnings, Message("verdict.rows_not_people", column=plan.person)))


def hidden_columns(plan: Recipe | None) -> list[str]:
    """Return the columns that a recipe randomizes or pseudonymizes: an attacker who knows the originals does not know these."""
    found: list[str] = []
    for step in plan.steps if plan is not None else ():
        if step.traits.random or step.traits.opinion == "pseudonymisation":
            found += [getattr(step, "attribute", None) or "", *(getattr(step, "attributes", None) or ())]
    return [name for name in found if name]


PERSON = "\0person"  # no column's name


@dataclass(frozen=True)
class _Asked:
    """Models that a step demands over some columns, and how they are made ready: a file may be needed that is not there."""

    step: str
    quasi: tuple[str, ...]
    models: Callable[[], Sequence[Model]]
    what: Sequence[Message] = ()  # what is demanded, where it may be that it cannot be checked
    exempt: bool = False  # whether the suppressed are asked for nothing

    def over(self, released: Dataset) -> list[str]:
        return [name for name in self.quasi if name in released]

    def promise(self) -> Promise:
        return Promise(self.step, self.quasi, tuple(self.models()), self.exempt)

    def checked(self, released: Dataset, person: Column | None, several: bool) -> tuple[Verdict, ...] | Message:
        """The verdicts, or why there are none."""
        try:
            found = self.promise().verify(released, person, strict=True).verdicts
        except OboroError as error:
            if not self.what:
                raise
            return Message("verdict.not_checked", step=self.step, what=list(self.what), why=error.words)
        return tuple(one.naming(self.over(released)) for one in found) if several else found


def _of_steps(plan: Recipe, schema: Schema, original: Dataset, person: Column | None) -> Iterator[_Asked]:
    """What the steps promise that group records."""
    for place, step in enumerate(plan.steps):
        if isinstance(step, KAnonymize | LocalRecode):
            rows = original.rows if person is None else int(np.count_nonzero(person.counts))
            yield from _of_classes(step, schema, _Before(original, plan.steps[:place], rows))
        for one in step.promises_known(schema):
            yield _Asked(one.step, one.quasi, partial(tuple, one.models))


@dataclass(frozen=True, eq=False)
class _Before:
    """The original, as far as it is known how it looked to a step."""

    original: Dataset
    earlier: Sequence[Technique]
    people: int
    """How many records, or people, it has."""

    def unchanged(self, names: Sequence[str]) -> Dataset:
        """Return the original, unless an earlier step changed values of these columns: the input of the step is then unknown."""
        changing = [one for one in self.earlier if one.changes_values and not isinstance(one, DropRecords)]
        changed = {name for step in changing for name in step.reads(names)}
        if changed:
            raise InputError(Message("error_recipe.changed_before", columns=sorted(changed)))
        return self.original


def _of_classes(step: KAnonymize | LocalRecode, schema: Schema, before: _Before) -> Iterator[_Asked]:
    """k and what anybody can check on the release alone; then what needs a hierarchy of secrets, or a population."""
    names, demands = tuple(schema.chosen(step.quasi, step.step)), step.demands(schema)
    asked = partial(_Asked, exempt=isinstance(step, KAnonymize) and step.suppressed == "exempt")
    plain: list[Model] = [
        judge_attribute(demand, name).folding(schema.fold(name)) for name, demand in demands if not demand.hierarchical
    ]
    if isinstance(step, KAnonymize):
        plain += step.size_models(before.people)
    yield asked(step.step, names, lambda: [KAnonymity(k=step.k), *plain])
    for name, demand in demands:
        if demand.hierarchical:
            yield asked(step.step, names, partial(_by_tree, demand, name, schema, before), [demand.plan(name)])
    if isinstance(step, KAnonymize) and step.profitability is not None:
        yield asked(step.step, names, partial(_of_worth, step, schema, before, names), step.worth_told())
    if isinstance(step, KAnonymize) and any(step.asked("population")):
        yield asked(step.step, names, partial(_of_population, step, schema, before, names), step.population_told())


def _by_tree(demand: AttributeModel, name: str, schema: Schema, before: _Before) -> list[Model]:
    """A demand with the hierarchy of its sensitive column."""
    tree = schema.hierarchy(name, before.unchanged([name])[name])
    return [judge_attribute(demand, name, tree).folding(schema.fold(name))]


def _of_worth(step: KAnonymize, schema: Schema, before: _Before, names: Sequence[str]) -> list[Model]:
    """What the release is worth, with the hierarchies of its labels."""
    work = Work(before.unchanged(names), schema, np.random.default_rng(0), read=lambda path: read(path).data)
    people = None if step.population is None else PopulationCodes.read(step.population, work, list(names))
    columns = {name: work.data[name] for name in names} if people is None else people.columns
    return step.worth_limits({name: schema.hierarchy(name, columns[name]) for name in names}, people)


def _of_population(step: KAnonymize, schema: Schema, before: _Before, names: Sequence[str]) -> list[Model]:
    """k-map and δ-presence, with the population that the recipe names."""
    work = Work(before.unchanged(names), schema, np.random.default_rng(0), read=lambda path: read(path).data)
    people = PopulationCodes.read(step.population, work, list(names))  # type: ignore[arg-type]
    return step.population_limits(people.table, {name: schema.hierarchy(name, people.columns[name]) for name in names})


# Sequential releases --------------------------------------------------------------------------------------------------
# Read the earlier releases, and attack them together with the current one.


def dataset_of(table: Any, reading: Mapping[str, Any]) -> Dataset:
    """Return a frame or a file as a dataset; one that was read already stays."""
    if names_a_place(table):
        table = read(table, **reading)
    return table.data if isinstance(table, Source) else Frame.read(table).data


def tables_of(earlier: Any) -> list[Any]:
    """Return one table or several as a list."""
    return list(earlier) if isinstance(earlier, list | tuple) else [earlier]


def earlier_of(plan: Recipe | None, reading: Mapping[str, Any]) -> list[Dataset]:
    """Read the earlier releases that a recipe names, at its top or in a step; the longest list, as each is of the whole series."""
    if plan is None:
        return []
    named = [plan.earlier, *(step.earlier_releases for step in plan.steps)]
    return [one.load(lambda place: dataset_of(place, reading), plan.folder) for one in max(named, key=len)]


def diversity_of(plan: Recipe | None, l: float | None, sensitive: Sequence[str]) -> dict[str, int]:  # noqa: E741
    """Return the number of values required of each sensitive attribute: as named, else as the steps of a recipe require."""
    if l is not None:
        return dict.fromkeys(sensitive, ceil(l))
    found: dict[str, int] = {}
    for step in plan.steps if plan is not None else ():
        for name, one in (getattr(step, "l_diversity", None) or {}).items():
            found[name] = max(found.get(name, 1), ceil(getattr(one, "l", one)))
    return found


def series_of_steps(recipe: Recipe, released: Dataset, given: Schema, original: Dataset) -> SeriesRisk | None:
    """Attack a release together with the earlier ones that a step of the recipe names, whose guarantee was verified."""
    for step in recipe.steps:
        if isinstance(step, ClassDemands) and step.earlier:
            names, k, diverse = step.in_series(given)
            found = attack_series(
                released,
                [one.load(read_data, recipe.folder) for one in step.earlier],
                quasi=names,
                sensitive=given.sensitive,
                k=k,
                diverse=diverse,
                original=original,
                hierarchies=given.fitting_hierarchies(original),
            )
            return None if found is None else replace(found, verified=True)
    return None


# Evaluation -----------------------------------------------------------------------------------------------------------


Moments = Sequence[Mapping[str, Any]]


NEEDED = ("input", "output")


@at_the_door
def evaluate(
    original: Any,
    released: Any,
    recipe: Recipe | str | Path | None = None,
    *,
    quasi: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    person: str | None = None,
    k: int | None = None,
    l: float | None = None,  # noqa: E741  (the literature's letter, and what people type)
    kind: str = "distinct",
    c: float | None = None,
    t: float | None = None,
    distance: str = "equal",
    alpha: float | None = None,
    accept: Names = (),
    fraction: float = 1.0,
    control: Any = None,
    target: str | None = None,
    attempts: int = 2000,
    unpaired: bool = False,
    rename: Mapping[str, str] | None = None,
    truth: Any = None,
    stream: str | Path | Moments = (),
    earlier: Any = (),
    reading: Mapping[str, Any] | None = None,
) -> Report:
    """Attack a release by any tool, and measure its remaining risk and its information loss.

    Tables are pandas, polars or pyarrow frames, or files (`reading` says how these are read). Roles come from the `recipe`
    (its steps are not run), from `quasi`, `sensitive` and `identifier`, or are guessed, which the report then says. Columns
    that were renamed are found where only capitals and marks differ; `rename` maps other released names to original ones.
    Whether the n-th released row was made from the n-th original one is found out from the values, unless `truth` (a table
    whose first column gives the original row of each released record, from 1) or `unpaired` says it.

    What the release is said to keep is verified on it: `k`, `l` (of a `kind`, with `c`), `t` (by a `distance`), `alpha`, as in
    `verify`; without them what the steps of the recipe demand. Attacks are judged against what that allows; where nothing is
    said, against the k that the release has. `Report.refused` says whether a promise is broken or somebody is singled out by
    columns that no promise covers.

    - `person`: the column that says whose a record is; people are then counted, not records.
    - `accept`: columns by which people may be unique (those of the recipe are accepted too).
    - `fraction`: the share of the population that the table holds.
    - `control`: a table of people who are in neither, for the attacks, each of which makes at most `attempts` guesses.
    - `target`: a column that models trained on the release and on the original predict.
    - `earlier`: the releases of the same people that are out already, oldest first. The release is then attacked together with
      them: who is in all, who came, who left. `Report.series` has the figures; `refused` also says whether somebody falls below k
      or l by them.
    - `stream`: the metrics of a stream, or the file that `oboro stream --json` wrote.

    >>> people = {"age": [31, 38, 35, 52], "sex": ["F", "F", "M", "M"]}
    >>> report = evaluate(people, {"age": ["30-39", "30-39", "30-39", "50-59"]}, quasi=["age"], attempts=0)
    >>> report.risk["uniques"]
    1
    """
    from oboro.recipe.recipe import Recipe
    from oboro.report.facts import Provenance, Scope

    plan = Recipe.load(recipe) if isinstance(recipe, str | Path) else recipe
    if plan is not None and not isinstance(plan, Recipe):
        raise UsageError(Message("error_recipe.not_a_recipe", name="recipe", kind=type(plan).__name__))
    given = {"input": original, "output": released, "control_group": control, "truth": truth}
    tables = {
        role: _Table.of(table, reading or {})
        for role, table in given.items()
        if table is not None or role in ("input", "output")
    }
    before, after, assumed = comparable(tables["input"].data, tables["output"].data, rename or {})
    roles = {
        Role.QUASI: named_columns(quasi, "quasi"),
        Role.SENSITIVE: named_columns(sensitive, "sensitive"),
        Role.IDENTIFIER: named_columns(identifier, "identifier"),
    }
    schema, guessed = (plan.schema_given, []) if plan is not None else _schema(before, roles)
    schema = schema if person is None else _of_person(schema, before, person)
    _require(before, after, schema, target)
    person = person or (plan.person if plan is not None else None)
    asked = ask_for_person(before, person)
    known = tables["truth"].data if "truth" in tables else None
    linkage = [] if plan is None else attacks(plan, schema, before, after, known)
    after = after if known is None else replace(after, origin=owners(known, before, after))
    moments = stream_metrics(Path(stream)) if isinstance(stream, str | Path) else list(stream)
    paired = _paired(before, after, schema, plan, unpaired, moments)
    rows = None if paired or unpaired or plan is None else _linked(before, after, schema, plan)
    if rows is not None:
        after, paired = replace(after, origin=rows), True
        asked = [*asked, Message("report.warning.linked")]
    schema, understood = explained(before, after, schema, same_rows(before, after) if paired else None)
    models = {"k": k, "l": l, "kind": kind, "c": c, "t": t, "distance": distance, "alpha": alpha}
    whose = released_person(before, after, person, paired)
    promised = verified(plan, before, after, moments)
    if promised is None and not moments:
        promised = named_promises(models, plan, schema, before, after, whose)
    provenance = Provenance(
        verification=promised,
        accepted=_accepted(plan, named_columns(accept, "accept"), after),
        hidden=hidden_columns(plan),
        recipe_text=plan.to_yaml() if plan else "",
        files=_evidence(tables, plan, schema),
        stream=moments,
        warnings=[*guessed, *asked, *assumed, *understood],
        linkage=linkage,
        series=attack_series(
            after,
            [dataset_of(one, reading or {}) for one in tables_of(earlier)] or earlier_of(plan, reading or {}),
            quasi=schema.quasi,
            sensitive=schema.sensitive,
            k=k or _promised_k(promised),
            diverse=diversity_of(plan, l, schema.sensitive),
            person=person,
            original=before,
            hierarchies=schema.fitting_hierarchies(before),
            accepted="" if plan is None else plan.series_accepted,
        ),
    )
    group = tables["control_group"].data if "control_group" in tables else None
    scope = Scope(fraction=fraction, control=group, attempts=attempts, target=target)
    return measure(before, after, schema, provenance, scope, paired=paired, person=person, foreign=True)


def _promised_k(found: Verification | None) -> int | None:
    return max((one.k for one in found.verdicts if one.k is not None), default=None) if found is not None else None


def _accepted(plan: Recipe | None, accept: Sequence[str], released: Dataset) -> list[tuple[list[str], str]]:
    """The columns by which people may be unique: as the recipe says, and as was asked for."""
    if unknown := [name for name in accept if name not in released]:
        raise UsageError(
            Message("error_recipe.accept_column", unknown=unknown[0], columns=names_shown(released, accept))
        )
    said = [(list(one.unique_on), one.because) for one in (plan.accepted if plan else [])]
    return [*said, *([(list(accept), "")] if accept else [])]


@dataclass(frozen=True)
class _Table:
    """A table, and the file it came from."""

    data: Dataset
    path: Path | None = None

    @staticmethod
    def of(table: Any, reading: Mapping[str, Any]) -> _Table:
        """From a frame, a file, or one that was read already."""
        if names_a_place(table):
            table = read(table, **reading)
        return _Table(table.data, Path(table.path)) if isinstance(table, Source) else _Table(Frame.read(table).data)


def _evidence(tables: Mapping[str, _Table], plan: Recipe | None, schema: Schema) -> dict[str, dict[str, Any]]:
    """Names, sizes and SHA-256 of the files that were read."""
    files: dict[Any, Path] = {role: one.path for role, one in tables.items() if one.path is not None}
    if plan is not None and plan.path is not None:
        files["recipe"] = plan.path
    return files_evidence({**files, **hierarchy_roles(schema)})


def _schema(original: Dataset, roles: Mapping[Role, Sequence[str]]) -> tuple[Schema, list[Message]]:
    """The roles that were named, or guessed ones, which is then said."""
    named = {name: role for role, names in roles.items() for name in names}
    if unknown := [name for name in named if name not in original]:
        raise UsageError(
            Message("error_recipe.original_column", unknown=unknown[0], columns=names_shown(original, named))
        )
    if named:
        return Schema({name: Attribute(role=named.get(name, Role.OTHER)) for name in original}), []
    found = guess_roles(original, figures=False)
    said = [
        Message("report.warning.role_of", column=name, role=one.role.value, reasons=list(one.reasons))
        for name, one in found.columns.items()
        if one.role is not Role.OTHER
    ]
    warning = Message("report.warning.roles_guessed", roles=said or "–")
    return Schema({name: Attribute(role=one.role) for name, one in found.columns.items()}), [warning]


def _of_person(schema: Schema, original: Dataset, person: str) -> Schema:
    """The schema with a column that says whose a row is, and so identifies people."""
    schema.require(original, [person], "person")
    if person in (*schema.quasi, *schema.sensitive):
        role = schema.attributes[person].role.value
        raise UsageError(Message("error_verifier.person_has_a_role", column=person, role=role))
    return replace(schema.with_role(person, Role.IDENTIFIER), person=person)


def _require(original: Dataset, released: Dataset, schema: Schema, target: str | None) -> None:
    for what, table in (("original", original), ("release", released)):
        if not table.rows:
            raise InputError(Message(f"error_recipe.empty.{what}"))
    if target is not None and (target not in original or target not in released):
        both = [name for name in released if name in original]
        raise UsageError(Message("error_recipe.target", column=target, both=both))
    schema.require(
        original, (name for name in schema.attributes if name in released), Message("error_recipe.original_table")
    )


def _linked(original: Dataset, released: Dataset, schema: Schema, plan: Recipe) -> np.ndarray | None:
    """Original rows that the released ones may have been made from, where the recipe moved whole rows and nothing else."""
    apart = [  # columns change places by themselves: a step that moves whole records reads all of them
        step
        for step in plan.steps
        if step.traits.moves_records and (not step.reorders or set(step.reads(["any"])) != {"any"})
    ]
    if apart or not moves_rows(plan.order, plan.steps):
        return None
    names = [name for name in released if name in original]
    return link_rows(original, released, names, schema.fitting_hierarchies(original))


def _paired(
    original: Dataset, released: Dataset, schema: Schema, plan: Recipe | None, unpaired: bool, moments: Moments
) -> bool:
    """Return whether the original row of each released one is known."""
    if released.origin is not None:
        return True
    if unpaired or (plan is not None and any(step.traits.moves_records for step in plan.steps)):
        return False
    if moments and moments[-1].get("order") == "exchanged" and any(name not in schema.quasi for name in released):
        return False  # a window leaves other fields at the place of another record
    if moments and original.rows == released.rows:  # a stream releases in the order of its input
        return True
    names = [name for name in released if name in original]
    return correspond(original, released, names, schema.fitting_hierarchies(original))
