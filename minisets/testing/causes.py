"""The usual mistakes, by name, each with a sentence or two on what it looks like and what to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.name}. {self.text}"


TEXTS = {
    "random outputs": (
        "Two calls with the same sets differ: sampling, or dropout at evaluation. A plain function that calls a "
        "network leaves its mode as it is: call eval() first."
    ),
    "state": "Calls change later calls: running statistics that evaluation updates, or a cache.",
    "modified in place": "f writes into the array that it was given; compute with a copy, or with where().",
    "position dependence": (
        "The same elements in other places give other outputs: a position embedding, a recurrent or convolutional "
        "layer, elements flattened or reshaped into features."
    ),
    "causal mask": "Position dependence: outputs depend on earlier elements only, as in a language model.",
    "the first element is special": "The others may be permuted freely: a CLS token, or an index [:,0].",
    "the last element is special": "The others may be permuted freely: a final state, or an index [:,-1].",
    "ties broken by position": "Sets without equal values pass: a sort or an argmax keeps the given order of ties.",
    "low precision": (
        "An order-dependent reduction beyond rounding: the outputs fit into {dtype}, although the sets are {given}, "
        "so sums are accumulated there."
    ),
    "order-dependent reduction": (
        "The difference is small, but beyond rounding: sums in low precision, or an iteration that stops early."
    ),
    "wrong shape": "squeeze() also removes a batch of one set or a set of one element; name the axis to remove.",
    "pooled output": "The output is not a set of the same size: kind='invariant' may be meant.",
    "batch statistics": (
        "Every set changes the outputs of the others: batch norm without running statistics, a mean, maximum or "
        "softmax over axis 0."
    ),
    "axes swapped": (
        "Elements of a set do not see each other, but elements of different sets do: the batch was taken for the "
        "set, as by PyTorch's attention without batch_first=True."
    ),
    "sets mixed by a reshape": (
        "The batch is mixed up: a set's output comes from other sets, as after a reshape that exchanges the batch "
        "with another axis."
    ),
    "the mask of another set": "Sets of one batch are fine alone: one set's mask is used for another.",
    "the mask is ignored": "A mask that hides nothing gives the same output.",
    "the mask is inverted": (
        "The inverse mask gives the right output: True means present here, but padding in PyTorch's "
        "key_padding_mask. Pass mask='padding' if this is how f is meant to be called."
    ),
    "nan passes through": (
        "Finite padding has no effect, nan or inf has: 0 · nan = nan. Replace masked elements with where() or "
        "masked_fill() before computing with them; finite=True checks finite padding only."
    ),
    "a constant instead of −∞": "Padding has little effect until it is large: masked scores get a finite penalty.",
    "max over padding": "One masked element changes the output, a second one does not: zeros take part in a maximum.",
    "padding is counted": (
        "What masked elements hold has no effect, their number has; so outputs change with the largest set of the "
        "batch. Keys masked by multiplication keep a score of 0 and the weight e⁰; a mean or norm divides by the "
        "padded size."
    ),
    "padding leaks": (
        "What masked elements hold changes the output: the mask does not reach every layer, or is applied along the "
        "wrong axis."
    ),
    "nothing to average": "0/0: a mean of no elements, or a softmax over no keys, −∞ − (−∞).",
    "a maximum of no elements": "It is −∞; choose what an empty set should give, such as 0.",
    "gradient into padding": (
        "Padding takes part in the output, which check_padding tells, or else a derivative forgets the mask."
    ),
    "nan in the backward pass": (
        "where() hides a nan of the forward pass, but 0 · nan = nan in the backward pass: mask the input of the "
        "operation instead of its output."
    ),
    "derivative by position": "If outputs are right and gradients are not: a derivative that depends on the position.",
    "another gradient": "The outputs are the same alone and in the batch: a derivative mixes sets, or counts padding.",
    "wrong outputs": "The outputs of these sets differ as well: check_padding or check_batch_independence tells why.",
    "no gradient": "detach(), .data, or a conversion to an array cuts the parameter off.",
    "unused parameter": (
        "No path leads from it to the output: a layer that forward() forgets, or whose result is overwritten. Freeze "
        "it if this is meant to be so."
    ),
    "plain tensor": (
        "Make it a parameter, or a buffer if it is to be constant: as it is, no optimizer sees it, no checkpoint has "
        "it, and it does not move to a device."
    ),
    "dropout without effect": "Call the layer in forward().",
    "overflow": "exp() of large numbers is inf, and inf / inf or inf − inf is nan: subtract the maximum first.",
    "cancellation": "A difference of nearly equal numbers is slightly negative or 0, and its root or inverse is nan.",
    "float32 inside": "The result has less precision than the sets: a constant or a cast in float32.",
    "float64 inside": "The result is wider than the sets: a constant in float64 promotes everything it meets.",
    "refused": "A valid set raises an error; if it is meant to, restrict sizes or pass sample.",
    "another function": "Its symmetries may be right, and its formula is not.",
    "not finite": "An ordinary set gives nan or inf.",
}

CAUSES = {name: Cause(name, text) for name, text in TEXTS.items()}
