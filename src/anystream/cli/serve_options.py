"""Options of ``anystream serve``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Options of the command as they were given; `anystream.cli.serve` checks them."""

    models: Annotated[
        list[str], typer.Argument(help="Model files, or folders of them; each is served under the name of its file.")
    ]
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(help="Port for HTTP; 0 for any free one.")] = 8000
    grpc_port: Annotated[
        int | None, typer.Option(help="Port for gRPC; 0 for any free one. Without it there is none.")
    ] = None
    within: Annotated[str, typer.Option(help="Time from arrival to deadline of requests that name none.")] = "50ms"
    max_within: Annotated[str, typer.Option(help="Maximum of that for requests that name one.")] = "60s"
    budget: Annotated[int | None, typer.Option(help="Maximum steps per record; default: each model's own.")] = None
    max_waiting: Annotated[
        int, typer.Option(help="Maximum number of waiting records per model; further requests are refused.")
    ] = 10_000
    max_records: Annotated[int, typer.Option(help="Maximum number of records in a request.")] = 8192
    max_body_mb: Annotated[int, typer.Option(help="Maximum size of a request in megabytes.")] = 64
    max_connections: Annotated[int, typer.Option(help="Maximum number of open connections.")] = 1000
    learn_folder: Annotated[
        str | None,
        typer.Option(
            "--learn", metavar="FOLDER", help="Learn from labels; journals and checkpoints are kept in this folder."
        ),
    ] = None
    checkpoint_every: Annotated[str, typer.Option(help="With --learn: interval of checkpoints.")] = "10s"
    max_model_mb: Annotated[
        int, typer.Option(help="With --learn: size of a model in megabytes from which on it learns no more.")
    ] = 1024
    watch: Annotated[bool, typer.Option("--watch", help="Load model files again when they are replaced.")] = False
    token_file: Annotated[
        str | None,
        typer.Option(
            help="File with the bearer token for learning and changes of models; without it, the environment variable "
            "ANYSTREAM_TOKEN. Without any token both are possible from this machine only."
        ),
    ] = None
    token_for_all: Annotated[
        bool, typer.Option("--token-for-all", help="Require the token for everything but health.")
    ] = False
    log_json: Annotated[bool, typer.Option("--log-json", help="Log as JSON, one object per line.")] = False
    access_log: Annotated[bool, typer.Option(" /--no-access-log", help="Do not log every request.")] = True
    client_timeout: Annotated[
        str, typer.Option(help="Time in which a client must send a request, and read some of its response.")
    ] = "10s"
