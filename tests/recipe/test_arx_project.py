"""A recipe from a project of ARX. The files are written as ARX's WorkerSave and XMLWriter do."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

import oboro
from oboro.cli.all_commands import app
from oboro.errors import FileError
from oboro.recipe.importers.arx import from_arx

CONFIG = """<config>
\t<suppressTuplesInNonAnonymousOutput>true</suppressTuplesInNonAnonymousOutput>
\t<relativeMaxOutliers>0.25</relativeMaxOutliers>
\t<metric>Loss (0.5/1.0/1.0)</metric>
\t<attributeWeights>
\t\t<attributeWeight><attribute>age</attribute><weight>0.8</weight></attributeWeight>
\t\t<attributeWeight><attribute>sex</attribute><weight>0.5</weight></attributeWeight>
\t</attributeWeights>
\t<criteria>
%s
\t</criteria>
</config>"""
DEFINITION = """<definition>
<assigment><name>name</name><type>IDENTIFYING_ATTRIBUTE</type><datatype>String</datatype></assigment>
<assigment><name>age</name><type>QUASI_IDENTIFYING_ATTRIBUTE</type><datatype>Integer</datatype>
<ref>hierarchies/age.csv</ref><min>1</min><max>All</max></assigment>
<assigment><name>sex</name><type>QUASI_IDENTIFYING_ATTRIBUTE</type><datatype>String</datatype></assigment>
<assigment><name>ill</name><type>SENSITIVE_ATTRIBUTE</type><datatype>String</datatype></assigment>
<assigment><name>note</name><type>INSENSITIVE_ATTRIBUTE</type><datatype>String</datatype></assigment>
</definition>"""
PEOPLE = {
    "name": ["Ann", "Bob", "Cid", "Dan"],
    "age": ["31", "32", "38", "45"],
    "sex": ["F", "F", "F", "M"],
    "ill": ["flu", "cold", "flu", "cold"],
    "note": ["1", "2", "3", "4"],
}


def project(folder: Path, *criteria: str, **files: str) -> Path:
    path = folder / "project.deid"
    said = "\n".join(f"<criterion>{one}</criterion>" for one in criteria)
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("metadata.xml", "<metadata><version>3.9.1</version><vocabulary>2.0</vocabulary></metadata>")
        out.writestr("project.xml", "<project><name>p</name><separator>;</separator></project>")
        out.writestr("input/config.xml", files.get("config", CONFIG % said))
        out.writestr("input/definition.xml", files.get("definition", DEFINITION))
        out.writestr("input/hierarchies/age.csv", "31;3x;*\n32;3x;*\n38;3x;*\n45;4x;*\n")
        out.writestr("project.dat", b"\xac\xed\x00\x05 java objects, never read")
    return path


def test_roles_hierarchies_models_and_settings(tmp_path: Path) -> None:
    found = from_arx(project(tmp_path, "2-anonymity", "distinct-2-diversity for attribute 'ill'"))
    assert found.notes == ()
    assert {name: one["role"] for name, one in found.plain["attributes"].items()} == {
        "name": "identifier",
        "age": "quasi",
        "sex": "quasi",
        "ill": "sensitive",
        "note": "other",
    }
    step = found.plain["steps"][1]["k_anonymize"]
    assert step == {
        "k": 2,
        "suppress": 0.25,
        "loss": "arx",
        "l_diversity": {"ill": 2},
        "limits": {"age": {"least": 1}},
    }
    assert found.plain["attributes"]["age"]["weight"] == 0.8
    recipe = oboro.Recipe.load(found.write(tmp_path / "recipe"))
    released = recipe.run({name: values for name, values in PEOPLE.items() if name != "note"} | {"note": ["-"] * 4})
    assert released.verification.holds
    assert set(released.data["age"]) <= {"3x", "4x", "*"}
    assert (tmp_path / "recipe" / "hierarchies" / "age.csv").read_text().splitlines()[0] == "31;3x;*"


MODELS = {
    "entropy-2.0-diversity for attribute 'ill'": {"l_diversity": {"ill": {"l": 2.0, "kind": "entropy"}}},
    "shannon-entropy-2.0-diversity for attribute 'ill'": {"l_diversity": {"ill": {"l": 2.0, "kind": "entropy"}}},
    "recursive-(3.0,2)-diversity for attribute 'ill'": {
        "l_diversity": {"ill": {"l": 2, "c": 3.0, "kind": "recursive"}}
    },
    "0.2-closeness with equal ground-distance for attribute 'ill'": {
        "t_closeness": {"ill": {"t": 0.2, "distance": "equal"}}
    },
    "1.5-disclosure privacy for attribute 'ill'": {"delta_disclosure": {"ill": {"delta": 1.5, "values": "held"}}},
    "enhanced-1.0-likeness for attribute 'ill'": {"beta_likeness": {"ill": {"beta": 1.0, "kind": "enhanced"}}},
    "(0.1)-avg-reidentification-risk": {"average_risk": 0.1},
    "(0.1, 0.2, 0.05)-avg-reidentification-risk": {
        "average_risk": 0.1,
        "records_at_risk": {"risk": 0.2, "share": 0.05},
    },
    "(0.01)-sample-uniqueness": {"sample_uniqueness": 0.01},
}


@pytest.mark.parametrize("criterion", MODELS)
def test_every_model_that_has_a_counterpart(tmp_path: Path, criterion: str) -> None:
    found = from_arx(project(tmp_path, criterion))
    step = found.plain["steps"][1]["k_anonymize"]
    assert {key: step[key] for key in MODELS[criterion]} == MODELS[criterion]
    assert not found.notes


def test_what_has_no_counterpart_is_said(tmp_path: Path) -> None:
    found = from_arx(project(tmp_path, "2-anonymity", "(1.0,1.0E-6)-DP"))
    assert "(1.0,1.0E-6)-DP" in found.to_yaml().splitlines()[0]
    assert "引き継げません" in found.to_yaml("ja")


def test_microaggregation_inside_classes_and_entropies(tmp_path: Path) -> None:
    def made(function: str, metric: str):
        ref = "<ref>hierarchies/age.csv</ref>"
        definition = DEFINITION.replace(ref, f"{ref}<microaggregationFunction>{function}</microaggregationFunction>")
        config = (CONFIG % "<criterion>2-anonymity</criterion>").replace("Loss (0.5/1.0/1.0)", metric)
        return from_arx(project(tmp_path, definition=definition, config=config))

    found = made("Arithmetic mean", "Normalized non-uniform entropy")
    step = found.plain["steps"][1]["k_anonymize"]
    assert (step["aggregates"], step["loss"], step["aggregate"]) == ({"age": "mean"}, "arx_entropy", "sum")
    assert not found.notes
    found = made("Set", "Non-uniform entropy")
    assert found.plain["steps"][1]["k_anonymize"]["loss"] == "arx_bits"
    assert "'Set'" in found.to_yaml()


def test_no_project(tmp_path: Path) -> None:
    (tmp_path / "x.deid").write_text("hello")
    with pytest.raises(FileError, match="not an ARX project"):
        from_arx(tmp_path / "x.deid")
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]><config>&a;</config>'
    with pytest.raises(FileError, match="document type"):
        from_arx(project(tmp_path, config=bomb))


def test_from_the_command_line(tmp_path: Path) -> None:
    path = project(tmp_path, "2-anonymity")
    found = CliRunner().invoke(app, ["init", str(path), "--into", str(tmp_path / "out")])
    assert found.exit_code == 0
    assert oboro.Recipe.load(tmp_path / "out" / "recipe.yaml").steps
    assert "hierarchies/age.csv" in found.stdout
