"""Explorer: a session on one table that compares demands and the information loss that they cost."""
