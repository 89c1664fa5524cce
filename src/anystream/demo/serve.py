"""The demonstration in a browser: a server with its dashboard, under live bursty traffic."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from anystream.anytime.curve import anytime_curve
from anystream.anytime.profile import PerformanceProfile
from anystream.demo.capacity import measure_full
from anystream.demo.digits import split_digits
from anystream.demo.loads import DEADLINE_S, STEPS
from anystream.demo.run import fit_model
from anystream.demo.traffic import DemoTraffic
from anystream.server.app import Service
from anystream.server.arrival import ArrivalLoop
from anystream.server.limits import Limits
from anystream.server.run import Server
from anystream.server.settings import ServerSettings

_NAME = "digits"


def serve_demo(*, port: int = 8000, seed: int = 0) -> None:
    """Serve a classifier of handwritten digits and its dashboard on loopback, until Ctrl-C.

    Parameters
    ----------
    port : int, default=8000
        Port to listen on; 0 for any free one.
    seed : int, default=0
        Seed of the split, the model and the arrivals.
    """
    messages = Console(stderr=True, highlight=False)
    digits = split_digits(seed)
    model = fit_model(digits, seed, messages)
    curve = anytime_curve(model, digits.X_test, digits.y_test)
    profile = PerformanceProfile(curve.stages, curve.accuracy, curve.n_records)
    traffic = DemoTraffic(
        digits.X_test, digits.y_test, capacity=measure_full(model, digits.X_test), within_s=DEADLINE_S, seed=seed
    )
    with tempfile.TemporaryDirectory(prefix="anystream-demo-") as folder:
        path = Path(folder, f"{_NAME}.safetensors")
        model.save(path, notes={"performance_profile": profile.to_json()})
        limits = Limits(within_s=DEADLINE_S, max_waiting=200_000)
        settings = ServerSettings(models={_NAME: path}, port=port, limits=limits, max_steps=STEPS)
        with asyncio.Runner(loop_factory=ArrivalLoop) as runner:
            runner.run(_serve(settings, traffic, messages))


async def _serve(settings: ServerSettings, traffic: DemoTraffic, messages: Console) -> None:
    def started(server: Server) -> None:
        messages.print(f"dashboard: {server.address}/  [dim](Ctrl-C ends it)[/]", soft_wrap=True)

    service = Service(settings, routes=traffic.routes(), load=lambda: traffic.load)
    server = Server(service, settings)
    async with service.running():
        sending = asyncio.create_task(traffic.run(service.store.find(_NAME).engine))
        try:
            await server.run(started)
        finally:
            sending.cancel()
            with suppress(asyncio.CancelledError):
                await sending
