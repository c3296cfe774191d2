"""What a reader should know before signing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oboro.attacks.rates import Attack
from oboro.measure.identifiers import WARNED, Finding
from oboro.report.inputs import Provenance, Tables
from oboro.table.unencoded_columns import unread_columns
from oboro.text import Message

__all__ = ["report_warnings"]


def _m(name: str, /, **values: Any) -> Message:
    return Message(f"report.warning.{name}", **values)


def report_warnings(
    tables: Tables, provenance: Provenance, findings: Sequence[Finding], attacks: Sequence[Attack]
) -> list[Message]:
    """What was known before, what was assumed, what steps said, and what was found."""
    return [
        *provenance.warnings,
        *_pairing(tables, provenance.steps),
        *_not_examined(tables),
        *_of_steps(provenance.steps),
        *_identifiers(findings),
        *_attacks(attacks),
    ]


def _pairing(tables: Tables, steps: Sequence[Mapping[str, Any]]) -> list[Message]:
    original, released = tables.original, tables.released
    same = released.origin is None and original.rows == released.rows
    if not tables.paired or (released.origin is None and not same):
        return [_m("not_paired")]
    return [_m("same_order")] if same and not steps else []


def _not_examined(tables: Tables) -> list[Message]:
    passed = unread_columns(tables.released)
    return [_m("not_examined", columns=passed)] if passed else []


def _of_steps(steps: Sequence[Mapping[str, Any]]) -> list[Message]:
    return [_m("step", step=step["name"], said=said) for step in steps for said in step.get("warnings", ())]


def _identifiers(findings: Sequence[Finding]) -> list[Message]:
    told = [one for one in findings if one.kind in WARNED and not one.named]
    return [_m("looks_like_identifiers", column=one.column, kind=one.kind_name, records=one.records) for one in told]


def _attacks(attacks: Sequence[Attack]) -> list[Message]:
    better = [one for one in attacks if one.better and not one.allowed]
    return [_m("attack_better", attack=one.title, right=one.found.share, control=one.control.share) for one in better]
