"""A seed that can be guessed undoes what rests on chance; one that comes from a secret does not."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oboro
from oboro.errors import FileError, RecipeError, UsageError
from oboro.recipe.randomness import entropy_of

AGES = [20 + (7 * n) % 60 for n in range(60)]
PEOPLE = {"age": AGES, "sex": ["F", "M", "M"] * 20}
ROLES: dict[str, Any] = {"age": {"role": "quasi", "hierarchy": {"intervals": [10]}}, "sex": {"role": "quasi"}}


def concealing(**seeded: Any) -> oboro.Recipe:
    return oboro.Recipe(attributes=ROLES, steps=[{"k_conceal": {"k": 3}}], **seeded)


def relinked(released: dict[str, list[Any]], owners: np.ndarray, tries: int) -> int:
    """How many records an attacker links who knows the table and the recipe, and tries seeds from 0."""
    for seed in range(tries):
        again = concealing(seed=seed).run(PEOPLE)
        if again.data == released:
            return int((again.frame.data.origin_rows == owners).sum())
    return 0


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    found = secrets.token_hex(32)
    monkeypatch.setenv("OBORO_SEED", found)
    return found


def test_trying_seeds_relinks_everybody(secret: str) -> None:
    weak = concealing(seed=42).run(PEOPLE)
    assert relinked(weak.data, weak.frame.data.origin_rows, 50) == 60
    strong = concealing(seed_env="OBORO_SEED").run(PEOPLE)
    assert relinked(strong.data, strong.frame.data.origin_rows, 50) == 0


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"k_conceal": {"k": 3}}, "k_conceal"),
        ({"pk_anonymize": {"k": 2, "attributes": ["sex"]}}, "pk_anonymize"),
        ({"noise": {"attribute": "age", "scale": 2}}, "noise"),
        ({"swap": {"attribute": "age", "method": "random"}}, "swap"),
        ({"sample": {"fraction": 0.5}}, "sample"),
        ({"round": {"attribute": "age", "base": 5, "method": "random"}}, "round"),
        ({"pseudonymize": {"attribute": "sex", "method": "number"}}, "pseudonymize"),
        ({"k_anonymize": {"k": 3}}, "the random order of the rows"),
        ("shuffle", "shuffle"),
    ],
)
def test_a_small_seed_is_said_wherever_something_rests_on_chance(step: Any, said: str) -> None:
    accept = {"unique_on": ["age", "sex"], "because": "made up"}
    recipe = oboro.Recipe(attributes=ROLES, steps=[step], seed=42, accept=accept)
    warned = f"finds 42 and can undo what rests on chance: {said}"
    release = recipe.run(PEOPLE)
    assert warned in recipe.explain()
    assert warned in release.summary()
    assert "シード 42 は総当たりで" in recipe.explain("ja")
    assert "シード 42 は総当たりで" in release.summary(lang="ja")
    assert any(one.id == "recipe.seed.guessable" for one in release.cautions)


def test_the_report_says_it() -> None:
    report = concealing(seed=42).run(PEOPLE).report
    assert any("finds 42" in str(one) for one in report.warnings)
    assert "finds 42" not in report.to_public().model_dump_json()


@pytest.mark.parametrize("seeded", [{}, {"seed": 2**64}, {"seed_env": "OBORO_SEED"}])
def test_nothing_is_said_of_what_nobody_guesses(seeded: dict[str, Any], secret: str) -> None:
    recipe = concealing(**seeded)
    assert "tries seeds" not in recipe.explain()
    assert not recipe.run(PEOPLE).cautions


def test_nothing_rests_on_chance() -> None:
    recipe = oboro.Recipe(attributes=ROLES, steps=[{"k_anonymize": {"k": 3}}], seed=42, order="kept")
    assert [one.id for one in recipe.run(PEOPLE).cautions] == ["recipe.order.warning"]


def test_a_secret_repeats_a_run(tmp_path: Path, secret: str) -> None:
    (tmp_path / "seed.key").write_text(secret + "\n")
    plan = "attributes: {age: {role: quasi}, sex: {role: quasi}}\nsteps: [{k_conceal: {k: 3}}]\n"
    (tmp_path / "recipe.yaml").write_text(plan + "seed_file: seed.key\n")
    by_file = oboro.Recipe.load(tmp_path / "recipe.yaml")
    by_name = oboro.Recipe.parse(plan + "seed_env: OBORO_SEED\n")
    first, second, again = (one.run(PEOPLE).data for one in (by_file, by_name, by_name))
    assert first == second == again
    assert tmp_path / "seed.key" in by_file.files
    assert secret not in by_name.run(PEOPLE).report.model_dump_json()
    assert "OBORO_SEED" in by_name.explain()


def test_128_bits_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets and large numbers that differ in one bit, wherever it is, give other choices, in every step and for the order."""
    known = set()
    for bit in range(0, 256, 5):
        monkeypatch.setenv("SECRET", f"{1 << bit:064x}")
        entropy = entropy_of(concealing(seed_env="SECRET"))
        assert entropy is not None
        assert entropy.bit_length() > 128
        for child in np.random.SeedSequence(entropy).spawn(2):
            known.add(tuple(child.generate_state(4, np.uint64).tolist()))
    assert len(known) == 2 * len(range(0, 256, 5))
    states = {tuple(np.random.SeedSequence(1 << bit).generate_state(4, np.uint64).tolist()) for bit in range(128)}
    assert len(states) == 128


def test_errors_teach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecipeError, match="one place"):
        concealing(seed=1, seed_env="X")
    with pytest.raises(RecipeError, match="name of an environment variable"):
        concealing(seed_env="the secret itself!")
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(UsageError, match="NOT_SET is not set"):
        concealing(seed_env="NOT_SET").run(PEOPLE)
    monkeypatch.setenv("SHORT", "42")
    with pytest.raises(UsageError, match="16 to") as short:
        concealing(seed_env="SHORT").run(PEOPLE)
    assert "42" not in str(short.value)
    with pytest.raises(FileError, match="cannot read the key"):
        concealing(seed_file=str(tmp_path / "none.key")).run(PEOPLE)


def test_a_stream_draws_from_the_system_whatever_the_recipe_says() -> None:
    """A stream has no seed of the recipe's: places are exchanged by 128 bits that the system draws for each stream."""
    keys = {oboro.stream.Window(attributes=["x"], k=2, window=8).engine.spec.key or 0 for _ in range(20)}
    assert len(keys) == 20
    assert all(key.bit_length() > 96 for key in keys)  # 20 drawn ones are all so long but for one in 2^27 runs
