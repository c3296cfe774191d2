"""The page of `oboro web`: a thin skin over a session, a recipe and an assessment."""
