"""Many runs of policies against sampled truths: `simulate`, and what it returns."""
