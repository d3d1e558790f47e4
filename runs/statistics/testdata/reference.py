"""Prints reference.json: what scipy, statsmodels and numpy say about drawn observations.

pip install scipy==1.17.1 statsmodels==0.15.0, then python reference.py > reference.json
"""

import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import statsmodels.api as sm
from scipy import optimize, special, stats
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
    """Counts the signs that give each total, in fractions."""
    fractions = [Fraction(v).limit_denominator(3000) for v in values]
    sums = [sum(v for v, c in zip(fractions, clusters) if c == name) for name in dict.fromkeys(clusters)]
    totals = Counter({Fraction(0): 1})
    for s in sums:
        more = Counter()
        for total, count in totals.items():
            more[total + s] += count
            more[total - s] += count
        totals = more
    return sum(count for total, count in totals.items() if abs(total) >= abs(sum(sums))) / 2 ** len(sums)


def thirds(random, clusters):
    """Differences of scores that are multiples of 1/3: many signs give the same total."""
    values = [b / 3 - a / 3 for a, b in random.integers(0, 4, (clusters, 2)).tolist()]
    return {"differences": values, "p": sign_flip(values, range(clusters))}


def exact(values, clusters):
    mean = clustered(values, clusters)
    p, n = mean["mean"], len(set(clusters))
    if 0 < p < 1 and mean["standard_error"] > 0:
        n = min(p * (1 - p) / mean["standard_error"] ** 2, len(values))
    low, high = proportion_confint(p * n, n, method="beta")
    return {"low": float(np.nan_to_num(low, nan=0.0)), "high": float(np.nan_to_num(high, nan=1.0))}


def betting(values, low, high, miss):
    y = (np.array(values) - low) / (high - low)
    stakes = np.array([0.03, 0.06, 0.12, 0.24, 0.4, 0.6, 0.8, 0.95])

    def bound(y):
        def wealth(mean):
            logs = np.log1p(stakes[:, None] * (y[None, :] / mean - 1)).sum(axis=1)
            return special.logsumexp(logs) - math.log(len(stakes)) - math.log(2 / miss)

        if wealth(1e-15) < 0:
            return 0.0
        return optimize.brentq(wealth, 1e-15, 1, xtol=1e-15, rtol=1e-14)

    return {"low": low + (high - low) * bound(y), "high": high - (high - low) * bound(1 - y)}


def flip_course(looks, clusters, mean):
    """The number of the look that rejects a mean, from 0, or None."""
    signs = np.array(list(itertools.product([1, -1], repeat=clusters)))
    values, left, crossed = np.zeros(clusters), np.ones(len(signs), bool), 0
    for n, look in enumerate(looks):
        for draw in look["draws"]:
            values[draw["cluster"]] = draw["value"] - mean
        sums = abs(signs @ values)
        allowed = math.floor(look["spent"] * len(signs) + 1e-12) - crossed
        levels = sorted(set(np.round(sums[left], 11)), reverse=True)
        rejected = np.zeros(len(signs), bool)
        for level in levels:
            group = left & (abs(sums - level) < 1e-10)
            if rejected.sum() + group.sum() > allowed:
                break
            rejected |= group
        left &= ~rejected
        crossed += rejected.sum()
        if not left[0]:  # the first signs are those that were observed
            return n
    return None


def flips(random, clusters, effect):
    values = np.round(random.normal(effect, 0.3, clusters).clip(-1, 1), 2)
    again = np.round((values + random.normal(0, 0.05, clusters)).clip(-1, 1), 2)
    looks, half = [], clusters // 2
    for part, (of, cluster) in enumerate([(values, range(half)), (values, range(half, clusters)), (again, range(clusters))]):
        looks.append({"draws": [{"cluster": c, "value": of[c]} for c in cluster], "spent": 0.05 * ((part + 1) / 3) ** 2})
    mean = again.mean()

    def bound(outside):
        kept = mean
        if flip_course(looks, clusters, outside) is None:
            return outside
        while abs(outside - kept) > 1e-12:
            middle = (kept + outside) / 2
            if flip_course(looks, clusters, middle) is None:
                kept = middle
            else:
                outside = middle
        return kept

    at = flip_course(looks, clusters, 0)
    return {"clusters": clusters, "looks": looks, "rejected": -1 if at is None else at, "low": bound(-1.0), "high": bound(1.0)}


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
    bets = []
    for n, low, effect in [(1, 0, 0.9), (8, -1, 0.4), (60, 0, 0.8), (60, -1, 0.1), (400, -1, 0.02)]:
        values = np.round(random.normal(effect, 0.3, n).clip(low, 1), 3).tolist()
        bets.append({"draws": values, "low": low, "miss": 0.05, "interval": betting(values, low, 1, 0.05)})
    courses = [flips(random, n, effect) for n, effect in [(6, 0.6), (8, 0.3), (10, 0.2), (10, 0.4), (10, 0), (11, 0.3)]]
    random = np.random.default_rng(8)
    ties = [thirds(random, n) for n in (1, 2, 7, 18, 18, 19, 19, 20, 20, 20)]
    print(json.dumps({"ties": ties, "bets": bets, "courses": courses, "cases": cases, "passes": passes, "p": p, "holm": multipletests(p, method="holm")[1].tolist(), "quantiles": quantiles}, indent=1))


main()
