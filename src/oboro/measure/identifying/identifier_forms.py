"""What identifiers look like: the form of their values, their check digits, the names of columns that hold them."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from oboro.system import arrow_functions as pc

__all__ = [
    "BY_CHANCE",
    "MOST_VALUES",
    "NAMES",
    "RESTRICTED_ZIPS",
    "WARNED",
    "forms_of",
    "has_form",
    "matches",
    "narrow",
    "words_of",
]

MOST_VALUES = 200_000  # of a larger dictionary so many are looked at
BY_CHANCE = ("account", "vehicle")  # forms that pseudonyms may have too, unless most of the column has them
WARNED = frozenset(  # forms that are worth a warning by themselves
    {
        "email",
        "phone",
        "ssn",
        "url",
        "ip",
        "card",
        "account",
        "my_number",
        "licence",
        "passport",
        "residence_card",
        "pension",
        "vehicle",
        "plate",
        "device",
        "photo",
        "code",
        "over_89",
    }
)

# Three-digit ZIP areas of 20,000 people or fewer by the census of 2000 (Department of Health and Human Services, 2012).
RESTRICTED_ZIPS = (
    "036", "059", "063", "102", "203", "556", "692", "790", "821", "823", "830", "831", "878", "879", "884", "890", "893",
)  # fmt: skip

BYTE = r"(25[0-5]|2[0-4]\d|1?\d?\d)"
MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
ANYWHERE = {  # also inside a longer text, such as a remark
    "email": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "url": r"(?i)https?://|\bwww\.[a-z0-9-]+\.",
    "phone": (
        r"(^|[^\d.\-])(\+\d{1,3}[-. ]?\(?\d{1,4}\)?[-. ]\d{2,4}[-. ]?\d{3,4}|0\d-\d{4}-\d{4}|0\d{2}-\d{3,4}-\d{4}"
        r"|0\d{3}-\d{2,3}-\d{3,4}|0\d{4}-\d-\d{4}|\(0\d{1,4}\) ?\d{1,4}-\d{4}|\(?[2-9]\d{2}\)?[-. ] ?\d{3}[-. ]\d{4}"
        r"|\+[1-9]\d{9,14}|0[1-9]((-\d\d){4}|( \d\d){4}|(\.\d\d){4})|0[1-9]\d{1,3}[ /]\d{6,8})($|[^\d.\-])"
        r"|^0\d{9,10}$"
    ),
    "ssn": r"(^|[^\d-])\d{3}-\d{2}-\d{4}($|[^\d-])",
    "ip": (
        rf"(?i)(^|[^\d.])({BYTE}\.){{3}}{BYTE}($|[^\d.])|^([0-9a-f]{{1,4}}:){{7}}[0-9a-f]{{1,4}}$|^[0-9a-f]{{3,4}}:[0-9a-f:]*:[0-9a-f:]*$"
    ),
    "device": r"(^|[^0-9A-Fa-f:-])([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}($|[^0-9A-Fa-f:-])",
    "plate": r"\p{Han}{1,4} ?\d{2,3} ?\p{Hiragana} ?[\d・.]{1,2}-?\d{2}",
}
WHOLE = {  # the value is nothing else
    "vehicle": r"^([A-HJ-NPR-Z][A-HJ-NPR-Z0-9]|[0-9][A-HJ-NPR-Z])[A-HJ-NPR-Z0-9]{10}\d{5}$",
    "account": r"^[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){3,7}( ?[A-Z0-9]{1,3})?$",
    "passport": r"^[A-Z]{2}\d{7}$",
    "residence_card": r"^[A-Z]{2}\d{8}[A-Z]{2}$",
    "pension": r"^\d{4}-\d{6}$",
    "photo": r"(?i)\.(jpe?g|png|gif|heic|tiff?)$",
}
DAY = (
    rf"(?i)^(1[89]|20)\d\d[-/.年] ?\d{{1,2}}($|[^\d])|^\d{{1,2}}[-/.]\d{{1,2}}[-/.]((1[89]|20)\d\d|\d\d)($|[^\d])"
    rf"|^(1[89]|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$|^{MONTH}\.? \d|^\d{{1,2}}[ -]{MONTH}"
    r"|^(明治|大正|昭和|平成|令和|[MTSHR])(\d{1,2}|元)[年./-]\d{1,2}"
)

AMOUNTS = r"^[-+]?\d+(\.\d+)?–[-+]?\d+(\.\d+)?$"  # a range of numbers: 1877.5–2000.4 begins like a date


def _luhn(digits: np.ndarray) -> np.ndarray:
    twice = digits.copy()
    twice[:, -2::-2] *= 2
    return np.asarray((twice // 10 + twice % 10).sum(axis=1) % 10 == 0)


def _my_number(digits: np.ndarray) -> np.ndarray:
    """The check digit of the order on the Individual Number (Order No. 85 of 2014, Article 5)."""
    rest = digits[:, :11] @ np.array([6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11
    return np.asarray(digits[:, 11] == np.where(rest <= 1, 0, 11 - rest))


def _licence(digits: np.ndarray) -> np.ndarray:
    """A Japanese driving licence: where it was first issued, and the check digit in the eleventh place."""
    rest = digits[:, :10] @ np.array([5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11
    return np.asarray((digits[:, 0] > 0) & (digits[:, 10] == (11 - rest) % 10))


CHECKED: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "card": (r"(?:^|[^\w-])(?P<code>\d{4}[- ]?\d{4}[- ]?\d{4}[- ]?\d{4})(?:$|[^\w-])", _luhn),
    "my_number": (r"(?:^|[^\w-])(?P<code>\d{4}[- ]?\d{4}[- ]?\d{4})(?:$|[^\w-])", _my_number),
    "licence": (r"^(?P<code>\d{12})$", _licence),
}
ANY = "|".join(
    f"(?:{pattern.replace('?P<code>', '?:')})"
    for pattern in (*ANYWHERE.values(), *WHOLE.values(), *(pattern for pattern, _ in CHECKED.values()))
)
LIKELY = r"(?:\d\D*){4}|[@:/]|\.[A-Za-z]{3,4}$|(?i:www\.|[0-9a-f]{2}-[0-9a-f]{2}-)"  # what all of these have
MOST_VALID = 0.5  # of numbers that only look alike, about a tenth pass a check digit by chance


def matches(texts: pa.Array, numeric: bool) -> dict[str, np.ndarray]:
    """Which texts have the form of which kind of identifier. O(texts · kinds). `numeric`: they are numbers, and no dates."""
    texts = narrow(texts)
    some = has_form(texts, LIKELY)  # most columns have no form, and most texts of the others: no pass for each kind
    if some.any():
        some[some] = has_form(texts.filter(pa.array(some)), ANY)
    found = _matches(texts.filter(pa.array(some))) if some.any() else {}
    spread = {kind: np.zeros(len(texts), bool) for kind in found}
    for kind, hits in found.items():
        spread[kind][some] = hits
    if not numeric:
        spread["date"] = has_form(texts, DAY) & ~has_form(texts, AMOUNTS)
    return {kind: hits for kind, hits in spread.items() if hits.any()}


def _matches(texts: pa.Array) -> dict[str, np.ndarray]:
    forms = {kind: has_form(texts, pattern) for kind, pattern in (*ANYWHERE.items(), *WHOLE.items())}
    return {**forms, **{kind: _checked(texts, *rule) for kind, rule in CHECKED.items()}}


def narrow(texts: pa.Array) -> pa.Array:
    """Full-width letters and digits as plain ones, and the dashes of telephone numbers: `０９０−１２３４` is a number too.

    An en dash stays, since labels of ranges have it.
    """
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return texts
    return pc.replace_substring_regex(pc.utf8_normalize(texts, "NFKC"), r"[\x{2010}\x{2011}\x{2212}ー]", "-")


def forms_of(texts: pa.Array, counts: np.ndarray, numeric: bool) -> dict[str, int]:
    """How many records hold a text of each form; the distinct texts have these `counts`. O(texts · kinds)."""
    found = {kind: int(counts[hits].sum()) for kind, hits in matches(texts, numeric).items()}
    return {kind: held for kind, held in found.items() if held and (kind not in BY_CHANCE or 2 * held >= counts.sum())}


def has_form(texts: pa.Array, pattern: str) -> np.ndarray:
    """Which texts have this form; a missing one has none."""
    found = pc.match_substring_regex(texts, pattern).fill_null(False)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def _checked(texts: pa.Array, pattern: str, valid: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    hits = has_form(texts, pattern)
    if not hits.any():
        return hits
    groups = pc.extract_regex(texts.filter(pa.array(hits)), pattern)
    plain = pc.replace_substring_regex(pc.struct_field(groups, "code"), r"\D", "").to_pylist()
    right = valid(np.frombuffer("".join(plain).encode(), np.uint8).reshape(len(plain), -1).astype(np.int64) - 48)
    hits[hits] = right if right.mean() >= MOST_VALID else False
    return hits


# Names of columns -----------------------------------------------------------------------------------------------------

NUMBER = r"_?(id|no|num|number|code)($|_)"
NAMES = {
    "name": r"^name$|(^|_)((first|last|full|given|family|middle|maiden|customer|patient|person|client|member|user|employee"
    r"|student|pupil|guest|driver|passenger|resident|tenant|applicant|respondent|participant)_?name|surname|vorname|nachname"
    r"|familienname|pr[eé]nom|apellidos?|cognome|sobrenome|voornaam|achternaam)($|_)"
    r"|氏名|名前|姓名|フリガナ|(顧客|患者|会員|社員|職員|従業員|利用者|契約者|学生|生徒|児童|受診者)名|성명|이름",
    "place": r"(?<!ip_)(?<!mail_)(?<!mac_)address|(^|_)(street|city|town|county|village|precinct)($|_)"
    r"|(^|_)(lat|latitude|lon|lng|longitude)($|_)|住所|番地|市区町村|町名|緯度|経度",
    "zip": r"(^|_)zip|post(al)?_?code|郵便",
    "phone": r"phone|mobile|(^|_)(tel|fax)($|_)|電話|携帯番号",
    "email": r"e_?mail|メールアドレス",
    "ssn": r"(^|_)ssn($|_)|social_security",
    "medical": rf"(^|_)mrn($|_)|(medical_record|chart|patient){NUMBER}|患者番号|患者id|診療録|カルテ",
    "plan": rf"beneficiary|(insurance|insured|member|policy|plan){NUMBER}|被保険者|保険証|受給者",
    "account": rf"(^|_)account{NUMBER}|(^|_)iban($|_)|口座",
    "licence": rf"(licen[cs]e|certificate){NUMBER}|免許",
    "vehicle": rf"(vehicle|plate){NUMBER}|(^|_)(vin|license_plate)($|_)|車台|ナンバープレート",
    "device": rf"(^|_)(imei|imsi|udid|mac_address)($|_)|(device|serial){NUMBER}|端末番号|製造番号",
    "url": r"(^|_)(url|homepage|website)($|_)",
    "ip": r"(^|_)ip(_address|v4|v6)?($|_)",
    "biometric": r"fingerprint|voice_?print|(^|_)(iris|retina|dna|genome)($|_)|biometric|指紋|声紋|虹彩|静脈|顔認|ゲノム",
    "photo": r"(^|_)(photo|portrait|face_image)($|_)|顔写真",
    "my_number": r"my_?number|個人番号|マイナンバー",
    "passport": r"passport|旅券|パスポート",
    "pension": r"年金番号",
    "residence_card": r"住民票コード|在留カード",
    "age": r"(^|_)ages?($|_)|年齢",
    "birth": r"birth|(^|_)dob($|_)|生年|誕生",
}  # fmt: skip


def words_of(name: str) -> str:
    """The name of a column in small letters, its words with `_` between.

    >>> words_of("birthDate"), words_of("Customer No.")
    ('birth_date', 'customer_no_')
    """
    return re.sub(r"[\s.\-/]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).lower()
