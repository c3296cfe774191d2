"""Common checks that any attack must pass. They find their subjects in the registry.

A method names in `example` a release on which it must succeed; `check` then tries it there, on the same release with one value in
every column, and on tables that are awkward. A failed check is an `AssertionError` with the name of the check.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace

import numpy as np

from oboro.attacks.base import ATTACKS, Attack, AttackMethod, AttackTarget, people_table
from oboro.attacks.run import run_attacks
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.text import LANGUAGES

__all__ = ["CHECKS", "awkward", "check", "subjects"]


SECONDS = 30  # of a processor, for tables of a few hundred rows, kernels compiled anew


def subjects() -> dict[str, AttackMethod]:
    """Return every method of the registry."""
    return dict(ATTACKS)


def check(method: AttackMethod) -> None:
    """Try a method of attack by every check.

    >>> check(ATTACKS["record_linkage"])
    """
    for name, run in CHECKS.items():
        try:
            run(method)
        except AssertionError as error:
            raise AssertionError(f"{type(method).__name__}: {name}: {error}") from error


def _mine(method: AttackMethod, target: AttackTarget) -> list[Attack]:
    """Run all attacks on a target and return those of one method."""
    ids = {kind.id for kind in method.kinds}
    return [one for one in run_attacks(target) if one.kind in ids]


def _succeeds(method: AttackMethod) -> None:
    found = _mine(method, method.example())
    assert any(one.better for one in found), "no attack is better than its control on the example"


def _learns_nothing(method: AttackMethod) -> None:
    better = [one.name for one in _mine(method, method.example().constant()) if one.better]
    assert not better, f"better than the control on a release of one value: {better}"


def _repeats(method: AttackMethod) -> None:
    one, other = (_mine(method, method.example()) for _ in range(2))
    assert one == other, "the same seed gives other results"


def _is_pure(method: AttackMethod) -> None:
    target = method.example()
    before = [table.to_arrow() for table in (target.original, target.released)]
    _mine(method, target)
    assert before == [table.to_arrow() for table in (target.original, target.released)], "a table was changed"


def _waits_for_its_needs(method: AttackMethod) -> None:
    table = people_table(30)
    bare = AttackTarget(table, table, quasi=[], paired=False)
    lacking = [need for need in method.needs if not bare.has(need)]
    assert not lacking or not _mine(method, bare), f"it was run without {lacking}"


def _declares_its_attacks(method: AttackMethod) -> None:
    assert method.kinds, "it names no attack"
    assert method.knows.strip(), "it does not say what its attacker knows"
    kinds = {kind.id: kind for kind in method.kinds}
    for one in _mine(method, method.example()):
        assert ATTACKS.kind(one) is kinds[one.kind], f"{one.kind} is another method's"
        assert one.question == kinds[one.kind].question, f"{one.kind} answers another question than it declares"
        said = (one.title, one.short, one.meaning, one.control_is, *one.notes)
        assert all(words.say(lang) for words in said if words is not None for lang in LANGUAGES), (
            f"{one.kind} lacks words"
        )


def _survives_awkward_tables(method: AttackMethod) -> None:
    start = time.process_time()
    for name, target in awkward(method.example()):
        for one in _mine(method, target):
            assert 0 <= one.found.right <= one.found.tried, f"{name}: {one.found}"
            assert 0 <= one.control.right <= one.control.tried, f"{name}: {one.control}"
    assert time.process_time() - start < SECONDS, f"it took more than {SECONDS} seconds"


def awkward(target: AttackTarget) -> Iterator[tuple[str, AttackTarget]]:
    """Yield a target with no and one record, without values, not paired, and with several records of each person."""
    rows = min(target.original.rows, target.released.rows)
    for count in (0, 1, 2):
        short = (table.take(np.arange(min(count, table.rows))) for table in (target.original, target.released))
        before, after = (replace(table, origin=None) for table in short)
        yield f"{count} records", _with(target, original=before, released=after)
    blank = Dataset({name: Column.of([None] * rows) for name in target.original}, rows)
    yield "missing values", _with(target, original=blank, released=blank.select(_both(target)))
    yield "released values missing", _with(target, released=blank.select(_both(target)), paired=False)
    yield "not paired", _with(target, paired=False)
    yield "people with two records", _with(target, whose=np.arange(target.original.rows) // 2)


def _both(target: AttackTarget) -> list[str]:
    return [name for name in target.released if name in target.original]


def _with(target: AttackTarget, **changed: object) -> AttackTarget:
    """Return the target with other tables, also where it keeps those that were not loaded."""
    made = replace(target.made, loaded_late=None)
    given = {one.name: getattr(target, one.name) for one in fields(target)}
    return AttackTarget(**{**given, "made": made, **changed})


CHECKS: Mapping[str, Callable[[AttackMethod], None]] = {
    "declares its attacks": _declares_its_attacks,
    "succeeds on its example": _succeeds,
    "learns nothing from a release of one value": _learns_nothing,
    "the same seed gives the same results": _repeats,
    "does not change its input": _is_pure,
    "is not run without what it needs": _waits_for_its_needs,
    "survives awkward tables in bounded time": _survives_awkward_tables,
}
"""By name; each raises where a method fails."""
