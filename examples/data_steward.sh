#!/usr/bin/env bash
# From a file to a release and a report. Put your own file in the place of people.csv.
set -euo pipefail
oboro synth people --rows 1000 --output people.csv
# A recipe with a reason beside each column. Read it: only you know what others may know.
oboro init people.csv > recipe.yaml
# What would happen, in words.
oboro anonymize people.csv --recipe recipe.yaml --output released.csv --explain
# Do it. Nothing is written unless every promise holds on the finished table.
oboro anonymize people.csv --recipe recipe.yaml --output released.csv
# What the file alone tells, to anybody who gets it.
oboro assess released.csv
