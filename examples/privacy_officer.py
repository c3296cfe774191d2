"""A file that is to be released: what it tells alone, what an attacker with the original learns, and a report to sign."""

import numpy as np
import pandas as pd

import oboro

draw = np.random.default_rng(4)
n = 600
original = pd.DataFrame(
    {
        "age": draw.integers(20, 80, n),
        "sex": draw.choice(["F", "M"], n),
        "town": draw.choice(["Asahi", "Hikari", "Midori"], n),
        "diagnosis": draw.choice(["flu", "asthma", "diabetes"], n, p=[0.6, 0.3, 0.1]),
    }
)
recipe = oboro.Recipe(
    attributes={
        "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10, 20]}},
        "sex": {"role": "quasi"},
        "town": {"role": "quasi"},
        "diagnosis": {"role": "sensitive"},
    },
    steps=[{"k_anonymize": {"k": 5, "suppress": 0.05, "l_diversity": {"diagnosis": 2}}}],
)
release = recipe.run(original)

alone = oboro.assess(release.data, quasi=["age", "sex", "town"], sensitive="diagnosis")
print(f"k = {alone.k} over age, sex and town")
assert oboro.verify(release.data, quasi=["age", "sex", "town"], k=5, sensitive="diagnosis", l=2).holds

print(release.report.summary())  # attacks, risk and utility; release.report.write("report.html") is the page to sign
