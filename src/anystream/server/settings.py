"""Settings of a server, all of them checked."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anystream.server.limits import Limits
from anystream.server.model_store import LearningSettings

MIN_TOKEN = 16
"""Minimum number of characters in a token."""


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """What a server serves, and how.

    Parameters
    ----------
    models : mapping of str to Path
        Model files by name.
    folders : tuple of Path
        Where files that are loaded by request may lie.
    host : str, default="127.0.0.1"
        Address to listen on.
    port : int, default=8000
        Port for HTTP; 0 for any free one.
    grpc_port : int, optional
        Port for gRPC; 0 for any free one, None for no gRPC.
    limits : Limits
        Bounds on requests.
    max_steps : int, optional
        Maximum steps per record; by default each model's own budget.
    learning : LearningSettings, optional
        How models learn; without it they do not change.
    watched : tuple of str
        Files and folders that are watched: replaced files are loaded again, and new ones in folders served.
    token : str, optional
        Bearer token for learning and changes of models. Without it these endpoints exist on loopback only.
    token_for_all : bool, default=False
        Require the token for everything but health.
    """

    models: Mapping[str, Path] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8000
    grpc_port: int | None = None
    limits: Limits = field(default_factory=Limits)
    max_steps: int | None = None
    learning: LearningSettings | None = None
    watched: tuple[str, ...] = ()
    token: str | None = None
    token_for_all: bool = False

    def __post_init__(self) -> None:
        if self.token is not None and (len(self.token) < MIN_TOKEN or not self.token.isascii()):
            raise ValueError(f"the token has {len(self.token)} characters; use {MIN_TOKEN} or more, all of them ASCII")
        if self.token_for_all and self.token is None:
            raise ValueError("a token is required for everything, but there is none; give one")

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def allows_changes(self) -> bool:
        """Whether the endpoints exist that change models."""
        return self.token is not None or self.on_loopback
