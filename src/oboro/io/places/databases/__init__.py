"""Tables in databases, through ADBC."""
