"""How likely a decision is wrong, and how costly: exact, bounded, under a wrong prior."""
