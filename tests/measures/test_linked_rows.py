"""Who is unique by the classes of all their rows: against a dictionary of the rows of each person."""

from __future__ import annotations

from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st

from oboro.data.dataset import Dataset
from oboro.disclosure.linked_rows import LinkedPeople, linked_people

ROWS = st.lists(
    st.tuples(st.sampled_from([None, *range(7)]), st.integers(0, 2), st.sampled_from("ab")), min_size=1, max_size=30
)


@given(ROWS)
def test_against_the_rows_of_each_person(rows):
    who, year, sex = zip(*rows, strict=True)
    trails = defaultdict(Counter)
    for person, *key in rows:
        if person is not None:
            trails[person][tuple(key)] += 1
    alike = Counter(tuple(sorted(trail.items())) for trail in trails.values())
    table = Dataset.of({"who": who, "year": year, "sex": sex})
    expected = LinkedPeople(len(trails), sum(count == 1 for count in alike.values()))
    assert linked_people(table, ["year", "sex"], table["who"]) == expected
