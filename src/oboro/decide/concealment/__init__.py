"""Complete k-concealment: everybody could be behind k released records, and every released record could be k people's.

Ito & Kikuchi, "The evaluation of some accurate algorithms for complete k-concealment anonymization" (2021), after Tassa,
Mazza & Gionis, "k-Concealment: an alternative model of k-type anonymity" (2012).
"""
