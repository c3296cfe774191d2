"""What starts the Python processes of Spark's tasks, with everything loaded before it forks: a task then begins in milliseconds.

Spark starts a process anew wherever a task did not read its input to the end, and each would load oboro and numba by itself.
"""

from __future__ import annotations

import numba  # noqa: F401
import pyarrow.dataset
import pyarrow.parquet  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import oboro.engines.bounded
import oboro.engines.spark
import oboro.kernels.compiling
import oboro.recipe.recipe  # noqa: F401

if __name__ == "__main__":
    manager()
