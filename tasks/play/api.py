"""What POST /api/NAME answers, by NAME."""

from __future__ import annotations

from functools import partial

from tasks.play import characters, clouds, clustering, maximum, tape
from tasks.play.attention import described
from tasks.play.library import Library
from tasks.play.server import Handler


def handlers(library: Library) -> dict[str, Handler]:
    functions = {
        "models": lambda library, message: {"models": library.describe()},
        "layers": described,
        "clustering": clustering.answer,
        "clustering/sample": clustering.sample,
        "maximum": maximum.answer,
        "characters": characters.answer,
        "characters/sample": characters.sample,
        "clouds": clouds.answer,
        "clouds/sample": clouds.sample,
        "tape": tape.answer,
        "tape/node": tape.node,
    }
    return {name: partial(function, library) for name, function in functions.items()}
