"""What checklists are made of: what is known of a release, the standard's names of techniques, and items in two languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from oboro.evaluate.identifiers import Finding
from oboro.evaluate.report.facts import AttackFacts, CheckItem

__all__ = ["ISO_NAMES", "TO_STATE", "Both", "Material", "item", "listed"]

State = Literal["evidence", "open", "stated", "none"]
Both = tuple[str, str]  # English, Japanese

TO_STATE: Both = ("To be stated by the owner.", "取扱事業者が記載する事項。")

ISO_NAMES: dict[str, Both] = {
    "drop_columns": ("Suppression: masking (whole attributes)", "抑制:マスキング(属性の削除)"),
    "drop_records": ("Suppression: record suppression", "抑制:レコード抑制"),
    "pseudonymize": ("Pseudonymization technique", "仮名化技術"),
    "generalize": ("Generalization", "一般化"),
    "local_recode": ("Generalization: local generalization", "一般化:局所的一般化"),
    "top_code": ("Generalization: top coding", "一般化:トップコーディング"),
    "bottom_code": ("Generalization: bottom coding", "一般化:ボトムコーディング"),
    "round": ("Generalization: rounding", "一般化:丸め"),
    "sample": ("Statistical tool: sampling", "統計的手法:サンプリング"),
    "microaggregate": ("Randomization: microaggregation", "ランダム化:ミクロアグリゲーション"),
    "partition_univariate": (
        "Randomization: microaggregation (by intervals)",
        "ランダム化:ミクロアグリゲーション(区間)",
    ),
    "noise": ("Randomization: noise addition", "ランダム化:ノイズ付加"),
    "swap": ("Randomization: permutation", "ランダム化:置換(スワッピング)"),
    "shuffle": ("Randomization: permutation (order of records)", "ランダム化:置換(レコード順)"),
    "sort": ("Permutation of the order of records", "レコード順の並べ替え"),
    "synthesize": ("Synthetic data", "合成データ"),
    "k_anonymize": (
        "Generalization and local suppression; formal model: k-anonymity",
        "一般化と局所抑制、形式的モデル:k-匿名性",
    ),
    "pk_anonymize": (
        "Randomization (retention–replacement); formal model: Pk-anonymity",
        "ランダム化(維持置換)、形式的モデル:Pk-匿名性",
    ),
    "k_conceal": ("Local generalization; formal model: k-concealment", "局所的一般化、形式的モデル:k-秘匿性"),
}


@dataclass(frozen=True)
class Material:
    """What is known of the release and may serve as evidence."""

    identifiers: Sequence[str]  # columns that name a person, as given
    dropped: Sequence[str]
    released: Sequence[str]
    steps: Sequence[Mapping[str, Any]]
    findings: Sequence[Finding]
    attacks: Sequence[AttackFacts]
    uniques: int | None
    least: int | None  # of a concealed release: how many people the most exposed record can be
    models: Sequence[str]
    holds: bool | None
    quasi: Sequence[str] = field(default_factory=tuple)

    def named(self, *steps: str) -> list[str]:
        """The steps of these names that were taken."""
        return [step["name"] for step in self.steps if step["name"] in steps]

    def columns_with(self, *kinds: str) -> list[str]:
        """Released columns with values that look like one of these kinds."""
        return sorted({one.column for one in self.findings if one.kind in kinds})


def item(key: str, title: Both, state: State, evidence: Both) -> CheckItem:
    """One point of a checklist in both languages."""
    return CheckItem(
        key=key, title=title[0], title_ja=title[1], state=state, evidence=evidence[0], evidence_ja=evidence[1]
    )


def listed(names: Sequence[str]) -> str:
    """Names with commas."""
    return ", ".join(names) if names else "–"
