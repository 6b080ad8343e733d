"""Pictures and pages from results; nothing is computed here."""
