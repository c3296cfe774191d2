"""oboro leaves other libraries as the user installed them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
import llvmlite.binding, numba, pandas, pyarrow
from numba.core import entrypoints, registry
from numba.core.typing.templates import builtin_registry
from numba.np import arrayobj

LIBRARIES = ("numba", "llvmlite", "pandas", "pyarrow")

registry.cpu_target.target_context.refresh()  # what numba loads to compile anything
pyarrow.array([0]).to_pandas()


def attributes():
    \"""The functions and classes of every loaded module, the attributes of these classes, and of numba's single objects.\"""
    found = {}
    for module in [name for name in sys.modules if name.partition(".")[0] in LIBRARIES]:
        for name, value in list(vars(sys.modules[module]).items()):
            if callable(value):
                found[module, name] = value
            if isinstance(value, type) and value.__module__.partition(".")[0] in LIBRARIES:
                found |= {(module, name, part): one for part, one in list(vars(value).items()) if callable(one)}
    generator = registry.cpu_target.target_context.codegen()
    found["library class"] = generator._library_class
    found |= {("code generator", name): value for name, value in vars(generator).items() if callable(value)}
    listeners = getattr(getattr(llvmlite.binding.ffi.lib, "_lock", None), "_cblist", ())
    found["listeners"] = len(listeners)
    found["extensions"] = entrypoints._already_initialized
    found["shapes"] = [
        template._overload_func
        for function, type_ in builtin_registry.globals
        if function is arrayobj.raise_with_shape_context
        for template in type_.templates
    ]
    return found


@numba.njit
def users(x):
    return x + 1


users(1)  # the user's own function is compiled first: numba looks for extensions then
before, finders = attributes(), list(sys.meta_path)
import numpy as np
from oboro.cli.main import program
from oboro.kernels import grouping
from oboro.kernels.jit import always_compiled

sys.argv = ["oboro", "anonymize", "in.csv", "-r", "recipe.yaml", "-o", "out.csv"]
try:
    program()
except SystemExit as ended:
    assert not ended.code, ended.code
with always_compiled():
    grouping.occurrences(np.array([0, 1, 1], np.uint8), np.zeros(2, np.int64))
after = attributes()
print([name for name, value in before.items() if name not in after or after[name] is not value and after[name] != value])
print([str(finder) for finder in sys.meta_path if finder not in finders], len(sys.meta_path) == len(finders))
"""


def test_a_job_changes_nothing_in_other_libraries(tmp_path: Path) -> None:
    rows = "".join(f"{30 + i % 4},{'FM'[i % 2]}\n" for i in range(60))
    (tmp_path / "in.csv").write_text("age,sex\n" + rows)
    (tmp_path / "recipe.yaml").write_text(
        "attributes: {age: {role: quasi}, sex: {role: quasi}}\nsteps: [{k_anonymize: {k: 3}}]"
    )
    environment = {**os.environ, "OBORO_CACHE": str(tmp_path / "cache")}  # empty: something is compiled
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n[] True\n"
