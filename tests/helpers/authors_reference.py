"""The Set Transformer authors' modules, transcribed to loops: what a block with their weights must return.

The source is the public PyTorch code of Lee et al. (2019), github.com/juho-lee/set_transformer. Every function takes
a `state`, a mapping of the authors' parameter names to arrays ("fc_q.weight" of a MAB, "mab0.fc_q.weight" of an ISAB),
with a Linear's weight stored (out, in) as PyTorch does. Batch, heads, queries, keys and features are plain Python
loops in float64 over correctly rounded sums; NumPy only holds the arrays.

Kept as the authors have them, and unlike many an attention layer: logits are divided by √dim_V, the full width and
not a head's; attention is added to the projected queries, not to the queries themselves; the joined heads go through
no projection of their own; and the feed-forward layer is a single Linear, rectified.

`python tests/helpers/authors_reference.py` writes the fixtures, fixtures/authors.npz, described at `make_fixtures`.
"""

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

State = Mapping[str, np.ndarray]

FIXTURES = Path(__file__).parent / "fixtures" / "authors.npz"
EPSILON = 1e-5  # of PyTorch's LayerNorm

SMALL_MODEL = {
    "kind": "SetTransformer",
    "dim_input": 2,
    "num_outputs": 2,
    "dim_output": 3,
    "num_inds": 3,
    "dim_hidden": 12,
    "heads": 4,
}

# What it takes to build each case's module. Heads have several features each, and no set has as many elements as
# there are heads, so that features split or joined in the wrong order cannot go unnoticed.
CASES = {
    "mab": {"kind": "MAB", "dim_Q": 8, "dim_K": 8, "dim_V": 8, "heads": 4, "ln": False},
    "mab_ln": {"kind": "MAB", "dim_Q": 12, "dim_K": 12, "dim_V": 12, "heads": 4, "ln": True},
    "mab_widths": {"kind": "MAB", "dim_Q": 3, "dim_K": 5, "dim_V": 8, "heads": 2, "ln": False},
    "sab": {"kind": "SAB", "dim_in": 3, "dim_out": 12, "heads": 4, "ln": False},
    "sab_ln": {"kind": "SAB", "dim_in": 8, "dim_out": 8, "heads": 2, "ln": True},
    "isab": {"kind": "ISAB", "dim_in": 3, "dim_out": 8, "heads": 4, "num_inds": 3, "ln": False},
    "isab_ln": {"kind": "ISAB", "dim_in": 5, "dim_out": 12, "heads": 2, "num_inds": 3, "ln": True},
    "pma": {"kind": "PMA", "dim": 12, "heads": 4, "num_seeds": 2, "ln": False},
    "pma_ln": {"kind": "PMA", "dim": 12, "heads": 4, "num_seeds": 2, "ln": True},
    "model": SMALL_MODEL | {"ln": False},
    "model_ln": SMALL_MODEL | {"ln": True},
}


# ---- one vector at a time ----


def dot(left, right) -> float:
    """Σᵢ leftᵢ rightᵢ, its products added without rounding in between."""
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


def linear_of(state: State, vector) -> np.ndarray:
    """y = W x + b, with W of shape (out, in)."""
    weight, bias = wide(state["weight"]), wide(state["bias"])
    return np.array([dot(row, vector) + offset for row, offset in zip(weight, bias, strict=True)])


def layer_norm_of(state: State, vector) -> np.ndarray:
    """y = γ (x − mean x) / √(var x + ε) + β, where var x is the mean squared deviation (divided by d, not d − 1)."""
    scale, shift = wide(state["weight"]), wide(state["bias"])
    mean = math.fsum(vector) / len(vector)
    deviations = [x - mean for x in vector]
    spread = math.sqrt(dot(deviations, deviations) / len(vector) + EPSILON)
    return np.array([g * x / spread + b for g, x, b in zip(scale, deviations, shift, strict=True)])


def softmax_of(logits: list[float]) -> list[float]:
    """aⱼ = exp(sⱼ) / Σₖ exp(sₖ), with the largest logit subtracted from all."""
    largest = max(logits)
    exponentials = [math.exp(logit - largest) for logit in logits]
    total = math.fsum(exponentials)
    return [exponential / total for exponential in exponentials]


# ---- the modules, on batches (B, n, width) ----


def linear(state: State, sets) -> np.ndarray:
    """W x + b for every element x of every set: (B, n, in) -> (B, n, out)."""
    return np.array([[linear_of(state, element) for element in elements] for elements in wide(sets)])


def mab(state: State, queries, keys, *, heads: int, ln: bool) -> np.ndarray:
    """Multihead attention block: (B, n, dim_Q) and (B, m, dim_K) -> (B, n, dim_V).

    Q' = fc_q(Q),  K' = fc_k(K),  V' = fc_v(K)
    Oₕ = Q'ₕ + softmax(Q'ₕ K'ₕᵀ / √dim_V) V'ₕ    for the h-th run of dim_V / heads consecutive features
    O  = ln0(concatenate(O₁ … O_heads))
    return ln1(O + relu(fc_o(O)))                 and without `ln`, ln0 and ln1 are the identity
    """
    queries = linear(within(state, "fc_q."), queries)
    values = linear(within(state, "fc_v."), keys)
    keys = linear(within(state, "fc_k."), keys)
    batch, count, width = queries.shape
    if width % heads:
        raise ValueError(f"{heads} heads do not divide the width {width}")
    per_head = width // heads

    output = np.zeros((batch, count, width))
    for b in range(batch):
        for i in range(count):
            attended = np.zeros(width)
            for head in range(heads):
                first, last = head * per_head, (head + 1) * per_head
                query = queries[b, i, first:last]
                weights = softmax_of([dot(query, key[first:last]) / math.sqrt(width) for key in keys[b]])
                for feature in range(first, last):
                    attended[feature] = queries[b, i, feature] + dot(weights, values[b, :, feature])
            if ln:
                attended = layer_norm_of(within(state, "ln0."), attended)
            hidden = linear_of(within(state, "fc_o."), attended)
            result = [x + max(y, 0.0) for x, y in zip(attended, hidden, strict=True)]
            output[b, i] = layer_norm_of(within(state, "ln1."), result) if ln else result
    return output


def sab(state: State, sets, *, heads: int, ln: bool) -> np.ndarray:
    """Set attention block: MAB(X, X)."""
    return mab(within(state, "mab."), sets, sets, heads=heads, ln=ln)


def isab(state: State, sets, *, heads: int, ln: bool) -> np.ndarray:
    """Induced set attention block: MAB₁(X, H) with H = MAB₀(I, X) and inducing points I of (1, num_inds, dim_out)."""
    summary = mab(within(state, "mab0."), repeated(state["I"], len(sets)), sets, heads=heads, ln=ln)
    return mab(within(state, "mab1."), sets, summary, heads=heads, ln=ln)


def pma(state: State, sets, *, heads: int, ln: bool) -> np.ndarray:
    """Pooling by multihead attention: MAB(S, X) with seeds S of (1, num_seeds, dim)."""
    return mab(within(state, "mab."), repeated(state["S"], len(sets)), sets, heads=heads, ln=ln)


def set_transformer(state: State, sets, *, heads: int, ln: bool) -> np.ndarray:
    """The small model: Linear(SAB(SAB(PMA(ISAB(ISAB(X)))))), (B, n, dim_input) -> (B, num_outputs, dim_output)."""
    encoded = isab(within(state, "enc.0."), sets, heads=heads, ln=ln)
    encoded = isab(within(state, "enc.1."), encoded, heads=heads, ln=ln)
    decoded = pma(within(state, "dec.0."), encoded, heads=heads, ln=ln)
    decoded = sab(within(state, "dec.1."), decoded, heads=heads, ln=ln)
    decoded = sab(within(state, "dec.2."), decoded, heads=heads, ln=ln)
    return linear(within(state, "dec.3."), decoded)


def run(case: str, state: State, *inputs) -> np.ndarray:
    """The float64 output of a case of CASES, for one batch of sets, or for a MAB two: the queries' and the keys'."""
    settings = CASES[case]
    shapes = {name: np.shape(array) for name, array in state.items()}
    if shapes != parameter_shapes(**settings):
        raise ValueError(f"the state is not that of {case}: {shapes} instead of {parameter_shapes(**settings)}")
    functions = {"MAB": mab, "SAB": sab, "ISAB": isab, "PMA": pma, "SetTransformer": set_transformer}
    return functions[settings["kind"]](state, *inputs, heads=settings["heads"], ln=settings["ln"])


# ---- states ----


def wide(array) -> np.ndarray:
    """The array in float64."""
    return np.asarray(array, dtype=np.float64)


def within(state: State, prefix: str) -> State:
    """The part of a state that belongs to one submodule, named as that submodule names it."""
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}


def repeated(parameter, batch: int) -> np.ndarray:
    """A parameter (1, k, width) once for every set of the batch: (batch, k, width)."""
    return np.concatenate([wide(parameter)] * batch)


def prefixed(prefix: str, shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The names of a submodule as its parent sees them."""
    return {prefix + name: shape for name, shape in shapes.items()}


def parameter_shapes(kind: str, *, heads: int, ln: bool, **sizes: int) -> dict[str, tuple[int, ...]]:
    """The authors' parameter names and their shapes, for an entry of CASES."""

    def linear_shapes(name: str, dim_in: int, dim_out: int):
        return {f"{name}weight": (dim_out, dim_in), f"{name}bias": (dim_out,)}

    def mab_shapes(dim_Q: int, dim_K: int, dim_V: int):
        shapes = linear_shapes("fc_q.", dim_Q, dim_V)
        shapes |= linear_shapes("fc_k.", dim_K, dim_V) | linear_shapes("fc_v.", dim_K, dim_V)
        if ln:
            shapes |= {f"{norm}.{name}": (dim_V,) for norm in ("ln0", "ln1") for name in ("weight", "bias")}
        return shapes | linear_shapes("fc_o.", dim_V, dim_V)

    def sab_shapes(dim_in: int, dim_out: int):
        return prefixed("mab.", mab_shapes(dim_in, dim_in, dim_out))

    def isab_shapes(dim_in: int, dim_out: int, num_inds: int):
        shapes = {"I": (1, num_inds, dim_out)} | prefixed("mab0.", mab_shapes(dim_out, dim_in, dim_out))
        return shapes | prefixed("mab1.", mab_shapes(dim_in, dim_out, dim_out))

    def pma_shapes(dim: int, num_seeds: int):
        return {"S": (1, num_seeds, dim)} | prefixed("mab.", mab_shapes(dim, dim, dim))

    def set_transformer_shapes(dim_input: int, num_outputs: int, dim_output: int, num_inds: int, dim_hidden: int):
        shapes = prefixed("enc.0.", isab_shapes(dim_input, dim_hidden, num_inds))
        shapes |= prefixed("enc.1.", isab_shapes(dim_hidden, dim_hidden, num_inds))
        shapes |= prefixed("dec.0.", pma_shapes(dim_hidden, num_outputs))
        shapes |= prefixed("dec.1.", sab_shapes(dim_hidden, dim_hidden))
        shapes |= prefixed("dec.2.", sab_shapes(dim_hidden, dim_hidden))
        return shapes | linear_shapes("dec.3.", dim_hidden, dim_output)

    functions = {
        "MAB": mab_shapes,
        "SAB": sab_shapes,
        "ISAB": isab_shapes,
        "PMA": pma_shapes,
        "SetTransformer": set_transformer_shapes,
    }
    return functions[kind](**sizes)


# ---- fixtures ----


def random_parameter(generator: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Of ordinary magnitude and nowhere trivial: N(0, 1 / 2 in) matrices, biases of 0.3, LayerNorm scales around 1."""
    draw = generator.standard_normal(shape)
    if name.endswith("bias"):
        draw *= 0.3
    elif len(shape) == 1:  # the scale of a LayerNorm
        draw = 1 + 0.3 * draw
    elif len(shape) == 2:  # the matrix of a Linear
        draw /= math.sqrt(2 * shape[1])
    return draw.astype(np.float32)


def make_fixtures(path: str | Path) -> None:
    """Write every case to one .npz: float32 states and inputs, and the float64 outputs of exactly those values.

    Entries: "<case>/input", "<case>/input_k" (MAB only: the second set), "<case>/state/<authors' name>" and
    "<case>/output". Nothing in it needs pickle.
    """
    generator = np.random.default_rng(0)
    entries = {}
    for case, settings in CASES.items():
        state = {name: random_parameter(generator, name, shape) for name, shape in parameter_shapes(**settings).items()}
        widths = [settings[name] for name in ("dim_Q", "dim_K", "dim_in", "dim", "dim_input") if name in settings]
        inputs = [
            generator.standard_normal((2, count, width)).astype(np.float32)
            for count, width in zip((5, 6), widths, strict=False)
        ]
        entries |= {f"{case}/{name}": array for name, array in zip(("input", "input_k"), inputs, strict=False)}
        entries |= {f"{case}/state/{name}": array for name, array in state.items()}
        entries[f"{case}/output"] = run(case, state, *inputs)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **entries)


if __name__ == "__main__":
    make_fixtures(FIXTURES)
