"""The command line: one file per command, one error boundary."""
