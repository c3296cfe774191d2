"""A service between real brokers on this machine: killed again and again, and measured beside a pass-through."""
