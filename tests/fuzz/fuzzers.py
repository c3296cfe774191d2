"""All fuzzers, by name."""

from __future__ import annotations

from tests.fuzz.hostile.cell_fuzzers import CELL_FUZZERS
from tests.fuzz.hostile.importer_fuzzers import IMPORTER_FUZZERS
from tests.fuzz.hostile.page_fuzzer import PAGE_FUZZERS
from tests.fuzz.plans.argument_fuzzer import ARGUMENT_FUZZERS
from tests.fuzz.plans.hierarchy_fuzzer import HIERARCHY_FUZZERS
from tests.fuzz.plans.recipe_fuzzers import RECIPE_FUZZERS
from tests.fuzz.plans.record_fuzzer import RECORD_FUZZERS
from tests.fuzz.plans.release_fuzzer import RELEASE_FUZZERS
from tests.fuzz.plans.stream_fuzzers import STREAM_FUZZERS
from tests.fuzz.tables.arrow_fuzzers import ARROW_FUZZERS
from tests.fuzz.tables.csv_fuzzers import CSV_FUZZERS
from tests.fuzz.tables.excel_fuzzer import EXCEL_FUZZERS
from tests.fuzz.tables.json_fuzzer import JSON_FUZZERS

__all__ = ["FUZZERS"]

TABLES = (*CSV_FUZZERS, *JSON_FUZZERS, *ARROW_FUZZERS, *EXCEL_FUZZERS)
PLANS = (*RECIPE_FUZZERS, *HIERARCHY_FUZZERS, *RELEASE_FUZZERS, *RECORD_FUZZERS, *STREAM_FUZZERS, *ARGUMENT_FUZZERS)
HOSTILE = (*CELL_FUZZERS, *IMPORTER_FUZZERS, *PAGE_FUZZERS)
FUZZERS = {fuzzer.name: fuzzer for fuzzer in (*TABLES, *PLANS, *HOSTILE)}
