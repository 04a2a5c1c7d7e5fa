"""Book II: networks on sets, on top of our own autograd."""

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
    "ISAB", "MAB", "PMA", "SAB", "STYLES", "Dotprod", "Multihead", "Pooling", "Style", "__version__", "build", "pad",
    "rFF", "rFFp", "record_attention", "unpad",
]  # fmt: skip

# Attach the faster forms of blocks.  Whoever deletes their folder still has all of the above.
try:
    import minisets.fast
except ModuleNotFoundError as _error:
    if not (_error.name or "").startswith(("minisets.fast", "autograd.fast", "autograd.kernels")):
        raise
