"""`oboro verify`: the skin of the verifier."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from oboro.app.language import spoken
from oboro.app.options import AsJson, Data, names, print_json, read_table
from oboro.app.options.reading_options import FOUND_OUT, Reading, reads_tables
from oboro.text import Message

if TYPE_CHECKING:
    from oboro.verifier.verdict import Verification

__all__ = ["verify"]


@reads_tables
def verify(
    released: Data,
    quasi: Annotated[
        str | None,
        typer.Option(help="The quasi-identifiers, separated by commas (with --stream and --recipe: its own)."),
    ] = None,
    k: Annotated[
        int | None, typer.Option(help="k-anonymity: each equivalence class must hold at least k records.")
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="The sensitive column, for --l, --t, --alpha, --delta and --beta.")
    ] = None,
    l: Annotated[  # noqa: E741
        float | None,
        typer.Option("--l", help="l-diversity: each class must hold at least l well-represented sensitive values."),
    ] = None,
    l_kind: Annotated[
        str, typer.Option(help="The kind of l-diversity: distinct, entropy or recursive (recursive needs --c).")
    ] = "distinct",
    c: Annotated[float | None, typer.Option("--c", help="The constant c of recursive (c, l)-diversity.")] = None,
    t: Annotated[
        float | None, typer.Option("--t", help="t-closeness: each class may differ from the whole table by at most t.")
    ] = None,
    distance: Annotated[
        str, typer.Option(help="How t-closeness compares values: equal, ordered or hierarchical.")
    ] = "equal",
    hierarchy: Annotated[
        Path | None, typer.Option(help="The hierarchy file of the sensitive column (for --distance hierarchical).")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="(α,k)-anonymity: no sensitive value may have a share above α in a class.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="δ-disclosure: a value's frequency in a class and in the table must differ by less than 2^δ."
        ),
    ] = None,
    disclosed: Annotated[
        str,
        typer.Option(
            help="δ-disclosure: all (each class must hold every sensitive value) or held"
            " (only the values that a class holds are judged)."
        ),
    ] = "all",
    beta: Annotated[
        float | None,
        typer.Option(help="β-likeness: the share of a value may grow in a class by at most β times itself."),
    ] = None,
    likeness: Annotated[
        str, typer.Option(help="The kind of β-likeness: enhanced (a share p grows by min(β, −ln p) at most) or basic.")
    ] = "enhanced",
    maximum_risk: Annotated[
        float | None,
        typer.Option(help="The highest re-identification risk allowed for any record (1 / size of its class)."),
    ] = None,
    average_risk: Annotated[
        float | None, typer.Option(help="The highest average re-identification risk allowed (classes / records).")
    ] = None,
    records_at_risk: Annotated[
        str | None,
        typer.Option(help="A risk and the highest share of the records that may be above it, such as 0.2,0.05."),
    ] = None,
    sample_uniqueness: Annotated[
        float | None, typer.Option(help="The highest share of the records that may stand alone in their class.")
    ] = None,
    population_uniqueness: Annotated[
        float | None,
        typer.Option(help="The highest share of the population that may be unique, as estimated (with --fraction)."),
    ] = None,
    estimated_k_map: Annotated[
        int | None,
        typer.Option(help="k-map as estimated: how many people each class must match (with --fraction)."),
    ] = None,
    fraction: Annotated[
        float | None, typer.Option(help="Which part of the population the table is, such as 0.1.")
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(
            help="dankar, zayatz, pitman or snb for --population-uniqueness; poisson or zero_truncated for --estimated-k-map."
        ),
    ] = None,
    significance: Annotated[
        float, typer.Option(help="How likely --estimated-k-map may take a class for larger than it is.")
    ] = 0.05,
    population: Annotated[
        str | None,
        typer.Option(help="The population that the table was drawn from, not generalized (for --k-map, --presence)."),
    ] = None,
    k_map: Annotated[
        int | None, typer.Option(help="k-map: each class must match at least this many people in the population.")
    ] = None,
    presence: Annotated[
        str | None,
        typer.Option(help="δ-presence: the lowest and highest share of matching people in the table, such as 0.1,0.6."),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help="The column that says whose a record is, such as a pseudonym: people are counted, not records."
        ),
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option(help="The recipe whose hierarchies relate released labels to the population's values."),
    ] = None,
    stream: Annotated[
        Path | None,
        typer.Option(
            help="What went into a stream whose output this is, record by record: each release must match k − 1 earlier ones."
        ),
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(
            help="With --stream: the part of it that this is the output of, as FIELDS:COUNT:NUMBER (user:4:0)."
        ),
    ] = None,
    reading: Reading = FOUND_OUT,
    fold: Annotated[
        str | None,
        typer.Option(
            help="Count secrets and people as one that differ only in these: space, case, unicode (with commas)."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify privacy models on a released table, made by any tool. Exit code 0: all hold; 1: one is broken.

    Without a model it says which k holds and, with --sensitive, which l and t.

    Example: `oboro verify released.csv --quasi age,sex,zip --k 5 --sensitive disease --l 2`

    A stream: `oboro verify --stream people.ndjson released.ndjson --recipe recipe.yaml`
    """
    from oboro.errors import UsageError
    from oboro.io.binary_formats import is_json_lines
    from oboro.table.hierarchy import HierarchySpec
    from oboro.text import Message
    from oboro.verifier.table_check import verify as check

    table = read_table(released, reading)
    if stream is not None:
        original = read_table(stream, reading).data
        if partition is not None:
            from oboro.recipe.stream_promise import part_of

            original = part_of(original, partition)
        _end(_stream(original, table.data, recipe, quasi, k, person, sensitive, l), as_json)
    if quasi is None:
        raise UsageError(Message("error_app.no_quasi"))
    everybody = read_table(population, reading).data if population else None
    result = check(
        table.data,
        quasi=names(quasi),
        k=k,
        sensitive=sensitive,
        l=l,
        kind=l_kind,
        c=c,
        t=t,
        distance=distance,
        hierarchy=HierarchySpec(csv=str(hierarchy)) if hierarchy else None,
        alpha=alpha,
        delta=delta,
        disclosed=disclosed,
        beta=beta,
        likeness=likeness,
        maximum_risk=maximum_risk,
        average_risk=average_risk,
        records_at_risk=_pair(records_at_risk, "--records-at-risk", "0.2,0.05"),
        sample_uniqueness=sample_uniqueness,
        population_uniqueness=population_uniqueness,
        estimated_k_map=estimated_k_map,
        fraction=fraction,
        estimator=estimator,
        significance=significance,
        population=everybody,
        k_map=k_map,
        presence=_pair(presence, "--presence", "0.1,0.6"),
        person=person,
        fold=[one.strip() for one in fold.split(",")] if fold else (),
        hierarchies=_hierarchies(recipe, everybody, table.data, names(quasi)),
    )
    if is_json_lines(released):
        print(f"oboro: {Message('verdict.json_lines').say(spoken())}", file=sys.stderr)
    _end(result, as_json)


def _end(result: Verification, as_json: bool) -> NoReturn:
    if as_json:
        print_json(result.as_dict())
    else:
        print(result.lines(spoken()))
    raise typer.Exit(0 if result.holds else 1)


def _stream(
    original: Any,
    released: Any,
    recipe: Path | None,
    quasi: str | None,
    k: int | None,
    person: str | None,
    sensitive: str | None,
    l: float | None,  # noqa: E741
) -> Verification:
    from oboro.recipe.recipe import Recipe
    from oboro.recipe.stream_promise import verify_records

    known = Recipe.load(recipe) if recipe is not None else None
    given = names(quasi) if quasi is not None else None
    return verify_records(known, original, released, given, k, person, sensitive, None if l is None else int(l))


def _pair(text: str | None, option: str, example: str) -> tuple[float, float] | None:
    from oboro.errors import UsageError

    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(Message("error_app.pair", option=option, example=example, text=text)) from None
    return low, high


def _hierarchies(recipe: Path | None, everybody: Any, released: Any, quasi: list[str]) -> dict[str, Any] | None:
    """What the labels mean to the population: as the recipe says, or without one as they say themselves (`20-29`, `130**`)."""
    from oboro.errors import UsageError
    from oboro.recipe.recipe import Recipe
    from oboro.table.labels.implied_hierarchy import implied_hierarchy
    from oboro.table.schema import Schema

    if everybody is None:
        if recipe is not None:
            raise UsageError(Message("error_app.recipe_alone"))
        return None
    known = [name for name in quasi if name in everybody and name in released]
    if recipe is None:
        shown = {name: implied_hierarchy(name, everybody[name], released[name], None) for name in known}
        return {name: one for name, one in shown.items() if one is not None}
    schema = Schema(Recipe.load(recipe).attributes, recipe.parent)
    return {name: schema.hierarchy(name, everybody[name]) for name in known}
