"""The trained networks that the page can use: the user's runs, if there are any, and the shipped ones.

They are listed when the server starts, and each is loaded when it is first used.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minisets.checkpoint import CheckpointError
from minisets.nn import Module
from tasks.data.locations import DataError
from tasks.harness.errors import UsageError, warn
from tasks.harness.options import data_used
from tasks.harness.run_folder import RunFolder, find_runs
from tasks.play import results, stored
from tasks.play.messages import BadMessage
from tasks.play.networks import SHIPPED, Shipped

PAGES = {  # experiment -> the page of its networks
    "clustering": "clustering",
    "clustering_large": "clustering",
    "max_regression": "maximum",
    "unique_characters": "characters",
    "point_cloud": "clouds",
}


class Model:
    """One trained network: shipped, or of a run."""

    def __init__(self, source: Shipped | RunFolder) -> None:
        self.source, self.lock = source, threading.Lock()
        self._nets: dict[int | None, Module] = {}
        self.config: Any = None  # of the run
        if isinstance(source, Shipped):
            self.stored = stored.read(source.name)
            self.name, self.page, self.label = source.name, source.page, source.label
            self.steps, self.position = list(self.stored.states), source.position
            self.about = f"Trained on {source.trained_on}, for {source.steps:,} steps."
            measured = results.sentence(self.page, self.stored.about.get("results", {}))
            self.about += f" Measured {measured}." if measured else ""
        else:
            manifest, options = source.manifest(), source.options()
            self.name, self.page, self.label = f"run:{source.path}", PAGES[manifest["task"]], options.arch
            self.steps, self.position = [], False
            data = data_used(options)
            self.about = f"Your run in {source.path}, {options.steps:,} steps" + (f" on {data}." if data else ".")

    def describe(self) -> dict[str, Any]:
        """What the page needs to know of it, without loading it."""
        own = not isinstance(self.source, Shipped)
        about = {"name": self.name, "page": self.page, "label": self.label, "about": self.about, "own": own}
        return about | {"steps": self.steps, "position": self.position}

    @contextlib.contextmanager
    def opened(self, step: int | None = None) -> Iterator[Module]:
        """The network, for one thread at a time; step: its weights after that many steps of training."""
        with self.lock:
            if step is not None and step not in self.steps:
                known = ", ".join(map(str, self.steps)) or "none, since runs keep only their last"
                raise BadMessage(f"there is no checkpoint of step {step:,}; there are {known}")
            if self.steps and step == self.steps[-1]:
                step = None
            if step not in self._nets:
                self._nets[step] = self._load(step)
            yield self._nets[step]

    def _load(self, step: int | None) -> Module:
        if isinstance(self.source, Shipped):
            return results.load(self.source, self.stored, step)
        try:
            self.config, net = self.source.load_model()
        except (UsageError, CheckpointError, DataError) as error:
            raise BadMessage(f"this run cannot be used: {error}") from None
        return net


class Library:
    """All models by name; those of the user's runs come first, the newest before the others."""

    def __init__(self, places: list[Path]) -> None:
        runs = [run for run in find_runs(places) if run.manifest()["task"] in PAGES and run.checkpoint_path.exists()]
        runs.sort(key=lambda run: run.checkpoint_path.stat().st_mtime, reverse=True)
        own = []
        for run in runs:
            try:
                own.append(Model(run))
            except UsageError as error:  # of another version
                warn(f"a run is left out: {error}")
        self.models = {model.name: model for model in [*own, *map(Model, SHIPPED.values())]}

    def get(self, name: str, page: str) -> Model:
        model = self.models.get(name)
        if model is None or model.page != page:
            known = ", ".join(name for name, model in self.models.items() if model.page == page)
            raise BadMessage(f"there is no network {name!r} for {page}; there are {known}")
        return model

    def describe(self) -> list[dict[str, Any]]:
        return [model.describe() for model in self.models.values()]
