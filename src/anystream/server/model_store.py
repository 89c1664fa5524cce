"""The models that a server has: loaded, swapped, rolled back and unloaded by name, each with its engine."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anystream.connectors.saved_model import SavedModel, open_model
from anystream.model_file.fingerprint import read_fingerprint
from anystream.model_file.replace_file import create_folder
from anystream.server.errors import BAD_REQUEST, CONFLICT, NOT_FOUND, RequestError
from anystream.server.figures import ModelFigures
from anystream.server.learning import LearningModel
from anystream.server.limits import Limits
from anystream.server.model_engine import ModelEngine
from anystream.server.seen_records import SeenRecords

log = logging.getLogger("anystream.server")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
SUFFIX = ".safetensors"


@dataclass(frozen=True, kw_only=True, eq=False)
class LoadedModel:
    """A model in memory.

    Parameters
    ----------
    name : str
        Its name in requests.
    version : int
        Number of this content under the name, from 1.
    path : Path
        Its file.
    fingerprint : str
        Of its file.
    saved : SavedModel
        Classifier, notes and schema.
    loaded_at : float
        When it was loaded, in seconds since 1970.
    """

    name: str
    version: int
    path: Path
    fingerprint: str
    saved: SavedModel
    loaded_at: float


@dataclass(frozen=True, kw_only=True)
class LearningSettings:
    """Where and how models learn.

    Parameters
    ----------
    folder : Path
        For journals and checkpoints, one folder in it per model.
    checkpoint_s : float, default=10.0
        Seconds between two checkpoints of a model, if it has learned.
    max_model_bytes : int, default=1_073_741_824
        Size of a model from which on it learns no more.
    """

    folder: Path
    checkpoint_s: float = 10.0
    max_model_bytes: int = 2**30


@dataclass(frozen=True, kw_only=True, eq=False)
class ServedModel:
    """A model with the engine that classifies by it and, if it learns, what it learns with."""

    loaded: LoadedModel
    engine: ModelEngine
    figures: ModelFigures
    learning: LearningModel | None
    seen: SeenRecords

    @property
    def classifier(self) -> Any:
        """The model that the next batch is classified by."""
        return self.loaded.saved.classifier if self.learning is None else self.learning.learner.model

    async def close(self) -> None:
        """Answer what was taken, and save what was learned."""
        await self.engine.close()
        if self.learning is not None:
            await asyncio.to_thread(self.learning.close)


def find_models(paths: Sequence[str]) -> dict[str, Path]:
    """Return model files by name: files as given, and of a folder all that end in ``.safetensors``."""
    found: dict[str, Path] = {}
    for given in map(Path, paths):
        files = sorted(given.glob(f"*{SUFFIX}")) if given.is_dir() else [given]
        if not files:
            raise ValueError(f"{given}: the folder has no file that ends in {SUFFIX}; name another")
        for file in files:
            name = name_of(file)
            if name in found and found[name] != file:
                raise ValueError(f"{file} and {found[name]} would both be served as {name!r}; rename one of them")
            found[name] = file
    return found


def name_of(path: Path) -> str:
    """Return the name under which a file is served: its own, without the suffix."""
    name = path.name.removesuffix(SUFFIX)
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"{path}: {name!r} is no name for a model; use letters, digits, '.', '_' and '-'")
    return name


class ModelStore:
    """Models by name. All methods are called by the thread of the event loop.

    Parameters
    ----------
    limits : Limits
        Bounds on what waits for each model.
    folders : sequence of Path
        Where files that are loaded by request may lie.
    max_steps : int, optional
        Maximum steps per record; by default each model's own budget.
    learning : LearningSettings, optional
        How models learn; without it they do not change.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        folders: Sequence[Path] = (),
        max_steps: int | None = None,
        learning: LearningSettings | None = None,
    ) -> None:
        self._learning = learning
        self._limits = limits
        self._folders = [folder.resolve() for folder in folders]
        self._max_steps = max_steps
        self._served: dict[str, ServedModel] = {}
        self._previous: dict[str, LoadedModel] = {}
        self._versions: dict[str, int] = {}  # the last one of each name
        self._figures: dict[str, ModelFigures] = {}
        self._changing = asyncio.Lock()

    @property
    def names(self) -> list[str]:
        """Names of the models that are served."""
        return sorted(self._served)

    @property
    def is_ready(self) -> bool:
        """Whether there are models and all can classify."""
        return bool(self._served) and all(model.engine.is_alive for model in self._served.values())

    def figures(self) -> dict[str, ModelFigures]:
        """Return the figures of all models that were ever served, by name."""
        return dict(self._figures)

    def find(self, name: str | None, version: str | None = None) -> ServedModel:
        """Return a model; without a name the only one."""
        if name is None:
            if len(self._served) != 1:
                raise RequestError(
                    BAD_REQUEST, f"name the model with ?model=; the server has {', '.join(self.names) or 'none'}"
                )
            return next(iter(self._served.values()))
        found = self._served.get(name)
        if found is None:
            raise RequestError(NOT_FOUND, f"there is no model {name[:100]!r}; GET /v1/models lists them")
        if version is not None and version != str(found.loaded.version):
            raise RequestError(
                NOT_FOUND, f"model {name!r} has version {found.loaded.version}, not {version[:20]!r}; leave it out"
            )
        return found

    def served(self) -> list[ServedModel]:
        """Return all models that are served."""
        return list(self._served.values())

    def previous(self, name: str) -> LoadedModel | None:
        """Return the model that `roll_back` would serve again."""
        return self._previous.get(name)

    async def load(self, name: str, path: Path) -> ServedModel:
        """Load a file and serve it under a name; requests that the model before has taken are answered by it.

        If the file has the content that is served already, nothing changes.
        """
        async with self._changing:
            fingerprint, saved = await asyncio.to_thread(_open, path)
            served = self._served.get(name)
            if served is not None and served.loaded.fingerprint == fingerprint and served.engine.is_alive:
                return served
            version = self._versions.get(name, 0) + 1
            loaded = LoadedModel(
                name=name, version=version, path=path, fingerprint=fingerprint, saved=saved, loaded_at=time.time()
            )
            served = await self._swap(loaded)
            self._versions[name] = version
            return served

    async def load_by_request(self, name: str, file: str | None) -> ServedModel:
        """Load a file in one of the server's folders; without one, the file that the name has or had."""
        if _NAME.fullmatch(name) is None:
            raise RequestError(
                BAD_REQUEST, f"{name[:100]!r} is no name for a model; use letters, digits, '.', '_', '-'"
            )
        path = self._find_file(name, file)
        try:
            return await self.load(name, path)
        except (ValueError, OSError) as error:
            log.warning("%s was not loaded: %s", path, error)
            raise RequestError(BAD_REQUEST, f"{path.name} cannot be served: it is no valid model file") from None

    async def roll_back(self, name: str) -> ServedModel:
        """Serve the model before again; the present one becomes the one to roll back to."""
        async with self._changing:
            self.find(name)
            previous = self._previous.get(name)
            if previous is None:
                raise RequestError(CONFLICT, f"model {name!r} has no version before this; load a file")
            return await self._swap(previous)

    async def unload(self, name: str) -> None:
        """Answer the requests that the model has taken, and serve it no more."""
        async with self._changing:
            served = self.find(name)
            del self._served[name]
            self._previous[name] = served.loaded
            await served.close()

    async def close(self) -> None:
        """Answer the requests that all models have taken."""
        async with self._changing:
            served, self._served = list(self._served.values()), {}
            await asyncio.gather(*(model.close() for model in served))

    async def _swap(self, loaded: LoadedModel) -> ServedModel:
        """Start an engine for a model, then put it in the place of the one before, then end that."""
        figures = self._figures.setdefault(loaded.name, ModelFigures())
        learning = await asyncio.to_thread(self._open_learning, loaded, figures)
        model = loaded.saved.classifier if learning is None else learning.learner
        engine = ModelEngine(model, limits=self._limits, figures=figures, max_steps=self._max_steps)
        try:
            await engine.start()
        except BaseException:
            if learning is not None:
                await asyncio.to_thread(learning.close)
            raise
        before = self._served.get(loaded.name)
        served = ServedModel(loaded=loaded, engine=engine, figures=figures, learning=learning, seen=SeenRecords())
        self._served[loaded.name] = served
        if before is not None:
            self._previous[loaded.name] = before.loaded
            await before.close()
        log.info("model %s version %d is served from %s", loaded.name, loaded.version, loaded.path)
        return served

    def _open_learning(self, loaded: LoadedModel, figures: ModelFigures) -> LearningModel | None:
        """Return what the model learns with; it continues where the same model ended."""
        settings = self._learning
        if settings is None:
            return None
        folder = settings.folder / loaded.name / loaded.fingerprint[:16]
        create_folder(folder)
        return LearningModel(
            loaded.saved,
            loaded.fingerprint,
            folder,
            figures=figures,
            checkpoint_s=settings.checkpoint_s,
            max_model_bytes=settings.max_model_bytes,
        )

    def _find_file(self, name: str, file: str | None) -> Path:
        if file is None:
            known = self._served[name].loaded if name in self._served else self._previous.get(name)
            if known is not None:
                return known.path
            file = name + SUFFIX
        if _NAME.fullmatch(file) is not None:  # a name in a folder, no path
            for folder in self._folders:
                if (folder / file).is_file():
                    return folder / file
        raise RequestError(NOT_FOUND, f"there is no file {file[:200]!r} in the folders of the server")


def _open(path: Path) -> tuple[str, SavedModel]:
    """Return the fingerprint and the content of a model file, which may be replaced meanwhile."""
    while True:
        fingerprint = read_fingerprint(path)
        saved = open_model(str(path))
        if read_fingerprint(path) == fingerprint:
            break
    if not hasattr(saved.classifier, "n_features_in_"):
        raise ValueError(f"{path}: a model of records without columns cannot be served")
    return fingerprint, saved
