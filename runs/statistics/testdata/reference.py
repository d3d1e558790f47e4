"""Prints reference.json: what scipy, statsmodels and numpy say about drawn observations.

pip install scipy==1.17.1 statsmodels==0.15.0, then python reference.py > reference.json
"""

import itertools
import json
import math

import numpy as np
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint


def clustered(values, clusters):
    numbers = {c: i for i, c in enumerate(dict.fromkeys(clusters))}
    fit = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": np.array([numbers[c] for c in clusters])}, use_t=True
    )
    low, high = fit.conf_int(0.05)[0]
    return {"mean": fit.params[0], "standard_error": fit.bse[0], "low": low, "high": high}


def sign_flip(values, clusters):
    sums = [sum(v for v, c in zip(values, clusters) if c == name) for name in dict.fromkeys(clusters)]
    total = abs(sum(sums)) - 1e-12
    signs = itertools.product([1, -1], repeat=len(sums))
    return sum(abs(np.dot(s, sums)) >= total for s in signs) / 2 ** len(sums)


def exact(values, clusters):
    mean = clustered(values, clusters)
    p, n = mean["mean"], len(set(clusters))
    if 0 < p < 1 and mean["standard_error"] > 0:
        n = min(p * (1 - p) / mean["standard_error"] ** 2, len(values))
    low, high = proportion_confint(p * n, n, method="beta")
    return {"low": float(np.nan_to_num(low, nan=0.0)), "high": float(np.nan_to_num(high, nan=1.0))}


def main():
    random = np.random.default_rng(7)
    cases = []
    for sizes in ([1, 1], [3, 3, 3], [5, 1, 2, 8], [4] * 10, [2, 3] * 9, [1] * 40):
        clusters = [f"c{i}" for i, size in enumerate(sizes) for _ in range(size)]
        values = np.round(random.normal(0.1, 0.4, len(clusters)), 3)
        rates = (random.random(len(clusters)) < 0.7).astype(float)
        case = {"clusters": clusters, "values": values.tolist(), "rates": rates.tolist()}
        case |= {"clustered": clustered(values, clusters), "exact": exact(rates, clusters)}
        if len(sizes) <= 18:
            case["sign_flip"] = sign_flip(values, clusters)
        cases.append(case)
    passes = [
        {"count": n, "passed": m, "k": k, "any": 1 - math.comb(n - m, k) / math.comb(n, k), "all": math.comb(m, k) / math.comb(n, k)}
        for n, m, k in [(1, 0, 1), (1, 1, 1), (5, 2, 1), (5, 2, 3), (5, 3, 3), (10, 9, 8), (100, 37, 10), (8, 8, 8), (8, 0, 8)]
    ]
    p = [0.01, 0.04, 0.03, 0.5, 0.04, 0.002]
    quantiles = [
        {"p": q, "clusters": g, "quantile": stats.t.ppf(q, g - 1)} for q in (0.8, 0.9, 0.975) for g in (2, 3, 11, 129, 1032)
    ]
    print(json.dumps({"cases": cases, "passes": passes, "p": p, "holm": multipletests(p, method="holm")[1].tolist(), "quantiles": quantiles}, indent=1))


main()
