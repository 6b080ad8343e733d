"""One real experiment: ask what to evaluate, tell what came of it, and never lose an observation."""
