"""Book II: networks on sets, built on this project's own autograd."""

import autograd

if getattr(autograd, "PROJECT", None) != "minisets":
    from minisets.name_clash import error_message

    raise ImportError(error_message(autograd))

from autograd import __version__
from minisets.architectures import build
from minisets.attention import Multihead
from minisets.blocks import ISAB, MAB, PMA, SAB, rFF
from minisets.pooling import Dotprod, Pooling, rFFp
from minisets.ragged import pad, unpad
from minisets.recording import record_attention
from minisets.style import STYLES, Style

__all__ = [
    "ISAB",
    "MAB",
    "PMA",
    "SAB",
    "STYLES",
    "Dotprod",
    "Multihead",
    "Pooling",
    "Style",
    "__version__",
    "build",
    "pad",
    "rFF",
    "rFFp",
    "record_attention",
    "unpad",
]

# Attach the faster forms of blocks.  Everything above works without their folder.
try:
    import minisets.fast
except ModuleNotFoundError as _error:
    if not (_error.name or "").startswith(("minisets.fast", "autograd.fast", "autograd.kernels")):
        raise
