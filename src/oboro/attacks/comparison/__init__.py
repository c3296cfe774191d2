"""People and released records as an attacker compares them."""
