"""Where there is little to do, Python and NumPy do the same as compiled code: kernels, small CSV tables."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oboro.algorithms.lattice.kernels import attributes, dominance
from oboro.algorithms.lattice.kernels import classes as kernels_classes
from oboro.algorithms.lattice.kernels import nodes as kernels_nodes
from oboro.attacks import kernels as attacks_kernels
from oboro.data.column import Column
from oboro.data.dataset import Dataset
from oboro.data.grouping import number_keys
from oboro.io import column_store
from oboro.io.formats.csv.dialect import Dialect
from oboro.io.read import read
from oboro.io.write import write
from oboro.kernels import grouping, hashing, jit
from oboro.recipe.recipe import Recipe
from oboro.verifier import kernels as verifier_kernels


@contextmanager
def little() -> Iterator[None]:
    """As in a process of its own."""
    jit._compile_all = False
    try:
        yield
    finally:
        jit._compile_all = True


# Kernels --------------------------------------------------------------------------------------------------------------

Rng = np.random.Generator


def _labels(rng: Rng) -> tuple[np.ndarray, int]:
    groups = int(rng.integers(1, 6))
    return rng.integers(0, groups, int(rng.integers(0, 40))).astype(np.uint32), groups


def _members(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    labels, groups = _labels(rng)
    return labels, np.append(0, np.cumsum(np.bincount(labels, minlength=groups)))


def _combine(rng: Rng) -> tuple[Any, ...]:
    labels, groups = _labels(rng)
    return rng.integers(0, 9, labels.size).astype(np.uint64), labels, groups, np.zeros(labels.size, np.uint64)


def _number(rng: Rng) -> tuple[Any, ...]:
    labels, groups = _labels(rng)
    seen, found = np.zeros(groups, np.uint32), int(rng.integers(0, groups))
    seen[rng.permutation(groups)[:found]] = np.arange(found) + 1
    return labels.astype(np.uint64), seen, np.zeros(labels.size, np.uint32), found


def _number_by_hash(rng: Rng) -> tuple[Any, ...]:
    keys = _labels(rng)[0].astype(np.uint64) * np.uint64(1 << 33)
    slots = np.zeros(1 << (2 * keys.size).bit_length(), np.uint32)
    return keys, slots, np.zeros(keys.size, np.uint32)


def _look_up(rng: Rng) -> tuple[Any, ...]:
    labels, groups = _labels(rng)
    types = rng.choice([np.uint8, np.uint32, np.int64], 2)
    return rng.integers(0, 99, groups).astype(types[0]), labels, np.zeros(labels.size, types[1])


def _occurrences(rng: Rng) -> tuple[Any, ...]:
    labels, groups = _labels(rng)
    types = rng.choice([np.uint8, np.uint32, np.int64, np.uint64], 2)
    return labels.astype(types[0]), rng.integers(0, 3, groups).astype(types[1])


def _one_image(rng: Rng) -> tuple[Any, ...]:
    labels, groups = _labels(rng)
    codes = labels.astype(np.uint32)
    return codes, rng.integers(0, 4, groups).astype(np.uint32)[codes], np.full(groups, -1)


def _gather(rng: Rng) -> tuple[Any, ...]:
    labels, starts = _members(rng)
    return labels, rng.integers(0, 5, labels.size).astype(np.uint8), starts[:-1].copy(), np.zeros(labels.size, np.uint8)


def _tally(rng: Rng) -> tuple[Any, ...]:
    labels, starts = _members(rng)
    room = labels.size
    codes, counts = np.zeros(room, np.uint32), np.zeros(room, np.int64)
    return (
        rng.integers(0, 5, room).astype(np.uint32), starts, np.zeros(5, np.int64), codes, counts, np.zeros(starts.size, np.int64)
    )  # fmt: skip


def _keep_distinct(rng: Rng) -> tuple[Any, ...]:
    labels, starts = _members(rng)
    return rng.integers(0, 5, labels.size).astype(np.uint32), starts, np.zeros(5, np.int64), np.zeros_like(starts)


def _keys(rng: Rng) -> tuple[Any, ...]:
    codes = rng.integers(0, 8, (int(rng.integers(0, 30)), 3)).astype(np.uint16)
    return codes, rng.integers(0, 1 << 60, 8).astype(np.uint64), np.zeros(len(codes), np.uint64)


def _sizes(rng: Rng) -> tuple[Any, ...]:
    labels, groups = _labels(rng)
    return labels, rng.integers(1, 9, labels.size), np.zeros(groups, np.int64)


def _steps(rng: Rng) -> tuple[Any, ...]:
    labels, groups = _labels(rng)
    codes = rng.integers(0, 6, (labels.size, 2)).astype(np.uint8)
    gone, weights = rng.integers(0, 2, groups).astype(bool), rng.integers(1, 9, labels.size)
    return codes, labels, gone, weights, rng.integers(0, 4, 6), np.zeros((2, 4), np.int64)


def _nodes(rng: Rng) -> tuple[Any, ...]:
    """Two attributes of three values, each with a level that joins two of them; one digit for both, or one each."""
    rows, together = int(rng.integers(1, 30)), bool(rng.integers(0, 2))
    codes, weights = rng.integers(0, 3, (rows, 2)).astype(np.uint16), rng.integers(1, 4, rows)
    digits = (codes @ np.array([3, 1]) if together else codes + np.array([0, 3])).reshape(rows, -1).astype(np.uint16)
    nodes, seen, bounds = rng.integers(0, 2, (3, 2)), np.zeros((1, 2), np.int64), np.array([0, rows])
    layout = np.array([0, 1]), np.array([0, 2] if together else [0, 1, 2]), np.array([0, 3, 6])
    numbers, steps = np.array([0, 1, 2, 0, 0, 1] * 2, np.uint32), rng.integers(0, 3, 12).astype(np.uint32)
    ladders = np.array([[0, 3], [6, 9]]), np.array([[3, 2], [3, 2]]), numbers, steps
    k, most = int(rng.integers(1, 8)), int(rng.integers(0, 40))
    slots, table, keys = np.zeros(8 * rows + 8192, np.int64), np.zeros(9, np.uint64), np.zeros(rows, np.uint64)
    kept, ends = (np.zeros(2 * rows, np.uint32), np.zeros(2 * rows, np.int64)), np.zeros(4, np.int64)
    tuples = np.arange(rows, dtype=np.uint32)
    read = tuples, weights, digits, codes + np.array([0, 3], np.uint16)
    sizes = np.zeros((3 * int(rng.integers(0, 2)), 5), np.int64)
    out = np.zeros((3, 2, 3), np.int64), sizes, np.zeros((3, 6), np.int64)
    return (nodes, seen, bounds, *read, *layout, *ladders, k, most, False, slots, table, keys, *kept, ends, *out)


def _order(rng: Rng) -> tuple[Any, ...]:
    labels, starts = _members(rng)
    return labels, starts[:-1].copy(), np.zeros(labels.size, np.int64)


def _judge(rng: Rng) -> tuple[Any, ...]:
    labels, starts = _members(rng)
    secrets, kind = rng.integers(0, 4, labels.size).astype(np.uint8), int(rng.integers(0, 6))
    weights, count = rng.integers(1, 4, labels.size), -1 if kind == attributes.ALPHA else int(rng.integers(1, 4))
    persons = np.sort(rng.integers(0, 9, labels.size)) if rng.random() < 0.5 else np.zeros(0, np.int64)
    tree = np.stack([np.arange(4), np.arange(4) // 2])
    whole = np.bincount(secrets, weights, minlength=4).astype(np.int64)
    level = float(rng.choice([0.25, 0.5, 1.0, 1.5, 2.0, 3.0]))
    order = np.argsort(labels, kind="stable")
    least, out = np.zeros((starts.size - 1) * int(rng.integers(0, 2)), np.int64), np.zeros(starts.size - 1, np.int8)
    return order, starts, secrets, weights, persons, kind, count, level, whole, tree, least, out


def _people(rng: Rng) -> tuple[Any, ...]:
    labels, groups = _labels(rng)
    return labels, np.sort(rng.integers(0, 9, labels.size)), np.full(groups, -1), np.zeros(groups, np.int64)


def _people_numbered(rng: Rng) -> tuple[Any, ...]:
    labels, groups = _labels(rng)
    return labels, np.sort(rng.integers(0, 9, labels.size)), np.full(groups, -1), np.zeros(labels.size, np.int64)


SHAPE = np.array([2, 3, 4])


def _marked(rng: Rng) -> tuple[Any, ...]:
    return rng.integers(0, 2, 24).astype(np.uint8), SHAPE, np.zeros(24, np.int64)


def _promising(rng: Rng) -> tuple[Any, ...]:
    fails, seen = (rng.integers(0, 2, 24).astype(bool) for _ in range(2))
    base, slope, surely = (rng.integers(0, 5, 24) / 4 for _ in range(3))
    return fails, seen, base, slope, surely, 0.75, 1.5, int(rng.integers(0, 24)), np.zeros(24, bool)


def _choose(rng: Rng) -> tuple[Any, ...]:
    marked, settled, sure = (rng.integers(0, 2, 24).astype(bool) for _ in range(3))
    entropy, below, above = rng.random(24), rng.integers(0, 9, 24), rng.integers(0, 9, 24)
    out = np.zeros((int(rng.integers(1, 5)), 3), np.int64)
    return (
        marked,
        settled,
        float(rng.random()),
        sure,
        entropy,
        0.4,
        0.3,
        below,
        above,
        SHAPE,
        bool(rng.integers(0, 2)),
        out,
    )


def _note(rng: Rng) -> tuple[Any, ...]:
    """Two nodes; a passing one covers what is above it, as others before it did."""
    nodes = np.stack([rng.integers(0, size, 2) for size in SHAPE], axis=1)
    passed, down, up = (rng.integers(0, 2, 2).astype(bool) for _ in range(3))
    marks = [rng.integers(0, 2, 24).astype(bool) for _ in range(3)]
    numbers = np.zeros(24), np.zeros(24)
    return nodes, SHAPE, passed, down, up, rng.random(2), rng.random(2), *marks, np.zeros(24, bool), *numbers


def _meet(rng: Rng) -> tuple[Any, ...]:
    return rng.integers(0, 2, 24).astype(bool), SHAPE, SHAPE.copy()


def _largest(rng: Rng) -> tuple[Any, ...]:
    labels, starts = _members(rng)
    return rng.integers(1, 9, labels.size), starts, int(rng.integers(0, 4)), np.zeros(starts.size - 1, np.int64)


def _equal_distance(rng: Rng) -> tuple[Any, ...]:
    labels, starts = _members(rng)
    codes, counts = rng.integers(0, 6, labels.size), rng.integers(1, 5, labels.size)
    sizes = rng.integers(1, 30, starts.size - 1)
    return codes, counts, starts, sizes, rng.integers(1, 50, 6), np.zeros(starts.size - 1, np.int64)


def _sum_up(rng: Rng) -> tuple[Any, ...]:
    return rng.integers(0, 4, int(rng.integers(0, 20))).astype(np.uint32), np.zeros(4, np.int64)


def _add_numbers(rng: Rng) -> tuple[Any, ...]:
    labels, groups = _labels(rng)
    return rng.integers(0, 1 << 64, groups, np.uint64), labels, rng.integers(0, 1 << 64, labels.size, np.uint64)


def _only_person(rng: Rng) -> tuple[Any, ...]:
    labels, groups = _labels(rng)
    return labels, rng.integers(0, 4, labels.size).astype(np.uint8), int(rng.integers(-1, 4)), np.full(groups, -1)


def _ordered(rng: Rng) -> tuple[Any, ...]:
    labels, starts = _members(rng)
    return np.argsort(labels, kind="stable").astype(np.uint32), starts, rng.integers(0, 5, labels.size).astype(np.uint8)


def _within(rng: Rng) -> tuple[Any, ...]:
    order, starts, codes = _ordered(rng)
    return order, starts, codes, np.zeros(5, np.uint32), np.zeros(codes.size, np.uint32), np.zeros(4, np.int64)


def _counted(rng: Rng) -> tuple[Any, ...]:
    labels, groups = _labels(rng)
    return labels, np.sort(rng.integers(0, 4, labels.size)), int(rng.integers(-1, 4)), np.zeros((3, groups), np.uint32)


def _summed(rng: Rng) -> tuple[Any, ...]:
    labels, people, missing, classes = _counted(rng)
    grouping.count_people.py_func(labels, people, missing, classes)
    return classes, np.zeros(4, bool), np.zeros(4, np.int64)


def _people_within(rng: Rng) -> tuple[Any, ...]:
    order, starts, codes = _ordered(rng)
    people = np.sort(rng.integers(0, 4, codes.size))
    return order, starts, codes, people, -1, np.zeros((3, 5), np.uint32), np.zeros(4, bool), np.zeros(4, np.int64)


def _described(rng: Rng, words: int) -> tuple[np.ndarray, ...]:
    """Ranges, some of which are missing, anything at all or a single value."""
    low = rng.integers(-2, 3, words) / 2.0
    high = low + rng.integers(0, 4, words) / 2.0
    for chance, ends in ((0.1, (np.nan, np.nan)), (0.1, (-np.inf, np.inf))):
        drawn = rng.random(words) < chance
        low[drawn], high[drawn] = ends
    return low, high, rng.integers(0, 3, words).astype(np.int32)


def _compared(rng: Rng, rows: int) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
    """The kind of each column, places in it, and which of four ranks fits which of three entries."""
    kinds = rng.integers(0, 3, 3)
    places = np.where(
        kinds == attacks_kernels.FITS, rng.integers(0, 4, (rows, 3)), rng.integers(-2, 5, (rows, 3)) / 2.0
    )
    places[(rng.random(places.shape) < 0.1) & (kinds != attacks_kernels.FITS)] = np.nan
    return kinds, places, (rng.integers(0, 2, 36).astype(np.uint8), np.array([0, 12, 24]), np.array([3, 3, 3]))


def _nearest(rng: Rng) -> tuple[Any, ...]:
    people, classes = int(rng.integers(0, 9)), int(rng.integers(1, 12))
    kinds, places, fits = _compared(rng, people)
    bases, lead = np.append(0, np.cumsum(rng.integers(1, 5, 3))), int(rng.integers(0, 3))
    words = rng.integers(bases[:-1], bases[1:], (classes, 3))
    words = words[np.argsort(words[:, lead], kind="stable")]
    starts = np.searchsorted(words[:, lead], np.arange(bases[lead], bases[lead + 1] + 1))
    own, keys = rng.integers(-1, classes, people), rng.integers(1, 2**63, people, dtype=np.uint64)
    sizes, order = rng.integers(1, 3, classes), rng.permutation(classes)
    said = _described(rng, int(bases[-1]))
    fitting = np.repeat(kinds == attacks_kernels.FITS, np.diff(bases))
    said[0][fitting] = rng.integers(0, 3, bases[-1])[fitting] / 2  # what fits is that likely
    return kinds, places, words, order, lead, starts, *said, bases, *fits, sizes, own, keys, np.zeros(people, np.int64)


def _matches(rng: Rng) -> tuple[Any, ...]:
    people, asked, segments = int(rng.integers(1, 20)), int(rng.integers(1, 8)), 3
    kinds, places, fits = _compared(rng, 5)
    low, high, entries = (one.reshape(asked, 3) for one in _described(rng, 3 * asked))
    lists = [np.flatnonzero(rng.random(asked) < 0.7) for _ in range(segments)]
    heads = np.append(0, np.cumsum([one.size for one in lists]))
    used, codes = rng.random((asked, 3)) < 0.8, rng.integers(0, 5, (3, people))
    where = rng.integers(0, 3), rng.integers(0, segments, 5), heads, np.concatenate(lists), people // 3, people
    starts = np.array([0, 5, 10])
    return kinds, codes, places.T.ravel(), starts, low, high, entries, used, *fits, *where, np.zeros(asked, np.int64)


def _nth_members(rng: Rng) -> tuple[Any, ...]:
    labels = rng.permutation(np.repeat(np.arange(4), rng.integers(1, 6, 4)))
    asked = [np.sort(rng.integers(0, np.count_nonzero(labels == one), rng.integers(0, 4))) for one in range(4)]
    ends = np.cumsum([one.size for one in asked])
    return labels, np.concatenate(asked), np.append(0, ends[:-1]), ends, np.zeros(ends[-1], np.int64)


CASES: dict[Any, Callable[[Rng], tuple[Any, ...]]] = {
    grouping.combine: _combine,
    grouping.number_by_appearance: _number,
    grouping.look_up: _look_up,
    grouping.occurrences: _occurrences,
    grouping.one_image: _one_image,
    grouping.gather: _gather,
    grouping.tally: _tally,
    grouping.keep_distinct: _keep_distinct,
    kernels_nodes.keys: _keys,
    kernels_nodes.sizes: _sizes,
    kernels_nodes.tally: _steps,
    hashing.number_by_hash: _number_by_hash,
    kernels_classes.count_nodes: _nodes,
    kernels_nodes.order_by_class: _order,
    kernels_nodes.judge: _judge,
    kernels_nodes.distinct_people: _people,
    kernels_nodes.number_by_person: _people_numbered,
    dominance.count_below: _marked,
    dominance.count_above: _marked,
    dominance.promising: _promising,
    dominance.choose: _choose,
    dominance.note: _note,
    dominance.meet: _meet,
    grouping.sum_up: _sum_up,
    grouping.add_numbers: _add_numbers,
    grouping.only_person: _only_person,
    grouping.by_code: _order,
    grouping.classes_within: _within,
    grouping.count_people: _counted,
    grouping.sum_up_people: _summed,
    grouping.people_within: _people_within,
    attacks_kernels.nearest: _nearest,
    attacks_kernels.matches: _matches,
    attacks_kernels.members: _nth_members,
    verifier_kernels.largest: _largest,
    verifier_kernels.equal_distance: _equal_distance,
}


def _copied(arguments: tuple[Any, ...]) -> list[Any]:
    return [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]


@pytest.mark.parametrize("one", CASES, ids=lambda one: f"{one.__module__.split('.')[-1]}-{one.__name__}")
def test_a_kernel_does_the_same_compiled_or_not(one: Any) -> None:
    for seed in range(60):
        arguments = CASES[one](np.random.default_rng(seed))
        compiled, plain = _copied(arguments), _copied(arguments)
        with little():
            one.left = jit.LITTLE
            assert one(*plain) == one.compiled(*compiled)
        for name, first, second in zip(signature(one.py_func).parameters, compiled, plain, strict=False):
            if name not in (
                "places",
                "slots",
                "table",
                "keys",
                "kept",
                "kept_weights",
            ):  # what is there afterwards means nothing
                np.testing.assert_array_equal(first, second)


def test_keys_are_numbered_alike() -> None:
    keys = np.random.default_rng(1).integers(0, 50, 200).astype(np.uint64)
    numbered = number_keys(keys.copy())
    with little():
        plain = number_keys(keys.copy())
    assert plain.found == numbered.found
    pairs = set(zip(plain.of_rows(slice(None)).tolist(), numbered.of_rows(slice(None)).tolist(), strict=True))
    assert len(pairs) == plain.found


def test_a_kernel_is_compiled_when_there_is_more_work() -> None:
    calls = []
    loop = jit.kernel(little=lambda *_: calls.append("little"))(lambda numbers: numbers.size)
    loop.__dict__["compiled"] = lambda numbers: calls.append("compiled")
    with little():
        loop(np.zeros(10))
        loop(np.zeros(jit.LITTLE_FOR_NUMPY))
        loop(np.zeros(10))
    assert calls == ["little", "compiled", "compiled"]


# Small CSV tables -----------------------------------------------------------------------------------------------------

FIELD = st.text("ab,;\"' \t\r\n|é語0", max_size=4)


def _read(path: Path) -> Any:
    try:
        source = read(path, quote='"', delimiter=",")
    except Exception as problem:
        return type(problem).__name__, str(problem)
    return source.data.rows, {
        n: (c.values.to_pylist(), c.codes.tolist(), c.codes.dtype) for n, c in source.data.columns.items()
    }


@settings(max_examples=50)
@given(st.text('ab," \r\né', max_size=40), st.sampled_from(["x,y\n", "x, y\r\n", "x\n", "x,y,z\r"]))
def test_any_text_is_read_alike(tmp_path_factory: pytest.TempPathFactory, text: str, header: str) -> None:
    path = tmp_path_factory.getbasetemp() / "little.csv"
    path.write_bytes((header + text).encode())
    compiled = _read(path)
    with little():
        assert _read(path) == compiled


@settings(max_examples=40)
@given(
    st.lists(st.tuples(FIELD, FIELD), max_size=5),
    st.sampled_from([Dialect(), Dialect("\t"), Dialect(";", "'"), Dialect("|", header=False), Dialect(encoding="utf-8-sig")]),
    st.booleans(),
)  # fmt: skip
def test_any_table_is_written_alike(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], dialect: Dialect, alone: bool
) -> None:
    columns = dict(zip(("a b", ' "c'), zip(*rows, strict=True), strict=True)) if rows else {"a": (), "b": ()}
    data = Dataset({name: Column.of([text or None for text in texts]) for name, texts in columns.items()}, len(rows))
    data = data.select([next(iter(data))]) if alone else data
    files = [tmp_path_factory.getbasetemp() / f"out{number}.csv" for number in range(2)]
    write(data, files[0], dialect)
    with little():
        write(data, files[1], dialect)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_columns_that_stay_in_a_small_file_come_out_as_they_stood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_store, "HELD_TOO", -1)
    path = tmp_path / "in.csv"
    path.write_text('a,b,c\n1,"x",é\n2,"y, z",\n3," q",é\n', encoding="utf-8")
    written = []
    for number in range(2):
        with little() if number else jit.always_compiled():
            source = read(path, held=["a"], fingerprinted=["b", "c"])
            assert source.untouched is not None
            assert source.untouched.fingerprints is not None
            assert len(set(source.untouched.fingerprints.of_rows().tolist())) == 3
            source.write(source.data, tmp_path / f"{number}.csv")
            written.append((tmp_path / f"{number}.csv").read_bytes())
    assert written[0] == written[1]


def test_a_small_job_loads_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("name,age,illness\n" + "".join(f"n{i},{30 + i % 4},i{i % 3}\n" for i in range(60)))
    roles = {"name": {"role": "identifier"}, "age": {"role": "quasi"}, "illness": {"role": "sensitive"}}
    steps = [{"drop_columns": {"attributes": ["name"]}}, {"k_anonymize": {"k": 3, "l_diversity": {"illness": 2}}}]
    job = f"oboro.Recipe(attributes={roles}, steps={steps}).run({str(tmp_path / 'in.csv')!r})"
    code = (
        f"import sys, oboro; release = {job}; release.write({str(tmp_path / 'out.csv')!r}); release.summary();"
        "print(*[name for name in ('numba', 'scipy', 'sklearn', 'oboro.report.make') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == ""


def test_a_small_job_as_a_program_loads_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("age,sex\n" + "".join(f"{30 + i % 4},{'FM'[i % 2]}\n" for i in range(60)))
    (tmp_path / "recipe.yaml").write_text(
        "attributes: {age: {role: quasi}, sex: {role: quasi}}\nsteps: [{k_anonymize: {k: 3}}]"
    )
    code = (
        "import sys\nfrom oboro.cli.main import program\n"
        "sys.argv = ['oboro', 'anonymize', 'in.csv', '-r', 'recipe.yaml', '-o', 'out.csv']\n"
        "try:\n    program()\nfinally:\n"
        "    print(*[name for name in ('numba', 'scipy', 'narwhals', 'rich') if name in sys.modules])\n"
        "    from pyarrow.pandas_compat import _pandas_api\n"
        "    print('Arrow finds pandas:', _pandas_api.have_pandas)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "\nArrow finds pandas: True\n"


# Releases -------------------------------------------------------------------------------------------------------------

STEPS: dict[str, list[Any]] = {
    "lattice": [{"k_anonymize": {"k": 4, "suppress": 0.05}}],
    "l and t": [{"k_anonymize": {"k": 3, "l_diversity": {"disease": 2}, "t_closeness": {"disease": 0.4}}}],
    "entropy": [{"k_anonymize": {"k": 3, "l_diversity": {"disease": {"l": 1.8, "kind": "entropy"}}}}],
    "local": [{"k_anonymize": {"k": 3, "recoding": "local"}}],
    "mondrian": [{"local_recode": {"k": 3}}],
    "others": [{"top_code": {"attribute": "age", "at": 60}}, {"noise": {"attribute": "age", "relative": 0.1}},
               {"microaggregate": {"attribute": "age", "k": 3}}, {"generalize": {"attribute": "sex", "level": 1}}],
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_a_release_is_the_same(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(3)
    lines = zip(
        rng.integers(20, 70, 200), rng.choice(["F", "M"], 200), rng.choice(["flu", "cold", "ache"], 200), strict=True
    )
    (tmp_path / "in.csv").write_text("age,sex,disease\n" + "".join(f"{a},{s},{d}\n" for a, s, d in lines))
    roles = {"age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}}, "sex": {"role": "quasi"},
             "disease": {"role": "sensitive"}}  # fmt: skip
    recipe = Recipe.model_validate({"attributes": roles, "steps": STEPS[name], "seed": 1 << 70})
    for number in range(2):
        with little() if number else jit.always_compiled():
            recipe.run(tmp_path / "in.csv").write(tmp_path / f"{number}.csv")
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()


@jit.kernel(inner=True)
def _half(one: int) -> int:
    return one // 2


@jit.kernel(little=True)
def _halves(given: np.ndarray, out: np.ndarray) -> None:
    for i in range(given.size):
        out[i] = _half(given[i])


def test_python_runs_what_only_kernels_call_within_a_loop_that_it_runs() -> None:
    """Compiled it has no door to Python: to call it there would end the process."""
    out = np.zeros(3, dtype=np.int64)
    with little():
        _halves(np.array([2, 4, 7]), out)
    assert out.tolist() == [1, 2, 3]
    assert "compiled" not in vars(_halves)


def test_an_image_that_is_not_the_same_for_all_rows_is_seen() -> None:
    codes, same, other = (np.array(one, np.uint32) for one in ([0, 2, 0, 2], [5, 1, 5, 1], [5, 1, 5, 0]))
    for act in (grouping.one_image.py_func, grouping.one_image.little, grouping.one_image.compiled):  # type: ignore[attr-defined]
        assert act(codes, same, np.full(3, -1))
        assert not act(codes, other, np.full(3, -1))
