"""What the name of a place means, and what is said of it."""

from __future__ import annotations

import pytest

from oboro.errors import OboroError, UsageError
from oboro.io.places.place import as_place, is_plain_file, without_secrets
from oboro.io.read import read


@pytest.mark.parametrize(
    ("name", "kind", "scheme"),
    [
        ("people.csv", "file", ""),
        ("-", "file", ""),
        ("C:/people.csv", "file", ""),
        ("folder/", "files", ""),
        ("*.parquet", "files", ""),
        ("s3://bucket/people.csv", "file", "s3"),
        ("s3://bucket/people/", "files", "s3"),
        ("gs://bucket/year=*/part-?.parquet", "files", "gs"),
        ("sqlite:///people.db?table=people", "table", "sqlite"),
        ("postgresql://host/db?query=SELECT 1", "table", "postgresql"),
    ],
)
def test_what_a_name_means(name: str, kind: str, scheme: str) -> None:
    place = as_place(name)
    assert (place.kind, place.scheme) == (kind, scheme)


def test_only_files_of_this_machine_are_plain(tmp_path) -> None:
    strange = tmp_path / "a*b.csv"  # a name that looks like a pattern is a file where there is one
    strange.touch()
    assert is_plain_file(str(strange))
    assert is_plain_file("-")
    assert not is_plain_file(str(tmp_path))
    assert not is_plain_file("s3://bucket/people.csv")


def test_what_is_said_of_a_place_has_no_password_and_no_value_of_the_data() -> None:
    place = as_place("postgresql://me:p%40ss word@host:5432/db?table=people&sslpassword=hush")
    assert place.shown == "postgresql://me:***@host:5432/db?table=people"
    said = without_secrets("cannot connect to postgresql://me:p%40ss word@host/db (p@ss word, hush)", place)
    assert "p@ss" not in said
    assert "p%40ss" not in said
    assert "hush" not in said
    assert "secret" not in repr(as_place("s3://key:secret@bucket/x.csv"))
    assert as_place("s3://key:secret@bucket/x.csv").shown == "s3://key:***@bucket/x.csv"
    assert as_place("sqlite:///a.db?query=SELECT * FROM people WHERE name = 'Ann'").shown == "sqlite:///a.db?query=…"
    assert as_place("s3://bucket/zip=1234/part.csv").shown == "s3://bucket/zip=…/part.csv"


def test_a_query_may_be_written_as_it_is_or_encoded() -> None:
    plain = as_place("sqlite:///a.db?query=SELECT a+1 AS b FROM t WHERE c & 2 > 1")
    assert plain.parameter("query") == "SELECT a+1 AS b FROM t WHERE c & 2 > 1"
    for encoded in ("SELECT+a%2B1+FROM+t", "SELECT%20a%2B1%20FROM%20t"):
        assert as_place(f"sqlite:///a.db?query={encoded}").parameter("query") == "SELECT a+1 FROM t"


@pytest.mark.parametrize("name", ["sqlite:///a.db", "sqlite:///a.db?table=a&query=SELECT 1", "duckdb:///x"])
def test_a_database_must_say_which_table(name: str) -> None:
    with pytest.raises(UsageError, match=r"\?table=people"):
        as_place(name)


@pytest.mark.parametrize(
    "address",
    [
        "postgres:/ann:s3cret@host/people.csv",
        "jdbc:postgresql://ann:s3cret@host/db",
        "postgresql://ann:s3/cret@127.0.0.1:1/db?table=people",
        "jdbc:postgresql://host/db?user=ann&password=s3cret",
        "ftp://ann:s3cret@127.0.0.1:1/people.csv",
        "ftp://127.0.0.1:1/people.csv?bogus=s3cret",
    ],
)
def test_no_password_is_said_of_what_only_looks_like_an_address(
    address: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A slip of the finger makes a file name of an address; what then cannot be found is still nobody's to read."""
    for lang in ("en", "ja"):
        with pytest.raises(OboroError) as caught:
            read(address)
        assert "cret" not in caught.value.say(lang) + caught.value.show(lang)
    assert capfd.readouterr().err == ""
