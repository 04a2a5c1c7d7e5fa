"""Book II: networks on sets, on top of our own autograd."""

import autograd

if getattr(autograd, "PROJECT", None) != "minisets":
    raise ImportError(
        "minisets brings its own package named 'autograd', but Python found another one at "
        f"{getattr(autograd, '__file__', None) or list(autograd.__path__)}; run pip uninstall autograd and then "
        "pip install --force-reinstall --no-deps minisets, or keep the two apart in virtual environments"
    )

from minisets.architectures import build
from minisets.attention import Multihead, record_attention
from minisets.blocks import ISAB, MAB, PMA, SAB, rFF
from minisets.masks import pad, unpad
from minisets.pooling import Dotprod, Pooling, rFFp
from minisets.style import STYLES, Style
