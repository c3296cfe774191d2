"""Several processes share a stream: each record in one part, one person always in the same, each part keeps its own promise."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.service.brokers_here import service

from benchmarks.kills import people
from oboro.cli.main import main
from oboro.errors import UsageError
from oboro.recipe.recipe import Recipe
from oboro.service.settings import ServiceSettings, expected_price, measured_price
from oboro.stream.records import Partition

RECIPE: dict[str, Any] = {
    "attributes": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi", "hierarchy": {"intervals": [10, 40]}},
        "sex": {"role": "quasi"},
        "note": {"role": "other"},
    },
    "steps": [{"drop_columns": {"attributes": ["name"]}}, {"k_anonymize": {"k": 3}}],
}
ROWS = [{**row, "name": f"p{row['note'] % 60}"} for row in people(240)]


def run(folder: Path, serve: int, **more: Any) -> dict[str, Any]:
    given = {"state": folder / "state-{partition}", "dead_letters": str(folder / "dead-{partition}"), "person": "name"}
    return service(
        str(folder / "in.ndjson"),
        str(folder / "out-{partition}.ndjson"),
        RECIPE,
        partitions={"by": "name", "count": 3, "serve": serve},
        **{**given, **more},
    ).run()


def test_every_record_in_one_part_and_every_part_keeps_its_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [json.dumps(row) for row in ROWS]
    (tmp_path / "in.ndjson").write_text("\n".join([*lines[:100], "no record", '{"age": 3}', *lines[100:]]) + "\n")
    (tmp_path / "people.ndjson").write_text("\n".join(lines) + "\n")
    (tmp_path / "recipe.json").write_text(json.dumps(RECIPE))
    counts = [run(tmp_path, serve) for serve in range(3)]
    assert [one["dead_letters"] for one in counts] == [2, 0, 0]
    outs = [
        [json.loads(line)["note"] for line in (tmp_path / f"out-{n}.ndjson").read_text().splitlines()] for n in range(3)
    ]
    assert sorted(note for one in outs for note in one) == list(range(len(ROWS)))
    assert all(one == sorted(one) for one in outs)  # in order
    homes = [{ROWS[note]["name"] for note in one} for one in outs]
    assert sum(map(len, homes)) == len(set.union(*homes)) == 60
    for n in range(3):
        words = ["oboro", "verify", "--stream", str(tmp_path / "people.ndjson"), str(tmp_path / f"out-{n}.ndjson")]
        more = ["--recipe", str(tmp_path / "recipe.json"), "--person", "name", "--partition", f"name:3:{n}"]
        monkeypatch.setattr(sys, "argv", [*words, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0, capsys.readouterr()
    with pytest.raises(UsageError, match="another partition"):
        run(tmp_path, 1, state=tmp_path / "state-0")


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.ndjson").write_text("")

    def tried(target: str, **parts: Any) -> None:
        service(str(tmp_path / "in.ndjson"), target, RECIPE, person="name", state=tmp_path / "s", partitions=parts)

    with pytest.raises(UsageError, match="by: name"):
        tried(str(tmp_path / "{partition}"), by=["age", "sex"], count=2, serve=0)
    with pytest.raises(UsageError, match="place of its own"):
        tried(str(tmp_path / "out"), by="name", count=2, serve=0)
    with pytest.raises(UsageError, match="OBORO_PARTITION"):
        tried(str(tmp_path / "{partition}"), by="name", count=2)


def test_the_price_is_said_before() -> None:
    part = Partition(("name",), 4, 0)
    assert expected_price(part, ["age", "sex"]).values["times"] == 2.04
    options = ServiceSettings.load(None, {"recipe": ".", "person": "name"}).decide
    found = measured_price(Recipe(**RECIPE), options, part, ROWS).values
    assert found["split"] > found["whole"] > 0
