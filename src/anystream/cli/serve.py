"""``anystream serve``: models over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anystream.cli.durations import parse_duration
from anystream.cli.serve_options import ServeOptions

_SWITCH_S = 0.001  # how long one thread keeps the others from Python: the engine's thread must not wait for long

if TYPE_CHECKING:
    from anystream.server.settings import ServerSettings


def serve(options: ServeOptions) -> None:
    """Serve models: the Open Inference Protocol and plain JSON, every answer by its deadline.

    Example: [bold]anystream serve model.safetensors[/bold]

    Example: [bold]anystream serve models/ --within 20ms --port 9000[/bold]
    """
    import asyncio
    import logging
    import sys

    from anystream.server.arrival import ArrivalLoop
    from anystream.server.logs import set_up_logs
    from anystream.server.run import Server
    from anystream.server.run import serve as serve_until_signal

    settings = _read_settings(options)
    set_up_logs(as_json=options.log_json, access=options.access_log)
    sys.setswitchinterval(_SWITCH_S)

    def report(server: Server) -> None:
        log, names = logging.getLogger("anystream"), ", ".join(settings.models)
        log.info("serving %s on %s", names, server.address)
        if server.grpc_port is not None:
            log.info("gRPC on %s:%d", settings.host, server.grpc_port)

    with asyncio.Runner(loop_factory=ArrivalLoop) as runner:
        runner.run(serve_until_signal(settings, started=report))


def _read_settings(options: ServeOptions) -> ServerSettings:
    from pathlib import Path

    from anystream.server.limits import Limits
    from anystream.server.model_store import LearningSettings, find_models
    from anystream.server.settings import ServerSettings

    for name, port in (("port", options.port), ("grpc-port", options.grpc_port)):
        if port is not None and not 0 <= port < 2**16:
            raise ValueError(f"--{name} is {port}; use a number from 0 to 65535")
    if options.budget is not None and options.budget < 0:
        raise ValueError(f"--budget is {options.budget}; use 0 steps or more")
    client_timeout_s = parse_duration(options.client_timeout)
    limits = Limits(
        within_s=parse_duration(options.within),
        max_within_s=parse_duration(options.max_within),
        max_waiting=options.max_waiting,
        max_records=options.max_records,
        max_body_bytes=options.max_body_mb * 10**6,
        max_connections=options.max_connections,
        read_s=client_timeout_s,
        write_s=client_timeout_s,
    )
    learning = None
    if options.learn_folder is not None:
        if options.max_model_mb < 1:
            raise ValueError(f"--max-model-mb is {options.max_model_mb}; use 1 or more")
        learning = LearningSettings(
            folder=Path(options.learn_folder),
            checkpoint_s=parse_duration(options.checkpoint_every),
            max_model_bytes=options.max_model_mb * 10**6,
        )
    folders = {path if path.is_dir() else path.parent for path in map(Path, options.models)}
    return ServerSettings(
        models=find_models(options.models),
        folders=tuple(sorted(folders)),
        host=options.host,
        port=options.port,
        grpc_port=options.grpc_port,
        limits=limits,
        max_steps=options.budget,
        learning=learning,
        watched=tuple(options.models) if options.watch else (),
        token=_read_token(options.token_file),
        token_for_all=options.token_for_all,
    )


def _read_token(path: str | None) -> str | None:
    import os
    from pathlib import Path

    return os.environ.get("ANYSTREAM_TOKEN") if path is None else Path(path).read_text().strip()
