"""Models from data: priors learned from past results, from nothing, or while an experiment runs."""
