"""What the paper's own experiments are made of: its data, settings and figures."""
