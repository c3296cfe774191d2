"""Who is exposed by a table as it stands: exact counts over all rows, from codes alone.

- `exposure`: how far a set of columns tells records apart (distinction, separation), and whom it singles out.
- `unique_people`: who is unique by one column, by two, by all of some columns; ranked.
- `certain_secrets`: for whom a sensitive value is certain, or nearly, from the class alone.
- `rare_values`: values that fewer than k records hold.

A missing value and `*` are values like any other, but `*` is never a rare one. With `person`, the column that says whose rows
these are, people are counted instead of records.
"""
