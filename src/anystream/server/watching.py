"""Watching of model files: a replaced file is loaded, a new one served, a removed one served no more."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

from anystream.server.errors import RequestError
from anystream.server.model_store import ModelStore, find_models

log = logging.getLogger("anystream.server")
_Stamp = tuple[int, int, int]


class FileWatch:
    """Compares model files with those that were loaded.

    A file that cannot be loaded is logged, and the model before stays; so does a model whose file is gone, unless it
    was found in a folder.

    Parameters
    ----------
    store : ModelStore
        The models.
    paths : sequence of str
        Files and folders that are served.
    """

    def __init__(self, store: ModelStore, paths: Sequence[str]) -> None:
        self._store = store
        self._paths = paths
        self._stamps = self._read()

    async def look(self) -> None:
        """Bring the models up to date with their files."""
        before, self._stamps = self._stamps, self._read()
        in_folders = [Path(path) for path in self._paths if Path(path).is_dir()]
        for name, (path, stamp) in self._stamps.items():
            if name not in before or before[name][1] != stamp:
                try:
                    await self._store.load(name, path)
                except (ValueError, OSError) as error:
                    log.error("%s was not loaded, the model before stays: %s", path, error)
        for name in before.keys() - self._stamps.keys():
            if before[name][0].parent in in_folders:
                try:
                    await self._store.unload(name)
                except RequestError:
                    log.info("model %s was unloaded before its file was removed", name)

    def _read(self) -> dict[str, tuple[Path, _Stamp]]:
        """Return the path of every model, and what changes when its file is replaced."""
        found: dict[str, tuple[Path, _Stamp]] = {}
        for path in self._paths:
            try:
                files = find_models([path])
            except ValueError:  # a folder that is empty now
                continue
            for name, file in files.items():
                try:
                    status = os.stat(file)
                except OSError:
                    continue
                found[name] = file, (status.st_ino, status.st_size, status.st_mtime_ns)
        return found
