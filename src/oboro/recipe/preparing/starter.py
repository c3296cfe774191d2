"""A starter recipe from a table: guessed roles, proposed hierarchies, and comments that explain every guess."""

from __future__ import annotations

import re
from dataclasses import dataclass

import yaml

from oboro.table.dataset import Column, Dataset
from oboro.table.hierarchy import HierarchySpec, propose
from oboro.table.schema import Role
from oboro.table.values import Kind

__all__ = ["starter"]

# Words that give a column's role away, in English and Japanese. The first match wins; a wrong guess is one line to correct.
WORDS: tuple[tuple[Role, str], ...] = (
    (
        Role.IDENTIFIER,
        r"(^|[_\W])(id|uuid|guid|ssn|nin|mynumber|passport|licen[cs]e|account|card|iban|e?mail|phone|tel|mobile|fax|url|ip)($|[_\W])"
        r"|^(?!file|user_?type).*(^|_|first|last|full|sur|given|family|user|customer)_?name$"
        r"|(customer|user|member|patient|person|employee)_?(id|no|number|code)$"
        r"|氏名|名前|姓|メール|電話|携帯|会員番号|顧客番号|患者番号|マイナンバー|口座|住所詳細",
    ),
    (
        Role.SENSITIVE,
        r"diseas|diagnos|illness|disab|medic|symptom|drug|income|salar|wage|credit|debt|religio|politic|crim|orientation"
        r"|病名|疾患|診断|既往|年収|所得|給与|宗教|犯罪|信条",
    ),
    (
        Role.QUASI,
        r"(^|[_\W])(age|sex|gender|dob|city|town|state|county|prefecture|country|region|nationality|race|ethnic\w*|zip\w*"
        r"|post\w*code|postal\w*|address|birth\w*|marital\w*|education\w*|school|job|occupation|profession|employer|workclass"
        r"|native\w*|lat|latitude|lon|lng|longitude)($|[_\W])"
        r"|年齢|性別|生年|誕生|住所|郵便|都道府県|市区町村|国籍|職業|学歴|婚姻|出身",
    ),
)
EMAIL = re.compile(r"^[^@\s]+@[^@\s]+\.[^@\s]+$")


@dataclass(frozen=True)
class Guess:
    """A role and the reason for it, for the comment."""

    role: Role
    reason: str


def starter(data: Dataset, name: str) -> str:
    """A commented recipe in YAML for the table `data`, read from the file `name`."""
    guesses = {column: guess(column, data[column]) for column in data}
    lines = [
        f"# A starter recipe for {name}: {data.rows} rows, {len(data.columns)} columns.",
        "# Every role below is a guess. Read each line: a quasi-identifier with the role `other` is not protected.",
        "#   identifier  identifies a person directly: must be dropped or pseudonymized",
        "#   quasi       an attacker may know it: generalized until each class holds at least k records",
        "#   sensitive   what an attacker must not learn about a person",
        "#   other       released as it is",
        "# See the plan before anything is done:  oboro anonymize DATA --recipe THIS --output OUT --explain",
        "attributes:",
    ]
    lines += [_attribute(column, data[column], guesses[column]) for column in data]
    return "\n".join([*lines, *_steps(guesses, data)]) + "\n"


def guess(name: str, column: Column) -> Guess:
    """What a column probably is: by its name, then by what it holds."""
    # camelCase reads as two words, so that birthDate is found like birth_date.
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    for role, pattern in WORDS:
        if re.search(pattern, words):
            return Guess(role, "by its name")
    texts = [text for text in column.texts[:50] if text is not None]
    if texts and all(EMAIL.match(text) for text in texts):
        return Guess(Role.IDENTIFIER, "e-mail addresses")
    distinct = len(column.values)
    rows = len(column)
    if rows >= 20 and distinct > 0.95 * rows and column.kind in (Kind.TEXT, Kind.INTEGER):
        return Guess(Role.IDENTIFIER, "nearly every row has a value of its own")
    return Guess(Role.OTHER, "not recognised: make it quasi if an attacker could know it")


def _attribute(name: str, column: Column, found: Guess) -> str:
    content: dict[str, object] = {"role": found.role.value}
    spec: HierarchySpec | None = propose(name, column) if found.role is Role.QUASI else None
    if spec is not None:
        content["hierarchy"] = spec.model_dump(mode="json", exclude_defaults=True)
    key = _flow(name)
    missing = int(column.counts[column.missing]) if column.missing >= 0 else 0
    gaps = f", {missing} missing" if missing else ""
    comment = f"{len(column.values)} distinct {column.kind.value} values{gaps}; {found.reason}"
    return f"  {key}: {_flow(content)}  # {comment}"


def _flow(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=10_000)
    return text.removesuffix("\n").removesuffix("\n...")


def _steps(guesses: dict[str, Guess], data: Dataset) -> list[str]:
    def named(role: Role) -> list[str]:
        return [name for name, found in guesses.items() if found.role is role]

    lines = ["steps:"]
    if identifiers := named(Role.IDENTIFIER):
        lines += [
            "  # To keep records of a person linkable, use pseudonyms instead: pseudonymize: {attribute: …, key_env: OBORO_KEY}",
            f"  - drop_columns: {_flow({'attributes': identifiers})}",
        ]
    if named(Role.QUASI):
        k = min(5, max(2, data.rows // 10))
        content: dict[str, object] = {"k": k, "suppress": 0.02}
        diverse = {name: 2 for name in named(Role.SENSITIVE) if len(data[name].values) >= 4}
        if diverse:
            content["l_diversity"] = diverse
        lines += [
            f"  # Each class must hold at least {k} records; up to 2 % of the records may be suppressed.",
            f"  - k_anonymize: {_flow(content)}",
        ]
    lines += [
        "  # The order of the rows may reveal whose they are.",
        "  - shuffle: {}",
        "# seed: 42   # makes every random choice repeatable: keep it as safe as the original table",
    ]
    return lines
