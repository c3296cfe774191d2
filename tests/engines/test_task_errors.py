"""Errors of tasks reach the driver with their cause, and no log with a value of the table."""

from __future__ import annotations

import pytest

from oboro.engines.coded import ChangedData, speaking_for
from oboro.engines.task_errors import KEY, TaskError, opened_error, sealed_error
from oboro.errors import ColumnError, InputError, OboroError
from oboro.text import Message, Raw
from oboro.text.raw import values_shown

MISSING = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/pyspark/worker.py", line 1250, in main
    func = serializer.loads(obj)
           ^^^^^^^^^^^^^^^^^^^^^
ModuleNotFoundError: No module named {module!r}
 SQLSTATE: 38000
\tat org.apache.spark.api.python.BasePythonRunner(PythonRunner.scala:1097)
"""
CHAIN = """An exception was thrown from the Python worker: Traceback (most recent call last):
  File "a.py", line 3, in parse
    return int(text)
ValueError: invalid literal: 'Bob'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "a.py", line 5, in task
    raise mine.Unread("Ann") from problem
mine.Unread: Ann
is no number
\tat org.apache.spark.api.python.BasePythonRunner(PythonRunner.scala:1097)
Caused by: org.apache.spark.SparkException
"""


class PythonException(Exception):
    """As PySpark's."""


PythonException.__module__ = "pyspark.errors.exceptions.captured"


def raised(problem: Exception, said: str | None = None) -> OboroError:
    """What reaches the user when a task ends with this error, or Spark repeats these words."""
    text = (
        f"Traceback …\n{TaskError.__module__}.TaskError: {sealed_error(problem, KEY)}\n\tat a.b"
        if said is None
        else said
    )
    assert "Ann" not in text or said is not None
    with pytest.raises(OboroError) as found, speaking_for("spark"):
        raise PythonException(text)
    return found.value


def hidden(error: OboroError) -> str:
    with values_shown(False):
        return str(error)


def test_an_error_of_ours_comes_as_it_is() -> None:
    words = Message(
        "error_table.not_single", name="x", type=[Message("model.k_anonymity", k=3), 2.5, None, Raw("Ann", 7)]
    )
    found = raised(ColumnError(words))
    assert type(found) is ColumnError
    assert found.words == words
    assert "Ann" not in hidden(found)
    assert "Ann" in found.show()
    assert isinstance(raised(ChangedData()), ChangedData)


def test_another_error_is_named_and_its_words_are_hidden() -> None:
    found = raised(KeyError("Ann"))
    assert "KeyError" in str(found)
    assert "Ann" not in hidden(found)
    assert "Ann" in found.show()


def test_an_error_that_was_cut_off_or_is_of_another_process_is_not_opened() -> None:
    text = str(sealed_error(ValueError("Ann"), b"another key"))
    assert opened_error(text, "spark") is None
    assert opened_error(str(sealed_error(ValueError("Ann"), KEY))[:70], "spark") is None


@pytest.mark.parametrize("module", ["oboro", "oboro.engines.spark", "numba"])
def test_a_missing_module_is_said_in_one_sentence(module: str) -> None:
    found = str(raised(ValueError(), MISSING.format(module=module)))
    assert repr(module).strip("'") in found
    assert "PYSPARK_PYTHON" in found
    assert f"pip install {'oboro==' if module.startswith('oboro') else module}" in found
    assert "gave up" not in found


def test_the_last_error_of_a_chain_is_the_cause() -> None:
    found = raised(ValueError(), CHAIN)
    assert isinstance(found, InputError)
    assert "Unread" in str(found)
    assert "Ann" not in hidden(found)
    assert "Ann / is no number" in found.show()
    assert "Bob" not in found.show()
