"""Is this prior any good: its conflict with data, and what a plan loses if it is wrong."""
