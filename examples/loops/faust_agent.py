"""Faust (and loops like it): an agent takes blocks of a topic and sends what is released. `pip install faust-streaming`"""

import faust

import oboro

recipe = oboro.Recipe(
    attributes={"sex": {"role": "quasi"}, "town": {"role": "quasi"}},
    steps=[{"k_anonymize": {"k": 2}}],
)
stream = recipe.stream()
app = faust.App("oboro", broker="kafka://localhost:9092")
people = app.topic("people", value_serializer="json")
out = app.topic("released", value_serializer="json")


@app.agent(people)
async def anonymize(records):
    """Blocks of up to 256 records, or what came within a tenth of a second."""
    async for block in records.take(256, within=0.1):
        taken = stream.take(block, now=app.loop.time())
        for record in taken.released:
            await out.send(value=record)  # without a key: it would identify somebody


if __name__ == "__main__":
    app.main()
