"""Pseudonymization: replace identifiers by pseudonyms, the same for all records of a person."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import repeat
from math import ceil
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ConfigDict, Field, field_validator, model_validator

from oboro.data.column import Column
from oboro.errors import UsageError
from oboro.notations.texts import text_values
from oboro.schema import Opinion, Role, Schema
from oboro.system.files import is_variable_name, secret_key, variable_shown
from oboro.techniques.base import Outcome, SecretExample, Technique, Work
from oboro.text import Message, Words

__all__ = ["Pseudonymize", "keyed_digests"]


ALPHABETS = {"base32": b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "hex": b"0123456789abcdef"}  # RFC 4648
LENGTH = 16
# 60 bits: two of a million values collide once in two million tables. A collision within a table is seen and is an
# error, but one between two tables is not, so the floor is where it is negligible, not where it would be noticed.
LEAST_BITS, MOST_BITS = 60, 256

MISSING = b"\xff"  # stands for a missing value: no text is encoded like this


class Pseudonymize(Technique):
    """Replace the values of identifiers by pseudonyms, the same value always by the same one.

    - `hmac`: HMAC-SHA-256 of the value under a secret key, salted by the `domain` (the column's name unless said
      otherwise), as `length` letters. The same key and domain give the same pseudonym in every table and every run. A
      plain hash would be reversed by hashing every name there is; here a guess cannot even be tested without the key.
    - `number`: 1, 2, 3 … in random order (numbers by first appearance would tell the order of the records).
    - `random`: random letters. Both are for one table: nothing links two runs, and nobody can undo them, unless the
      recipe fixes the seed: then whoever has the recipe and the values can do them again.

    `number` and `random` order and spell values by an HMAC under a key that is drawn for the run and thrown away, not
    by the random numbers themselves: from enough of those the generator's state could be found, and from it the
    mapping.

    Given: one column or several; for `hmac` a key of at least 16 bytes in an environment variable or a file (a line
    end after it does not count). The key is in no recipe, report, message or dump: only where it is to be found is.
    Values are taken as text, so 39 and "39" are the same.
    Promises: equal values get equal pseudonyms and different values different ones (a collision is an error); the
    column's role becomes `other`. How often each value occurs still shows, and so does every other column: a pseudonym
    protects a name, and is not anonymity.
    Checked by: tests/techniques/test_pseudonymize.py, against the standard library's hmac.

    >>> released = Pseudonymize(attribute="name", method="number").apply({"name": ["Ann", "Bob", "Ann"]})
    >>> released["name"] in ([1, 2, 1], [2, 1, 2])
    True
    """

    model_config = ConfigDict(hide_input_in_errors=True)  # a key that was put where it must not be is not repeated

    step: ClassVar[str] = "pseudonymize"
    by_value: ClassVar[bool] = True
    iso: ClassVar[Words] = Message("technique.pseudonymize.iso")
    examples: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"attribute": "name", "method": "random"},
        {"attribute": "name", "method": "number"},
    )
    secret_example: ClassVar[SecretExample | None] = SecretExample(
        {"attribute": "name", "key_env": "CANARY_KEY", "domain": "canarydomain"},
        hidden=("CANARY_KEY", "canarydomain"),
        dropped=("canarycolumn",),
    )
    opinion: ClassVar[Opinion | None] = "pseudonymisation"
    not_in_stream: ClassVar[Message | None] = None

    attribute: str | None = None
    """The column."""
    attributes: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Several columns (instead of `attribute`)."""
    method: Literal["hmac", "number", "random"] = "hmac"
    """hmac: keyed, the same in every table and run; number: 1 … n in random order; random: random letters."""
    key_env: str | None = None
    """hmac: the environment variable that holds the key."""
    key_file: str | None = Field(default=None, min_length=1)
    """hmac: the file that holds the key; a relative path starts at the recipe."""
    domain: str | None = None
    """The salt; by default each column's own name. Columns with the same domain, also in other tables, share pseudonyms."""
    length: int | None = Field(default=None, ge=1)
    """hmac, random: how many letters, the prefix not counted (16)."""
    alphabet: Literal["base32", "hex"] = "base32"
    """hmac, random: base32 (A–Z and 2–7, 5 bits each) or hex (0–9 and a–f, 4 bits each)."""
    prefix: str = ""
    """Text to put before every pseudonym."""
    missing: Literal["keep", "pseudonymize"] = "keep"
    """Whether a missing value stays missing, or gets a pseudonym like any other value."""

    @model_validator(mode="before")
    @classmethod
    def _no_key_in_the_recipe(cls, given: Any) -> Any:
        """What is unknown here may be a key, so its value is not repeated."""
        if isinstance(given, dict) and not given.keys() <= cls.model_fields.keys():
            unknown = [name for name in given if name not in cls.model_fields]
            raise ValueError(
                Message("error_technique.pseudonymize_option", unknown=unknown, known=list(cls.model_fields))
            )
        return given

    @field_validator("key_env")
    @classmethod
    def _is_a_name(cls, name: str | None) -> str | None:
        if name is not None and not is_variable_name(name):
            raise ValueError(Message("error_technique.key_env_name"))
        return name

    @model_validator(mode="after")
    def _fits_together(self) -> Pseudonymize:
        if (self.attribute is None) == (self.attributes is None):
            raise ValueError(Message("error_technique.attribute_or_attributes"))
        keyless = (self.key_env, self.key_file).count(None)
        if self.method == "hmac" and keyless != 1:
            raise ValueError(Message("error_technique.hmac_key"))
        if self.method != "hmac" and keyless < 2:
            key = "key_file" if self.key_env is None else "key_env"
            raise ValueError(Message("error_technique.no_key", method=self.method, key=key))
        if self.method == "number" and (self.length is not None or self.alphabet != "base32"):
            raise ValueError(Message("error_technique.number_length"))
        bits = len(ALPHABETS[self.alphabet]).bit_length() - 1
        least, most = ceil(LEAST_BITS / bits), ceil(MOST_BITS / bits)
        if not least <= (self.length or LENGTH) <= most:
            raise ValueError(Message("error_technique.length", least=least, most=most, alphabet=self.alphabet))
        return self

    @property
    def rests_on_chance(self) -> bool:
        """Pseudonyms without a key are drawn."""
        return self.method != "hmac"

    def files(self) -> tuple[str, ...]:
        """The file of the key, if it stands in one."""
        return () if self.key_file is None else (self.key_file,)

    @property
    def removes_identity(self) -> tuple[str, ...]:
        """All of them: a pseudonym is no identifier."""
        return self.attributes if self.attributes is not None else (self.attribute or "",)

    def run(self, work: Work) -> Outcome:
        """One HMAC for each distinct value (about 2 µs), one look-up per row."""
        work.schema.require(work.data, self.removes_identity, self.step)
        key = self._key(work.schema.folder) if self.method == "hmac" else work.rng.bytes(32)
        data, schema = work.data, work.schema
        facts: dict[str, Any] = {"method": self.method, "values": {}, "missing_records": {}}
        names = list(dict.fromkeys(self.removes_identity))
        for shared in zip(names, strict=True) if self.domain is None else [names]:
            domain = shared[0] if self.domain is None else self.domain
            columns = list(data.select(shared).columns.values())
            for name, before, after in zip(shared, columns, self._rename(key, domain, columns), strict=True):
                facts["values"][name] = len(before.values.drop_null())
                facts["missing_records"][name] = int(before.counts[before.missing]) if before.missing >= 0 else 0
                data = data.with_columns({name: after})
                schema = schema.with_role(name, Role.OTHER)
        return Outcome(data, schema, facts)

    def one_by_one(self, name: str, folder: Path) -> Callable[[str | None], str | None]:
        """The pseudonym of one value at a time, for streams; the same as in a table. Only `hmac` needs no other value for that."""
        if self.method != "hmac":
            raise UsageError(Message("error_technique.one_table", step=self.step, method=self.method))
        salted = _salted(self._key(folder), (name if self.domain is None else self.domain).encode())
        spell = bytes.hex if self.alphabet == "hex" else lambda digest: base64.b32encode(digest).decode()
        keep, length, prefix = self.missing == "keep", (self.length or LENGTH), self.prefix

        def encoded(text: str | None) -> bytes | None:
            return None if text is None else text.encode()

        def pseudonym(text: str | None) -> str | None:
            return None if text is None and keep else prefix + spell(_digest(salted, encoded(text)))[:length]

        return pseudonym

    def _rename(self, key: bytes, domain: str, columns: Sequence[Column]) -> list[Column]:
        """The columns with pseudonyms; what they have in common has the same one in all of them."""
        values = list(map(attrgetter("values"), columns))
        texts = pa.concat_arrays(list(map(text_values, values)))
        distinct = texts.dictionary_encode(null_encoding="mask" if self.missing == "keep" else "encode")
        pseudonyms = self._pseudonyms(keyed_digests(key, domain.encode(), distinct.dictionary))
        pseudonyms = pa.concat_arrays([pseudonyms, pa.nulls(1, pseudonyms.type)])  # what stays missing
        table = distinct.indices.fill_null(len(pseudonyms) - 1).to_numpy(zero_copy_only=False)
        parts = np.split(table, np.cumsum(list(map(len, values)))[:-1])
        return list(map(Column.recode, columns, parts, repeat(pseudonyms)))

    def _pseudonyms(self, digests: np.ndarray) -> pa.Array:
        if self.method == "number":
            numbers = _ranks(digests)
            return pc.binary_join_element_wise(self.prefix, numbers.cast(pa.string()), "") if self.prefix else numbers
        letters = _spell(digests, ALPHABETS[self.alphabet], (self.length or LENGTH))
        if len(letters.unique()) < len(letters):
            raise UsageError(Message("error_technique.same_pseudonym", step=self.step, length=(self.length or LENGTH)))
        return pc.binary_join_element_wise(self.prefix, letters, "") if self.prefix else letters

    def _key(self, folder: Path) -> bytes:
        return secret_key(self.step, self.key_env, self.key_file, folder)

    def plan(self, schema: Schema) -> Words:
        """How, with whose key, and what still shows."""
        said = [
            Message("technique.pseudonymize.plan", columns=self.removes_identity, how=self._how(), missing=self.missing)
        ]
        released = [name for name in self.removes_identity if name in (*schema.quasi, *schema.sensitive)]
        if released:
            said.append(Message("technique.pseudonymize.other_role", columns=released))
        return Message("text.sentences", said=said)

    def _how(self) -> Message:
        together = self.domain is not None and len(self.removes_identity) > 1
        shared = Message("technique.pseudonymize.shared") if together else ""
        if self.method == "number":
            return Message("technique.pseudonymize.numbers", shared=shared)
        letters: dict[str, Any] = {"length": (self.length or LENGTH), "alphabet": self.alphabet}
        if self.method == "random":
            return Message("technique.pseudonymize.random_letters", shared=shared, **letters)
        salt, where = (
            Message("technique.pseudonymize.salt_name"),
            Message("technique.pseudonymize.key_file", path=self.key_file),
        )
        if self.domain is not None:
            salt = Message("technique.pseudonymize.salt_domain", domain=self.domain)
        if self.key_env is not None:
            where = Message("technique.pseudonymize.key_env", name=variable_shown(self.key_env))
        return Message("technique.pseudonymize.keyed_letters", salt=salt, where=where, **letters)


def keyed_digests(key: bytes, domain: bytes, texts: pa.Array) -> np.ndarray:
    """Return HMAC-SHA-256 of every text under HMAC(key, domain): one row of 32 bytes each.

    A key of its own for each domain keeps salt and value apart: no domain and value can run into another pair. Copying
    a keyed object takes 2.0 µs; `hmac.digest`, which sets the key up every time, takes 2.9 µs.
    """
    salted = _salted(key, domain)
    joined = b"".join(map(partial(_digest, salted), texts.cast(pa.binary()).to_pylist()))
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, 32)


def _salted(key: bytes, domain: bytes) -> hmac.HMAC:
    return hmac.new(hmac.digest(key, domain, "sha256"), digestmod="sha256")


def _digest(salted: hmac.HMAC, text: bytes | None) -> bytes:
    one = salted.copy()
    one.update(MISSING if text is None else text)
    return one.digest()


def _ranks(digests: np.ndarray) -> pa.Array:
    """1 … n by the order of the digests: random to whoever has no key. 128 bits decide."""
    halves = digests.view(">u8")
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    numbers = np.empty(order.size, dtype=np.int64)
    numbers[order] = np.arange(1, order.size + 1)
    return pa.array(numbers)


def _spell(digests: np.ndarray, alphabet: bytes, length: int) -> pa.Array:
    """The first bits of each digest as letters, as RFC 4648 writes them; a letter at a time for all digests."""
    letters = np.frombuffer(alphabet, dtype=np.uint8)
    bits = len(alphabet).bit_length() - 1
    padded = np.pad(digests, ((0, 0), (0, 1))).T  # 52 letters of base32 ask for four bits more than there are
    spelled = np.empty((len(digests), length), dtype=np.uint8)
    for place in range(length):
        byte, offset = divmod(place * bits, 8)
        pair = padded[byte].astype(np.uint16) << 8 | padded[byte + 1]
        spelled[:, place] = letters[pair >> (16 - offset - bits) & (len(alphabet) - 1)]
    return pa.array(spelled.view(f"S{length}").ravel(), pa.binary()).cast(pa.string())
