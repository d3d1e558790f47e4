"""Prints reliability.json: what scipy, scikit-learn, statsmodels and numpy say about the reliability card and variances.

pip install scipy==1.17.1 scikit-learn==1.7.2 statsmodels==0.15.0 pandas==3.1.1, then python reliability.py > reliability.json
"""

import itertools
import json

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.spatial.distance import jensenshannon
from scipy.stats import variation
from sklearn.metrics import brier_score_loss, roc_auc_score


def forecasts(random, n, steps):
    """Forecasts with ties, and the figures of hal-harness's reliability_eval/metrics/predictability.py."""
    confidence = np.round(random.random(n) * steps) / steps
    passed = random.random(n) < 0.2 + 0.6 * confidence
    bins = np.minimum(np.floor(confidence * 10), 9)
    error = 0.0
    for i in range(10):
        inside = bins == i
        if inside.any():
            error += inside.mean() * abs(passed[inside].mean() - confidence[inside].mean())
    return {
        "confidence": confidence.tolist(),
        "passed": passed.tolist(),
        "calibration": 1 - error,
        "discrimination": roc_auc_score(passed, confidence),
        "brier": 1 - brier_score_loss(passed, confidence),
    }


def choices(a, b):
    names = sorted({*a, *b})
    return 1 - jensenshannon([a.count(x) for x in names], [b.count(x) for x in names], base=2)


def henderson(data, names):
    """Henderson's method I with the matrices themselves: y'Py, and traces of P Z Z'."""
    y = data["y"].to_numpy() - data["y"].mean()
    whole = np.ones((len(y), 1))
    indicators = [whole] + [pd.get_dummies(data[list(name)].agg("/".join, axis=1)).to_numpy(float) for name in names] + [np.eye(len(y))]
    projections = [z @ np.linalg.inv(z.T @ z) @ z.T for z in indicators]
    covariances = [np.outer(whole, whole)] + [z @ z.T for z in indicators[1:]]
    expected = [[np.trace(p @ v) if i else len(y) for i, v in enumerate(covariances)] for p in projections]
    return np.linalg.solve(expected, [y @ p @ y for p in projections])[1:].tolist()


def balanced(data, sizes):
    """The classical estimates of a crossed design from the mean squares of statsmodels' analysis of variance."""
    table = sm.stats.anova_lm(smf.ols("y ~ C(scenario) * C(agent)", data).fit())
    squares = table["sum_sq"] / table["df"]
    together = (squares["C(scenario):C(agent)"] - squares["Residual"]) / sizes["trials"]
    return [
        (squares["C(scenario)"] - squares["C(scenario):C(agent)"]) / (sizes["trials"] * sizes["agents"]),
        (squares["C(agent)"] - squares["C(scenario):C(agent)"]) / (sizes["trials"] * sizes["scenarios"]),
        together,
        squares["Residual"],
    ]


def drawn(random, scenarios, agents, users, trials, keep):
    effects = {f: dict(enumerate(random.normal(0, s, n))) for f, s, n in [("s", 0.4, scenarios), ("a", 0.3, agents), ("u", 0.3, users)]}
    rows = []
    for s, a, u in itertools.product(range(scenarios), range(agents), range(users)):
        cell = random.normal(0, 0.2)
        for _ in range(trials):
            y = effects["s"][s] + effects["a"][a] + effects["u"][u] + cell + random.normal(0, 0.3)
            if random.random() < keep:
                rows.append({"scenario": f"s{s}", "agent": f"a{a}", "user": f"u{u}", "y": round(y, 3)})
    return pd.DataFrame(rows)


def main():
    random = np.random.default_rng(11)
    sequences = [[f"t{i}" for i in random.integers(0, k, n)] for n, k in [(1, 1), (3, 2), (5, 4), (8, 3), (8, 8), (20, 6)]]
    pairs = [{"a": a, "b": b, "choice": choices(a, b)} for a, b in itertools.product(sequences, repeat=2)]
    used = [random.integers(1, 9, 5).tolist() for _ in range(3)]
    steadiness = float(np.exp(-np.mean([variation(x, ddof=1) for x in used])))
    designs = []
    names = {"scenario": ("scenario",), "agent": ("agent",), "user": ("user",), "together": ("scenario", "agent", "user")}
    for sizes, keep, parts in [
        ((6, 1, 1, 4), 0.7, ["scenario"]),
        ((8, 3, 1, 3), 0.8, ["scenario", "agent", "together"]),
        ((8, 3, 2, 3), 0.6, ["scenario", "agent", "user", "together"]),
        ((8, 3, 2, 1), 1, ["scenario", "agent", "user"]),
    ]:
        data = drawn(random, *sizes, keep)
        designs.append({"rows": data.to_dict("records"), "parts": parts, "variances": henderson(data, [names[p] for p in parts])})
    data = drawn(random, 10, 4, 1, 3, 1)
    variances = balanced(data, {"scenarios": 10, "agents": 4, "trials": 3})
    designs.append({"rows": data.to_dict("records"), "parts": ["scenario", "agent", "together"], "variances": variances})
    print(json.dumps({
        "forecasts": [forecasts(random, n, steps) for n, steps in [(5, 4), (40, 20), (300, 7)]],
        "pairs": pairs, "used": used, "steadiness": steadiness, "designs": designs,
    }))


main()
