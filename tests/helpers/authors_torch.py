"""The Set Transformer authors' modules in PyTorch: their parameters and their results, in fewer words.

For machines that have torch: this file imports it at once, so a test asks `pytest.importorskip("torch")` before it
imports this. Written from the equations in authors_reference.py and as a check on it: whole tensors instead of loops,
PyTorch's own attention, and `load_state_dict` to hold every name and shape of a state to the authors'.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.helpers.authors_reference import CASES


class MAB(nn.Module):
    """O = ln0(Q' + softmax(Q' K'ᵀ / √dim_V) V') by heads, then ln1(O + relu(fc_o(O)))."""

    def __init__(self, dim_Q: int, dim_K: int, dim_V: int, heads: int, ln: bool):
        super().__init__()
        self.heads = heads
        self.fc_q, self.fc_k, self.fc_v = nn.Linear(dim_Q, dim_V), nn.Linear(dim_K, dim_V), nn.Linear(dim_K, dim_V)
        self.ln0, self.ln1 = (nn.LayerNorm(dim_V) if ln else nn.Identity() for _ in range(2))
        self.fc_o = nn.Linear(dim_V, dim_V)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        projected = self.fc_q(queries), self.fc_k(keys), self.fc_v(keys)
        query, key, value = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in projected)  # (B, heads, n, d)
        scale = self.fc_q.out_features**-0.5  # the full width, not a head's
        attended = query + functional.scaled_dot_product_attention(query, key, value, scale=scale)
        output = self.ln0(attended.transpose(1, 2).flatten(-2))
        return self.ln1(output + self.fc_o(output).relu())


class SAB(nn.Module):
    """MAB(X, X)."""

    def __init__(self, dim_in: int, dim_out: int, heads: int, ln: bool):
        super().__init__()
        self.mab = MAB(dim_in, dim_in, dim_out, heads, ln)

    def forward(self, sets: Tensor) -> Tensor:
        return self.mab(sets, sets)


class ISAB(nn.Module):
    """MAB₁(X, MAB₀(I, X))."""

    def __init__(self, dim_in: int, dim_out: int, heads: int, num_inds: int, ln: bool):
        super().__init__()
        self.I = nn.Parameter(torch.empty(1, num_inds, dim_out))
        self.mab0 = MAB(dim_out, dim_in, dim_out, heads, ln)
        self.mab1 = MAB(dim_in, dim_out, dim_out, heads, ln)

    def forward(self, sets: Tensor) -> Tensor:
        return self.mab1(sets, self.mab0(self.I.expand(len(sets), -1, -1), sets))


class PMA(nn.Module):
    """MAB(S, X)."""

    def __init__(self, dim: int, heads: int, num_seeds: int, ln: bool):
        super().__init__()
        self.S = nn.Parameter(torch.empty(1, num_seeds, dim))
        self.mab = MAB(dim, dim, dim, heads, ln)

    def forward(self, sets: Tensor) -> Tensor:
        return self.mab(self.S.expand(len(sets), -1, -1), sets)


class SetTransformer(nn.Module):
    """Linear(SAB(SAB(PMA(ISAB(ISAB(X))))))."""

    def __init__(
        self, dim_input: int, num_outputs: int, dim_output: int, num_inds: int, dim_hidden: int, heads: int, ln: bool
    ):
        super().__init__()
        self.enc = nn.Sequential(*(ISAB(dim, dim_hidden, heads, num_inds, ln) for dim in (dim_input, dim_hidden)))
        self.dec = nn.Sequential(
            PMA(dim_hidden, heads, num_outputs, ln),
            *(SAB(dim_hidden, dim_hidden, heads, ln) for _ in range(2)),
            nn.Linear(dim_hidden, dim_output),
        )

    def forward(self, sets: Tensor) -> Tensor:
        return self.dec(self.enc(sets))


KINDS = {"MAB": MAB, "SAB": SAB, "ISAB": ISAB, "PMA": PMA, "SetTransformer": SetTransformer}


def run(case: str, state: dict[str, np.ndarray], *inputs: np.ndarray) -> np.ndarray:
    """The output of a case of CASES, computed in the dtype of its inputs."""
    settings = dict(CASES[case])
    tensors = [torch.tensor(array) for array in inputs]
    module = KINDS[settings.pop("kind")](**settings).to(tensors[0].dtype)
    module.load_state_dict({name: torch.tensor(array) for name, array in state.items()})
    with torch.no_grad():
        return module(*tensors).numpy()
