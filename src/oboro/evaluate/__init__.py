"""The proof and the price: does the release keep its promise, who is still at risk, and what did it cost?

Nothing here knows how a release was made; every answer is read from the released table itself.
"""
