"""How often 95 % intervals of ratios hold the true ratio, and how wide they are, beside the bootstrap alone.

Samples are drawn from distributions whose ratio is known. The chance of success differs between units (tasks, or
clusters of tasks) by a beta distribution; its intraclass correlation says how alike the answers to a unit are.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from hazardmill.statistics.bootstrap import bootstrap
from hazardmill.statistics.ratios import estimate_ratios

SIZES: Final[Mapping[str, Sequence[int]]] = {
    "14 x 5": [5] * 14,
    "20 x 8": [8] * 20,
    "40 x 5": [5] * 40,
    "17 clusters of 1, 5, 20": [1] * 10 + [5] * 5 + [20] * 2,
    "12 clusters of 1 to 100": [100, 60, 30, 10, 10, 5, 5, 5, 2, 2, 1, 1],
    "one of 200, 20 of 3": [200] + [3] * 20,
}
"""Numbers of answers by unit."""

RATIOS: Final = (0.98, 0.95, 0.9, 0.7)
CORRELATIONS: Final = (0.02, 0.3, 0.7)
MODELS: Final = (2, 3, 4, 6, 10)


def answers(random: np.random.Generator, sizes: Sequence[int], ratio: float, alike: float) -> np.ndarray:
    """Return the number of right answers by unit."""
    spread = (1 - alike) / alike
    return random.binomial(sizes, random.beta(ratio * spread, (1 - ratio) * spread, len(sizes))).astype(float)


def main() -> None:
    """Print coverage and mean width by size, ratio and correlation, then the coverage of means over few models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000, help="samples drawn for each row")
    parser.add_argument("--resamples", type=int, default=1000, help="bootstrap samples of each")
    how = parser.parse_args()
    print("| units | ratio | alike | bootstrap alone | width | ours | width |")
    for name, sizes in SIZES.items():
        for ratio in RATIOS:
            for alike in CORRELATIONS:
                random = np.random.default_rng(0)
                below = np.array(sizes, dtype=float)[:, None]
                found = []
                for seed in range(how.samples):
                    above = answers(random, sizes, ratio, alike)[:, None]
                    plain = bootstrap(above, below, resamples=how.resamples, seed=seed)
                    (ours,) = estimate_ratios(above, below, resamples=how.resamples, seed=seed)
                    found.append((plain.low[0], plain.high[0], ours.low, ours.high))
                ends = np.array(found, dtype=float)
                cells = []
                for low, high in (ends[:, :2].T, ends[:, 2:].T):
                    held = (low - 1e-9 <= ratio) & (ratio <= high + 1e-9)
                    cells += [f"{held.mean():.3f}", f"{(high - low).mean():.3f}"]
                print(f"| {name} | {ratio} | {alike} | {' | '.join(cells)} |", flush=True)
    print("| normal values of so many models | coverage of the bootstrap of their mean |")
    for models in MODELS:
        values = np.random.default_rng(0).normal(size=(how.samples, models, 1))
        ends = [bootstrap(each, np.ones_like(each), resamples=how.resamples, seed=n) for n, each in enumerate(values)]
        print(f"| {models} | {np.mean([each.low[0] <= 0 <= each.high[0] for each in ends]):.3f} |", flush=True)


if __name__ == "__main__":
    main()
