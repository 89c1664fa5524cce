"""An insect trap: wing-beat spectra come in swarms, and the fan must decide about each within 20 ms.

The insects are generated: six species, each with a base frequency and overtones that vary. Simulated on a small
machine; ``--records 200000`` runs it large.
"""

import argparse

import numpy as np

from anystream import BayesTreeClassifier
from anystream.runtime import DeadlineShare, FixedBudget, MachineCost, simulate
from anystream.runtime.workloads import draw_arrivals

SPECIES = ["aedes female", "aedes male", "culex female", "culex male", "fruit fly", "house fly"]
BEATS_HZ = [480.0, 690.0, 400.0, 560.0, 220.0, 190.0]
SMALL_MACHINE = MachineCost(call_s=400e-6, record_s=40e-6, step_s=12e-6)


def draw_insects(n_records: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return spectra of 24 bands and the species."""
    species = random.integers(len(SPECIES), size=n_records)
    beat = np.take(BEATS_HZ, species) * random.normal(1, 0.07, n_records)
    bands = np.geomspace(120, 2500, 24)
    overtones = beat[:, None] * np.arange(1, 4)
    loudness = 1 / np.arange(1, 4) ** (0.6 + 0.2 * (species % 3))[:, None]
    spectrum = np.exp(-((np.log(bands[None, :, None] / overtones[:, None, :]) / 0.12) ** 2)) @ loudness[:, :, None]
    return spectrum[:, :, 0] + random.normal(0, 0.08, (n_records, 24)), species


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=3000)
    records = parser.parse_args().records
    random = np.random.default_rng(0)
    X, species = draw_insects(1500, random)
    model = BayesTreeClassifier().fit(X, np.take(SPECIES, species))
    insects, truth = draw_insects(1000, random)

    swarms = np.where(np.arange(60) % 6 == 5, 20.0, 1.0)  # every sixth tenth of a second, twenty times as many
    rates = swarms * records / (swarms.sum() * 0.1)
    arrivals = draw_arrivals(rates, 0.1, seed=1)
    print(f"{len(arrivals)} insects in {arrivals[-1]:.0f} s; in a swarm {rates.max():.0f} a second")
    for scheduler in (FixedBudget(200), DeadlineShare(max_steps=200)):
        run = simulate(
            model,
            arrivals,
            insects,
            np.take(SPECIES, truth),
            scheduler=scheduler,
            cost=SMALL_MACHINE,
            within_s=0.020,
        )
        print(
            f"{type(scheduler).__name__:14} {run.on_time / run.taken:6.1%} in time, "
            f"{run.right_on_time / run.taken:6.1%} right and in time, {run.steps / run.answered:4.0f} steps per insect"
        )


if __name__ == "__main__":
    main()
