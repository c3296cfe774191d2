"""Make the topic PEOPLE on a NATS server, with made-up records in it, unless it is there already."""

from __future__ import annotations

import asyncio
import json
import random
import sys

import nats
from nats.js.errors import NotFoundError

RECORDS = 1000


async def main(address: str) -> None:
    """Fill the topic once."""
    client = await nats.connect(address)
    try:
        stream = client.jetstream()
        try:
            await stream.stream_info("PEOPLE")
        except NotFoundError:
            await stream.add_stream(name="PEOPLE", subjects=["people"])
            for number in range(RECORDS):
                record = {
                    "name": f"person {number}",
                    "age": random.randint(18, 79),
                    "sex": random.choice("FM"),
                    "note": "made up",
                }
                await stream.publish("people", json.dumps(record).encode())
    finally:
        await client.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
