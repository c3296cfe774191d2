"""Every promise of every step, verified on the released table as whoever receives it reads it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import attrgetter

from oboro.errors import PromiseError
from oboro.table.dataset import Column, Dataset
from oboro.table.parameters.at_the_door import at_the_door
from oboro.table.spelling.folding import Fold, merged_missing
from oboro.text import Message
from oboro.verifier.classes import Classes
from oboro.verifier.models.class_models import Model, SensitiveModel
from oboro.verifier.spelling_warnings import spelling_warnings
from oboro.verifier.verdict import Verdict, Verification

__all__ = ["Promise", "judge_together", "verify_promises"]


@dataclass(frozen=True)
class Promise:
    """What a step promises of the released table: models over its quasi-identifiers."""

    step: str
    quasi: tuple[str, ...]
    models: tuple[Model, ...]
    exempt: bool = False
    """Whether the suppressed records (`*` in every column) are asked for nothing; the verification then says so."""

    @property
    def covers(self) -> bool:
        """Whether nobody may stand alone by its columns for all that it says; `k: 1` promises nothing of who a record is."""
        return any(model.limits_classes for model in self.models)

    @at_the_door
    def verify(self, data: Dataset, person: Column | None = None, *, strict: bool = False) -> Verification:
        """Judge the released table as it is now; people are counted where it is known whose each row is (`person`).

        `strict`: as the strictest reader of its file could take it, which is for a release that somebody else wrote.

        A quasi-identifier that is no longer released no longer counts: classes over fewer columns are unions of the
        promised ones. A model of a sensitive column that is no longer released holds vacuously, and its verdict says
        so.
        """
        quasi = list(filter(data.__contains__, self.quasi))
        classes = Classes.of(data, quasi, person, finest=strict, exempt=self.exempt)
        found = Verification.of(list(map(partial(_judge, classes=classes, strict=strict), self.models)), quasi)
        return (
            replace(found, warnings=(self._exempted(classes),)) if self.exempt and classes.suppressed.any() else found
        )

    def _exempted(self, classes: Classes) -> Message:
        """How many records nothing is promised of."""
        return Message("verdict.exempt", step=self.step, records=int(classes.records[classes.suppressed].sum()))


def _judge(model: Model, classes: Classes, strict: bool) -> Verdict:
    if isinstance(model, SensitiveModel) and model.sensitive not in classes.data:
        return model.vacuous(Message("verdict.column_not_released", column=model.sensitive))
    if not strict:
        return model.judge(classes)
    from oboro.verifier.strict_reading import judge_strictly

    return judge_strictly(model, classes)


def verify_promises(
    data: Dataset,
    promises: Sequence[Promise],
    steps: Sequence[str],
    person: Column | None = None,
    secret: Collection[str] = (),
) -> Verification:
    """Verify what `steps`, done in this order, promised; raise a `PromiseError` where a promise does not hold.

    `person` says whose each row is, where that is known: then people are counted. It stands beside the table and need not be
    released. Where promises are over different columns, `Verification.joint` has what holds over all of them together. Columns that
    are `secret` no attacker knows: a promise over nothing else is left out of that.
    """
    several = len(set(map(frozenset, map(attrgetter("quasi"), promises)))) > 1
    verdicts: list[Verdict] = []
    exempt: list[Message] = []
    quasi: dict[str, None] = {}
    for promise in promises:
        found = _kept(data, promise, steps, person)
        verdicts += [one.naming(found.quasi) for one in found.verdicts] if several else found.verdicts
        exempt += found.warnings
        quasi |= dict.fromkeys(found.quasi)
    joint: tuple[Verdict, ...] = ()
    if several:
        known = [promise for promise in promises if not set(promise.quasi) <= set(secret)]
        joint = judge_together(data, known, person)
    found = Verification.of(verdicts, list(quasi), joint)
    said = spelling_warnings(data, chain.from_iterable(map(attrgetter("models"), promises)), person)
    return replace(found, warnings=(*exempt, *said))


def judge_together(
    data: Dataset, promises: Sequence[Promise], person: Column | None = None, *, strict: bool = False
) -> tuple[Verdict, ...]:
    """What holds over the columns of all promises together, where no promise covers them: on the worst reading."""
    from oboro.verifier.joint_promises import joint_promise, joint_verdicts

    joint = joint_promise(data, promises)
    if joint is None:
        return ()
    readings = [data] if strict else []
    found = [joint_verdicts(reading, promises, person, strict=True) for reading in readings]
    results = found + [joint_verdicts(reading, promises, person) for reading in _readings(data, joint)]
    return next((found for found in results if not all(one.holds for one in found)), results[0])


def _kept(data: Dataset, promise: Promise, steps: Sequence[str], person: Column | None) -> Verification:
    """The verification of one promise on the table as released, if it holds there and on every other reading."""
    results = []
    for reading in _readings(data, promise):
        result = promise.verify(reading, person)
        if not result.holds:
            said = [*result.messages(), *_only_stars(promise, reading, person)]
            raise PromiseError(_broken(promise, said, steps))
        results.append(result)
    return results[0]


def _only_stars(promise: Promise, data: Dataset, person: Column | None) -> Iterator[Message]:
    """Where nothing but the records of stars breaks it: who they are, and the way out."""
    if not promise.exempt and replace(promise, exempt=True).verify(data, person).holds:
        yield Message("error_verifier.only_stars")


def _readings(data: Dataset, promise: Promise) -> Iterator[Dataset]:
    """Yield what a promise speaks of, as released and, where it differs, as readers of CSV merge it.

    There, empty text is missing, and so are `NA`, `null` and the like to `pandas.read_csv`.
    """
    names, folds = set(promise.quasi), dict[str, Sequence[Fold]]()
    for model in promise.models:
        names |= set(data) if model.every_column else {getattr(model, "sensitive", "")}
        if isinstance(model, SensitiveModel):
            folds[model.sensitive] = model.fold
    tidy = {name: column.tidy() for name, column in data.columns.items() if name in names}
    yield replace(data, columns=tidy)
    merged = {name: merged_missing(column, folds.get(name, ())) for name, column in tidy.items()}
    if any(merged[name] is not column for name, column in tidy.items()):
        yield replace(data, columns=merged)


def _broken(promise: Promise, said: Sequence[Message], steps: Sequence[str]) -> Message:
    """What does not hold, and the later steps that must have broken it, if there are any."""
    later = list(steps[steps.index(promise.step) + 1 :]) if promise.step in steps else []
    if not later:
        return Message("error_verifier.broken", step=promise.step, verdicts=said)
    return Message("error_verifier.broken_later", step=promise.step, verdicts=said, later=later)
