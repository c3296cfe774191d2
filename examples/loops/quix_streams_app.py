"""Quix Streams: a function of the application takes each record. `pip install quixstreams`

What Quix delivers again after a crash is decided again: give records an id and keep repeats away (or use `oboro stream`,
which publishes every record once and in one form).
"""

from quixstreams import Application

import oboro

recipe = oboro.Recipe(
    attributes={"sex": {"role": "quasi"}, "town": {"role": "quasi"}},
    steps=[{"k_anonymize": {"k": 2}}],
)
stream = recipe.stream()


def released(record, key, timestamp, headers):
    """The released record in a list; nothing where it is refused. Keys and headers identify people, so they end here."""
    return stream.take([record], now=timestamp / 1000).released


app = Application(broker_address="localhost:9092", consumer_group="oboro")
people = app.topic("people", value_deserializer="json")
out = app.topic("released", value_serializer="json")
frame = app.dataframe(people).apply(released, expand=True, metadata=True).to_topic(out, key=lambda record: None)

if __name__ == "__main__":
    app.run()
