"""Bytewax: batches of one worker go through one stream. `pip install bytewax`, then `python -m bytewax.run bytewax_flow`

A worker has a memory of its own, so each keeps a promise of its own: route by person, or run one worker.
"""

import bytewax.operators as op
from bytewax.connectors.stdio import StdOutSink
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSource

import oboro

recipe = oboro.Recipe(
    attributes={"sex": {"role": "quasi"}, "town": {"role": "quasi"}},
    steps=[{"k_anonymize": {"k": 2}}],
)
stream = recipe.stream()
PEOPLE = [{"sex": "F", "town": "Kyoto"}, {"sex": "F", "town": "Nara"}, {"sex": "F", "town": "Kyoto"}, {"age": 3}]


def released(batch):
    """What is released of a batch; refused records are left out."""
    return stream.take(batch, now=0.0).released


flow = Dataflow("oboro")
people = op.input("people", flow, TestingSource(PEOPLE))
out = op.flat_map_batch("anonymize", people, released)
op.output("released", out, StdOutSink())
