"""Detect direct identifiers in released values: forms of values, names of columns, and unique, rare or extreme values.

This finds what was forgotten, such as an e-mail address in a column of remarks. Finding nothing proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial

import numpy as np
import pyarrow as pa

from oboro._lazy import pc
from oboro.data.column import Column, is_nested, single_parts
from oboro.data.dataset import Dataset
from oboro.disclosure.gate import Findings, ReleaseCandidate
from oboro.errors import PromiseError
from oboro.hierarchies.hierarchy import text_array
from oboro.hierarchies.labels import end_number, is_star, label_range, plain_kind, plain_numbers
from oboro.notations.kinds import STAR, Kind
from oboro.system.process import on_cores
from oboro.text import Message

__all__ = [
    "BY_CHANCE",
    "MOST_VALUES",
    "NAMES",
    "NAMING",
    "RESTRICTED_ZIPS",
    "WARNED",
    "Finding",
    "HeldIdentifiers",
    "check",
    "forms_of",
    "has_form",
    "held_identifiers",
    "holds_ranges",
    "holds_tokens",
    "identifier_found",
    "is_code",
    "is_serial",
    "matches",
    "named_telephone",
    "names_of_people",
    "naming",
    "narrow",
    "prose",
    "scan",
    "telephones",
    "tells_sex",
    "unseen",
    "words_of",
]


# Forms of identifiers -------------------------------------------------------------------------------------------------
# The form of their values, their check digits, and the names of columns that hold them.


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
    """Mark the texts that have the form of each kind of identifier. O(texts · kinds). `numeric`: they are numbers, and no dates."""
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
    """Normalize full-width letters and digits, and the dashes of telephone numbers: `０９０−１２３４` is a number too.

    An en dash stays, since labels of ranges have it.
    """
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return texts
    return pc.replace_substring_regex(pc.utf8_normalize(texts, "NFKC"), r"[\x{2010}\x{2011}\x{2212}ー]", "-")


def forms_of(texts: pa.Array, counts: np.ndarray, numeric: bool) -> dict[str, int]:
    """Count the records that hold a text of each form; the distinct texts have these `counts`. O(texts · kinds)."""
    found = {kind: int(counts[hits].sum()) for kind, hits in matches(texts, numeric).items()}
    return {kind: held for kind, held in found.items() if held and (kind not in BY_CHANCE or 2 * held >= counts.sum())}


def has_form(texts: pa.Array, pattern: str) -> np.ndarray:
    """Mark the texts that have this form; a missing one has none."""
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


# Names of columns that hold identifiers -------------------------------------------------------------------------------

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
    """Normalize the name of a column: small letters, its words with `_` between.

    >>> words_of("birthDate"), words_of("Customer No.")
    ('birth_date', 'customer_no_')
    """
    return re.sub(r"[\s.\-/]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).lower()


# Findings in released columns -----------------------------------------------------------------------------------------


MOSTLY = 0.9
FEW = 5  # records that hold a value which nearly nobody has
EACH_ITS_OWN = 0.95
FAR = 3.0  # Tukey's outer fence: so many times the middle half's width beyond it
OLDEST = 90  # ages above 89 are one category (45 CFR 164.514(b)(2)(i)(C))


@dataclass(frozen=True)
class Finding:
    """One column in which released records look like one kind of identifier; `named`: only its name says so."""

    kind: str
    column: str
    records: int
    named: bool = False

    @property
    def kind_name(self) -> Message:
        """Name of such identifiers; there are names for the kinds in `WARNED`."""
        return Message(f"measure.identifier.{self.kind}")


def scan(released: Dataset, original: Dataset | None = None) -> list[Finding]:
    """Find columns with forms of identifiers, dates finer than a year, ages above 89, codes that are the original's
    (`code`), values far from all others (`extreme`), categories of few records (`rare`). O(dictionaries · kinds)."""
    known = original.columns if original is not None else {}
    each = on_cores(partial(_scan_column, known), released.columns, released.columns.values(), rows=released.rows)
    return [one for found in each for one in found]


def _scan_column(known: Mapping[str, Column], name: str, column: Column) -> list[Finding]:
    kinds = {**_forms(name, column), **_codes(column, name, known), **_unusual(name, column)}
    found = [Finding(kind, name, count) for kind, count in kinds.items() if count]
    said = [kind for kind in _named(name) if kind not in kinds and kind not in ("zip", "age", "birth")]
    if said and _kept(column, known.get(name)):
        found += [Finding(kind, name, len(column), named=True) for kind in said]
    return found


def unseen(released: Dataset) -> list[str]:
    """Return the columns that `scan` does not read, because they stayed in their file, or not wholly, because of their size."""
    return [n for n, one in released.columns.items() if not one.loaded or len(one.values) > MOST_VALUES]


def _named(name: str) -> list[str]:
    """Return the kinds of identifiers that the name of a column means."""
    words = words_of(name)
    return [kind for kind, pattern in NAMES.items() if re.search(pattern, words)]


def _forms(name: str, column: Column) -> dict[str, int]:
    counts, names = column.counts[:MOST_VALUES], _named(name)
    if pa.types.is_floating(column.values.type):
        return _ages(column) if "age" in names else {}
    numeric = _counts(column)
    texts = text_array(column.values.slice(0, MOST_VALUES))
    found = forms_of(texts, counts, numeric)
    found |= _zips(texts, counts, numeric, "zip" in names)
    if column.kind in (Kind.DATE, Kind.DATETIME):
        found["date"] = int(counts.sum())
    if "age" in names:
        found |= _ages(column)
    if "birth" in names and numeric and (years := plain_numbers(column)) is not None:
        found["over_89"] = int(column.counts[(years > 1800) & (years < date.today().year - OLDEST)].sum())
    return found


def _zips(texts: pa.Array, counts: np.ndarray, numeric: bool, named: bool) -> dict[str, int]:
    """ZIP and postal codes finer than three digits, and three digits that stand for too few people.

    Numbers of five digits are amounts unless the column's name or nearly all of a column of text says otherwise.
    """

    def held(pattern: str) -> int:
        hits = pc.match_substring_regex(texts, pattern).fill_null(False)
        return int(counts[np.asarray(hits.to_numpy(zero_copy_only=False), dtype=bool)].sum())

    whole = held(r"^\d{5}(-\d{4})?$|^\d{3}-\d{4}$")
    if named:
        small = "|".join(zip_.lstrip("0") if numeric else zip_ for zip_ in RESTRICTED_ZIPS)
        return {"zip": whole + held(r"^\d{4}[*xX]?$|^\d{7}$"), "small_zip": held(rf"^({small})[*xX]{{0,2}}$")}
    return {"zip": whole if not numeric and whole >= MOSTLY * counts.sum() else 0}


def _ages(column: Column) -> dict[str, int]:
    """Ages above 89, unless all of them are one category: 90, `90+`, `≥90`."""
    numbers = plain_numbers(column)
    if numbers is None:
        labels = {
            place: label_range(text)
            for place, text in enumerate(column.texts)
            if text is not None and any(map(str.isdigit, text))
        }
        numbers = np.full(len(column.values), np.nan)
        for place, label in labels.items():
            if label is not None and label.first is not None:
                first = end_number(label.first) + label.after
                numbers[place] = 0 if label.last is None and first <= OLDEST else first
    over = numbers >= OLDEST
    return {"over_89": int(column.counts[over].sum()) if (numbers[over] > OLDEST).any() or over.sum() > 1 else 0}


def _codes(column: Column, name: str, known: Mapping[str, Column]) -> dict[str, int]:
    """A column in which nearly every record has a value of its own, the same as in a column of the original."""
    if not _each_its_own(column):
        return {}
    candidates: Iterable[Column] = [known[name]] if name in known else known.values()
    some = text_array(column.values.slice(0, MOST_VALUES))
    for one in candidates:
        if one.kind in (Kind.TEXT, Kind.INTEGER) and len(one.values) >= EACH_ITS_OWN * len(column.values):
            shared = pc.sum(pc.is_in(text_array(one.values), value_set=some)).as_py() or 0
            if shared >= EACH_ITS_OWN * len(some):
                return {"code": len(column)}
    return {}


def _each_its_own(column: Column) -> bool:
    enough = len(column) >= FEWEST_ROWS and len(column.values) > EACH_ITS_OWN * len(column)
    return enough and column.kind in (Kind.TEXT, Kind.INTEGER)


def _counts(column: Column) -> bool:
    """Whether a column holds numbers (and no dates), perhaps with `*` among them."""
    return plain_kind(column) in (Kind.INTEGER, Kind.NUMBER)


def _kept(column: Column, original: Column | None) -> bool:
    """Whether most records hold values that the original column has too; without one nobody can tell."""
    if original is None:
        return True
    same = pc.is_in(text_array(column.values), value_set=text_array(original.values)).to_numpy(zero_copy_only=False)
    return bool(column.counts[np.asarray(same, dtype=bool) & ~is_star(column)].sum() * 2 >= len(column))


def _unusual(name: str, column: Column) -> dict[str, int]:
    """Numbers far from all others, and categories that few records hold: what is idiosyncratic about a person."""
    plain = ~is_star(column) & column.values.is_valid().to_numpy(zero_copy_only=False)
    counts = np.where(plain, column.counts, 0)
    numbers = plain_numbers(column)
    if numbers is not None:
        far = _far(numbers, counts) if _counts(column) else np.zeros(numbers.size, bool)
        if "age" in _named(name):
            far = far | ((numbers > OLDEST) & (counts < FEW))
        return {"extreme": int(counts[far].sum())}
    categories = 1 < np.count_nonzero(counts) <= counts.sum() / FEW
    return {"rare": int(counts[counts < FEW].sum()) if categories else 0}


def _far(numbers: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Beyond Tukey's outer fences, where at most one record in a hundred is: else the column is only skewed."""
    there = counts > 0
    if not there.any():
        return np.zeros(numbers.size, bool)
    order = np.argsort(np.where(there, numbers, np.inf))
    upto = np.cumsum(counts[order]) / counts.sum()
    first, third = (float(numbers[order][np.searchsorted(upto, share)]) for share in (0.25, 0.75))
    reach = FAR * (third - first)
    far = there & ((numbers < first - reach) | (numbers > third + reach))
    return far if reach > 0 and counts[far].sum() * 100 <= counts.sum() else np.zeros(numbers.size, bool)


# Confirmation of identifier forms -------------------------------------------------------------------------------------
# Keep only values that can hardly be anything but an identifier.
#
# A form is enough for a warning. A run is refused only for values that pass this closer test: order numbers,
# versions, labels of ranges and masked values look like identifiers, too.


NAMING = frozenset(  # forms that are somebody's, and hardly anything else's
    {
        "email",
        "phone",
        "ssn",
        "ip",
        "card",
        "account",
        "my_number",
        "licence",
        "residence_card",
        "plate",
        "device",
        "name",
    }
)
MASKED = r"[*●]"
BARE = r"^\d+$"
BARE_TELEPHONE = (
    r"^0[789]0[1-9]\d{7}$"  # Japanese mobile ones; other bare digits are as often numbers with zeros before them
)
DECIMAL = r"^[+-]?\d*\.\d+$"  # degrees of latitude, amounts
TELEPHONE_SHAPE = r"^\+?[\d\s()./-]{7,20}$"  # is a telephone number where the name of the column says so
TELEPHONES = (
    r"(phone|mobile|(^|_)(tel|fax|contact))(_?(no|nr|num|number|\d))?_?$|(電話|携帯|連絡先|ファックス)(番号)?\d?$"
)
SHAPES = {  # a shape that numbers of other kinds have, and which of them can be: of random numbers a tenth or more cannot
    "phone": (r"^\(?\d{3}\)?[-. ] ?\d{3}[-. ]\d{4}$", r"^\(?[2-9]\d{2}\)?[-. ] ?[2-9]\d{2}[-. ]\d{4}$"),
    "ssn": (r"^\d{3}-\d{2}-\d{4}$", r"^([0-57]\d{2}|6[0-57-9]\d|66[0-57-9]|8\d{2})-(0[1-9]|[1-9]\d)-"),
}
NEARLY_ALL = 0.95
NETWORK = r"\.0($|[^\d.])|/\d{1,2}$"  # several machines: what is left of an address whose last part is masked
LARGE_PART = r"(^|[^\d])[12]\d\d($|[^\d])|:"  # versions and chapters have small ones
SOME = 1000  # account numbers whose check digits are worked out; the others are like them


def naming(kind: str, name: str, texts: pa.Array, hits: np.ndarray) -> np.ndarray:
    """Select, of the texts that look like an identifier (`hits`), those that hardly can be anything else. O(texts)."""
    hits = hits & ~has_form(texts, MASKED)
    if kind == "ip":
        return _addresses(name, texts, hits)
    if kind == "account":
        return hits if _valid_accounts(texts, hits) else np.zeros_like(hits)
    if kind == "phone" and not named_telephone(name):
        bare = has_form(texts, BARE) & ~has_form(texts, BARE_TELEPHONE)
        hits = hits & ~bare & ~has_form(texts, DECIMAL)
    return _of_possible_shape(texts, hits, *SHAPES[kind]) if kind in SHAPES else hits


def named_telephone(name: str) -> bool:
    """Return whether the name of a column means telephone numbers, not an attribute of telephones.

    >>> named_telephone("Home phone"), named_telephone("phone_minutes")
    (True, False)
    """
    return re.search(TELEPHONES, words_of(name)) is not None


def telephones(texts: pa.Array) -> np.ndarray:
    """Mark the texts that may be telephone numbers in a column with such a name: digits that are no date and no amount."""
    other = has_form(texts, DAY) | has_form(texts, DECIMAL)
    return np.asarray(has_form(texts, TELEPHONE_SHAPE) & ~other)


def names_of_people(name: str, texts: pa.Array) -> np.ndarray:
    """Mark the texts that are names of people in a column with such a name: a text alone does not show it."""
    if re.search(NAMES["name"], words_of(name)) is None:
        return np.zeros(len(texts), bool)
    return has_form(texts, r"\p{L}{2}")


def _addresses(name: str, texts: pa.Array, hits: np.ndarray) -> np.ndarray:
    hits = hits & ~has_form(texts, NETWORK)
    if re.search(NAMES["ip"], words_of(name)):
        return hits
    large = hits & has_form(texts, LARGE_PART)
    return hits if 2 * large.sum() >= hits.sum() else large


def _of_possible_shape(texts: pa.Array, hits: np.ndarray, shape: str, possible: str) -> np.ndarray:
    """Without those of a shape of which too many cannot be."""
    shaped = hits & has_form(texts, shape)
    alike = has_form(texts, shape)
    return hits if (alike & has_form(texts, possible)).sum() >= NEARLY_ALL * alike.sum() else hits & ~shaped


def _valid_accounts(texts: pa.Array, hits: np.ndarray) -> bool:
    """Whether most have the check digits of an IBAN (ISO 13616); of numbers that only look alike, one in 97 has."""
    some = [one.replace(" ", "") for one in texts.filter(pa.array(hits)).slice(0, SOME).to_pylist()]
    valid = [int("".join(str(int(letter, 36)) for letter in one[4:] + one[:4])) % 97 == 1 for one in some]
    return 2 * sum(valid) >= len(valid) > 0


# Identifiers in a column ----------------------------------------------------------------------------------------------
# Identifiers by their form, and whether the column consists of them.
#
# An address inside a remark is worth a warning. A column of which most values are addresses identifies people,
# however many records share each; one number that all records share identifies no person.


SEVERAL = 2  # different values: one that everybody has is no identifier
SMALLEST = 1_000_000  # numbers of fewer digits are no identifiers by their form


@dataclass(frozen=True)
class HeldIdentifiers:
    """Identifiers of one kind in a column."""

    kind: str
    records: int  # that hold one
    looked: int  # records that were looked at
    plain: bool  # whether most of what the column holds are such identifiers, of several people

    @property
    def kind_name(self) -> Message:
        """Name of such identifiers."""
        return Message(f"measure.identifier.{self.kind}")


def held_identifiers(name: str, values: pa.Array, counts: np.ndarray) -> list[HeldIdentifiers]:
    """Find the forms of identifiers among the distinct `values` of a column, each in so many records. O(values · kinds)."""
    values, counts = values.slice(0, MOST_VALUES), counts[:MOST_VALUES]
    parts = single_parts(values) if is_nested(values.type) else [(values, np.arange(len(values)))]
    found: dict[str, HeldIdentifiers] = {}
    for part, places in parts:
        if (texts := _texts(part)) is not None:
            for one in _in_part(name, texts, places, counts):
                if one.kind not in found or (one.plain, one.records) > (found[one.kind].plain, found[one.kind].records):
                    found[one.kind] = one
    return list(found.values())


def _texts(part: pa.Array) -> pa.Array | None:
    """The texts of values that may be identifiers: no dates, and no small or broken numbers."""
    type_ = part.type
    if pa.types.is_floating(type_) or (pa.types.is_decimal(type_) and type_.scale > 0):  # whole numbers may be kept so
        part = _whole(part)
    elif pa.types.is_temporal(type_) or pa.types.is_boolean(type_):
        return None
    if part is None or (pa.types.is_integer(part.type) and (pc.max(part).as_py() or 0) < SMALLEST):
        return None
    return narrow(text_array(part))


def _whole(numbers: pa.Array) -> pa.Array | None:
    try:
        return pc.cast(numbers, pa.int64())
    except pa.ArrowInvalid:  # broken, or too large
        return None


def _in_part(name: str, texts: pa.Array, places: np.ndarray, counts: np.ndarray) -> Iterator[HeldIdentifiers]:
    if not (found := _column_matches(name, texts)):
        return
    given = _given(texts)

    def records(hits: np.ndarray) -> int:
        return int(counts[np.unique(places[hits])].sum())

    def most(hits: np.ndarray) -> bool:
        different = len(texts.filter(pa.array(hits)).unique())
        many = 2 * records(hits) >= records(given) or 2 * different >= len(texts.filter(pa.array(given)).unique())
        return many and different >= SEVERAL

    for kind, hits in found.items():
        if kind in (*WARNED, "name") and (kind not in BY_CHANCE or 2 * records(hits) >= records(given)):
            plain = kind in NAMING and most(hits) and most(naming(kind, name, texts, hits))
            yield HeldIdentifiers(kind, records(hits), int(counts.sum()), plain)


def _column_matches(name: str, texts: pa.Array) -> dict[str, np.ndarray]:
    found = matches(texts, numeric=True)  # no dates: those are no identifiers
    if named_telephone(name) and (numbers := telephones(texts)).any():
        found["phone"] = found.get("phone", np.False_) | numbers
    if (people := names_of_people(name, texts)).any():
        found["name"] = people
    return found


def _given(texts: pa.Array) -> np.ndarray:
    """Mark the texts with content: not missing, blank or suppressed."""
    return np.asarray(has_form(texts, r"\S") & ~has_form(texts, r"^\s*\*\s*$"))


# Check of released columns --------------------------------------------------------------------------------------------
# Check whether a released column holds identifiers of people: names, e-mail addresses, telephone numbers and the
# like.
#
# An address belongs to a person, however many records share it, and no guarantee about classes changes that. The
# forms of other values (codes, tokens, free text, serial numbers, ranges) are here too; they are read from the
# dictionary of a column, and decide no role.


ALL_BUT = 0.95  # of a column whose values are nearly all different
FEWEST_ROWS = 20  # in a smaller table every number may be one record's
WORDY = 4.0  # words in a value, on average, from which on it is text that somebody wrote
LONG = 40.0  # characters; Japanese has no spaces between words, and says twice as much with each character
IDEOGRAPHS = r"[\p{Han}\p{Hiragana}\p{Katakana}]"
CODE = r"^[0-9A-Za-z_/.-]*[0-9][0-9A-Za-z_/.-]*$"
SHORTEST_CODE = 9  # digits: shorter numbers of one length may be amounts, and intervals protect them too
SEXES = (
    "m f w d x v h male female man woman boy girl männlich weiblich divers mann frau homme femme masculin féminin hombre mujer"
    " masculino femenino maschio femmina uomo donna feminino vrouw 男 女 男性 女性 남 여 남성 여성"
)
SEX = frozenset(SEXES.split())
TWO_SEXES = 2  # at least; one letter alone says nothing
SEEN = 64  # values that are asked whether they are ranges
LONGEST_RANGE = (
    100  # characters: two moments with their zones have 70. Patterns of ranges may cost the square of a text's length
)
RANGED = re.compile(r"[–~～〜\[(]| to |[.,].*-")  # marks that no number of a person has
FEWEST_TOKENS = 8  # values; fewer may be codes of categories
TOKEN = re.compile(
    r"(?=.*\d)(?=.*[A-Za-z])(\{?[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}?|[0-9a-f]{16,}|[0-9A-F]{16,}"
    r"|(?=.*[A-Z])(?=.*[a-z])[0-9A-Za-z+/_-]{20,}={0,2})"
)
NO_IDENTIFIER = {"code", "over_89"}  # of the forms that are worth a warning, those that speak of something else


def check(candidate: ReleaseCandidate) -> Findings:
    """Look at the values of every released column; of columns that are not loaded at the first rows. O(distinct values).

    Raises a `PromiseError` where most of a column are identifiers of several people, unless the recipe accepts it.
    """
    released, pseudonyms = candidate.released, candidate.pseudonyms
    names = [name for name in released if name not in pseudonyms]
    unread = [name for name in names if not released[name].loaded]
    found = {
        name: held_identifiers(name, released[name].values, released[name].counts)
        for name in names
        if name not in unread
    }
    first = candidate.first_rows(unread)
    found |= {name: held_identifiers(name, values, np.ones(len(values), np.int64)) for name, values in first.items()}
    quasi = set(candidate.given.quasi)  # a name that k people share identifies none of them
    accepted: list[Message] = []
    for name, kinds in found.items():
        plain = [one for one in kinds if one.plain and not (name in quasi and one.kind == "name")]
        worst = max(plain, key=lambda one: one.records, default=None)
        if worst is not None:
            accepted.append(_accepted(candidate, name, worst))
    warned = [
        Message("report.warning.looks_like_identifiers", column=name, kind=one.kind_name, records=one.records)
        for name, kinds in found.items()
        for one in kinds
        if not one.plain and name not in first
    ]
    return Findings(tuple(accepted), identifiers=tuple(warned))


def _accepted(candidate: ReleaseCandidate, name: str, found: HeldIdentifiers) -> Message:
    """Return the caution of a column of identifiers that the recipe accepts; refuse one that it does not."""
    because = candidate.because("identifiers", name)
    facts = {"column": name, "kind": found.kind_name, "records": found.records, "looked": found.looked}
    if not because:
        raise PromiseError(Message("error_exposure.identifiers", **facts))
    return Message("exposure.look.identifiers", **facts, because=because)


@dataclass(frozen=True)
class Prose:
    """Free text: the average number of words and characters of a value."""

    words: float
    characters: float


def identifier_found(findings: list[Finding]) -> Finding | None:
    """Return the form of identifier that most records of a column have."""
    forms = [one for one in findings if one.kind in WARNED - NO_IDENTIFIER and not one.named and one.records]
    return max(forms, key=lambda one: one.records, default=None)


def prose(column: Column) -> Prose | None:
    """Return whether a column holds free text: many words or characters, and values of their own for many records.

    >>> prose(Column.of(["he called us twice last week", "no reply to our letter so far", None])) is not None
    True
    >>> prose(Column.of(["never worked for any pay"] * 9 + ["works for the local state"] * 9)) is None
    True
    """
    if column.kind is not Kind.TEXT or not _many_own(column):
        return None
    texts = text_array(column.values.drop_null().slice(0, MOST_VALUES))
    if not len(texts):
        return None
    japanese = pc.mean(pc.match_substring_regex(texts, IDEOGRAPHS)).as_py() > 0.5
    words = float(pc.mean(pc.add(pc.count_substring_regex(texts, r"\s+\S"), 1)).as_py())
    characters = float(pc.mean(pc.utf8_length(texts)).as_py())
    return Prose(words, characters) if words >= WORDY or characters >= (LONG / 2 if japanese else LONG) else None


def _many_own(column: Column) -> bool:
    """Half of the records, or more, hold a value that at most one other has."""
    held = column.counts[np.arange(len(column.values)) != column.missing]
    return bool(2 * held[held <= 2].sum() >= held.sum() > 0)


def tells_sex(column: Column) -> bool:
    """Return whether all values are words for a sex, whatever the column is called.

    >>> tells_sex(Column.of(["w", "m", "m", None])), tells_sex(Column.of(["m", "n"]))
    (True, False)
    """
    if column.kind is not Kind.TEXT or not TWO_SEXES <= len(column.values) - (column.missing >= 0) <= len(SEX):
        return False
    return {str(one).strip().lower() for one in column.values.drop_null().to_pylist()} <= SEX


def holds_ranges(column: Column) -> bool:
    """Return whether the values are ranges such as `20–29` or `1,50-9,99`, beside `*` and single ends of them.

    A plain `03-1234` may be somebody's number.

    >>> holds_ranges(Column.of(["12.09.1970 to 27.04.1986", "06.06.1936", "*", "07.02.1938 to 16.08.1960"]))
    True
    >>> holds_ranges(Column.of(["A to Z", "B to Y"])), holds_ranges(Column.of(["03-1234", "03-1235"]))
    (False, False)
    """
    held = [text for text in column.texts[:SEEN] if text and text != STAR]
    if any(len(text) > LONGEST_RANGE for text in held):
        return False
    ranges = [text for text in held if RANGED.search(text) and label_range(text) is not None]
    ends = [text for text in held if label_range(f"{text} to {text}") is not None]
    return len(ranges) + len(ends) == len(held) and 2 * len(ranges) > len(held)


def holds_tokens(column: Column) -> bool:
    """Return whether the values are long codes that a program gives: UUIDs, digests, cookies. They number people or things.

    >>> holds_tokens(Column.of([f"{i:08x}-1c2d-4e3f-8a9b-0123456789ab" for i in range(9)])), holds_tokens(Column.of(["a1b2"] * 9))
    (True, False)
    """
    if column.kind is not Kind.TEXT or len(column.values) < FEWEST_TOKENS:
        return False
    held = [text for text in text_array(column.values.slice(0, SEEN)).to_pylist() if text]
    return len(held) >= FEWEST_TOKENS and all(map(TOKEN.fullmatch, held))


def is_serial(column: Column) -> bool:
    """Return whether a column numbers the records: whole numbers, each once, with hardly a gap.

    >>> is_serial(Column.of(list(range(101, 141)))), is_serial(Column.of([3 * i for i in range(40)]))
    (True, False)
    """
    rows = len(column)
    if column.kind is not Kind.INTEGER or column.missing >= 0 or rows < 2 or len(column.values) < rows:
        return False
    numbers = column.numbers()
    return bool(np.ptp(numbers) + 1 <= 1.2 * rows)


def is_code(column: Column) -> bool:
    """Return whether nearly every record has a code of its own: letters with digits, or long whole numbers of one length.

    >>> is_code(Column.of([f"A-{i:04}" for i in range(50)])), is_code(Column.of([float(i) for i in range(50)]))
    (True, False)
    """
    rows, distinct = len(column), len(column.values)
    if rows < FEWEST_ROWS or distinct <= ALL_BUT * rows or column.kind not in (Kind.TEXT, Kind.INTEGER):
        return False
    texts = text_array(column.values.drop_null().slice(0, MOST_VALUES))
    if not pc.all(pc.match_substring_regex(texts, CODE)).as_py():
        return False
    return column.kind is Kind.TEXT or _of_one_length(texts)


def _of_one_length(texts: pa.Array) -> bool:
    shortest, longest = pc.min_max(pc.utf8_length(texts)).as_py().values()
    return bool(shortest == longest >= SHORTEST_CODE)
