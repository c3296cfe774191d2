"""What checklists are made of: what is known of a release, the standard's names of techniques, and items in two languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from oboro.attacks.rates import Attack
from oboro.measure.identifiers import Finding
from oboro.report.facts import CheckItem
from oboro.text import Message, few

__all__ = ["ISO_NAMES", "TO_STATE", "Both", "Material", "State", "item", "listed"]

State = Literal["evidence", "open", "stated", "none"]
Both = tuple[str, str]  # English, Japanese

TO_STATE: Both = ("To be stated by the owner.", "取扱事業者が記載する事項。")

ISO_NAMES: dict[str, Both] = {  # ISO/IEC 20889:2018, clause on de-identification techniques
    "drop_columns": ("Suppression techniques: masking", "抑制技術:マスキング"),
    "drop_records": ("Suppression techniques: record suppression", "抑制技術:レコード抑制"),
    "pseudonymize": ("Pseudonymization techniques", "仮名化技術"),
    "generalize": ("Generalization techniques", "一般化技術"),
    "local_recode": ("Generalization techniques: local generalization", "一般化技術:局所的一般化"),
    "top_code": ("Generalization techniques: top and bottom coding", "一般化技術:トップ・ボトムコーディング"),
    "bottom_code": ("Generalization techniques: top and bottom coding", "一般化技術:トップ・ボトムコーディング"),
    "round": ("Generalization techniques: rounding", "一般化技術:丸め"),
    "sample": ("Statistical tools: sampling", "統計的手法:サンプリング"),
    "microaggregate": ("Randomization techniques: microaggregation", "ランダム化技術:ミクロアグリゲーション"),
    "partition_univariate": (
        "Randomization techniques: microaggregation; as intervals: generalization techniques",
        "ランダム化技術:ミクロアグリゲーション(区間での公表は一般化技術)",
    ),
    "noise": ("Randomization techniques: noise addition", "ランダム化技術:ノイズ付加"),
    "swap": ("Randomization techniques: permutation", "ランダム化技術:置換"),
    "shuffle": (
        "Order of records, which the standard does not name; of single columns: randomization techniques: permutation",
        "レコード順の並べ替え(規格に名称なし)。列単位の場合はランダム化技術:置換",
    ),
    "sort": ("Order of records, which the standard does not name", "レコード順の並べ替え(規格に名称なし)"),
    "synthesize": ("Synthetic data", "合成データ"),
    "k_anonymize": (
        "Generalization techniques and suppression techniques: local suppression; formal model: K-anonymity",
        "一般化技術及び抑制技術:局所抑制。形式的プライバシー測定モデル:K-匿名性",
    ),
    "pk_anonymize": (
        "Randomization techniques; its model, Pk-anonymity, is not named by the standard",
        "ランダム化技術。モデル(Pk-匿名性)は規格に名称なし",
    ),
    "k_conceal": (
        "Generalization techniques: local generalization; its model, k-concealment, is not named by the standard",
        "一般化技術:局所的一般化。モデル(k-秘匿性)は規格に名称なし",
    ),
}


@dataclass(frozen=True)
class Material:
    """What is known of the release and may serve as evidence."""

    identifiers: Sequence[str]  # columns that name a person, as given
    dropped: Sequence[str]
    released: Sequence[str]
    steps: Sequence[Mapping[str, Any]]  # none: somebody else made the release
    findings: Sequence[Finding]
    attacks: Sequence[Attack]
    uniques: int | None
    least: int | None  # of a concealed release: how many people the most exposed record can be
    models: Sequence[Message]  # that were verified
    holds: bool | None
    quasi: Sequence[str] = field(default_factory=tuple)
    unseen: Sequence[str] = field(default_factory=tuple)  # released columns that were not, or not wholly, looked at

    def named(self, *steps: str) -> list[str]:
        """The steps of these names that were taken."""
        return [step["name"] for step in self.steps if step["name"] in steps]

    @property
    def pseudonyms(self) -> dict[str, str]:
        """Columns that hold pseudonyms, and how those were made."""
        made = [step.get("facts", {}) for step in self.steps if step["name"] == "pseudonymize"]
        return {name: str(facts.get("method", "")) for facts in made for name in facts.get("values", {})}

    def columns_with(self, *kinds: str) -> list[str]:
        """Released columns that look like one of these kinds; pseudonyms count as what they are, whatever their column's name."""
        hits = [one for one in self.findings if one.kind in kinds and not (one.named and one.column in self.pseudonyms)]
        return list(dict.fromkeys(one.column for one in hits))

    @property
    def beaten(self) -> bool:
        """Whether an attack does better than its control, beyond what the promised model allows."""
        return any(one.better and not one.allowed for one in self.attacks)

    def but(self, said: Both) -> Both:
        """A finding of nothing, with the columns that it does not speak of."""
        if not self.unseen:
            return said
        names = listed(self.unseen)
        return (
            f"{said[0]} Not, or not wholly, looked at: {names}.",
            f"{said[1]}確認していない(又は一部のみ確認した)列:{names}。",
        )


def item(key: str, title: Both, state: State, evidence: Both) -> CheckItem:
    """One point of a checklist in both languages."""
    return CheckItem(
        key=key, title=title[0], title_ja=title[1], state=state, evidence=evidence[0], evidence_ja=evidence[1]
    )


def listed(names: Sequence[str]) -> str:
    """Names with commas; of very many the first: the notice and the section of evidence have them all."""
    return few(names, 400) if names else "–"
