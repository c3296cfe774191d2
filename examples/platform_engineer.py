"""Events as they come: each record leaves at once, and a restart forgets nobody."""

import random
import tempfile
from pathlib import Path

import oboro

recipe = oboro.Recipe(
    attributes={
        "user": {"role": "identifier"},
        "city": {"role": "quasi"},
        "age": {"role": "quasi", "hierarchy": {"intervals": [10, 20, 40]}},
        "page": {"role": "other"},
    },
    steps=[{"drop_columns": {"attributes": ["user"]}}, {"k_anonymize": {"k": 5}}],
)
draw = random.Random(1)
events = [
    {"user": f"u{n}", "city": draw.choice(["Tokyo", "Osaka"]), "age": draw.randint(20, 60), "page": "/home"}
    for n in range(500)
]

anonymizer = recipe.stream()
released = [anonymizer.push(event) for event in events[:250]]

with tempfile.TemporaryDirectory() as folder:  # what was seen so far survives the process
    anonymizer.save(Path(folder) / "state")
    again = recipe.stream(restore=Path(folder) / "state")
    released += [again.push(event) for event in events[250:]]

print(released[0], released[-1], sep="\n")  # the first says nothing yet, the last says much
