"""A bare loop over a policy, for tests that look at every step."""

import numpy as np

from bestarm.policies.contract import Problem


def play(policy, model, budget, runs=1, seed=0, means=None, costs=None, batch=None, rewards=None):
    """Run a policy to the end of its budget: counts (R, K), decisions (R,), and the pulls of every step."""
    rng, noise = np.random.default_rng(seed), np.random.default_rng(seed + 1) if rewards is None else rewards
    price = np.ones(model.num_arms) if costs is None else np.asarray(costs, dtype=float)
    if means is None:
        means = model.sample(runs, np.random.default_rng(seed + 2))
    problem = Problem(model, budget, price, runs, batch)
    state = policy.start(problem, rng)
    counts, spent, steps = np.zeros((runs, model.num_arms)), np.zeros(runs), []
    for _ in range(100_000):
        room = budget - spent
        if batch is not None:
            room = np.minimum(room, batch)
        if room.max() <= 0:
            break
        state, pulls = policy.next(state, room, rng)
        if pulls.none:
            break
        now = pulls.per_arm(runs, model.num_arms)
        assert (now == np.floor(now)).all()
        assert (now >= 0).all()
        assert (now @ price <= room + 1e-9).all(), "more than there was room for"
        if pulls.arms is not None:
            sums = means[np.arange(runs), pulls.arms] + model.noise[pulls.arms] * noise.standard_normal(runs)
        else:
            sums = now * means + np.sqrt(now) * model.noise * noise.standard_normal((runs, model.num_arms))
        state = policy.observe(state, pulls, sums)
        counts += now
        spent = spent + now @ price
        steps.append(pulls)
    decided = np.asarray(policy.recommend(state))
    assert decided.shape == (runs,)
    assert ((decided >= 0) & (decided < model.num_arms)).all()
    return counts, decided, steps
