"""What the inner loops of attention are made of, counted in the machine code (SASS), for docs/23-gpu.md.

    pip install nvidia-cuda-nvdisasm
    python -m tests.gpu.sass

needs what `make test-gpu` installs, and no GPU.  An inner loop is what lies between a label and a jump back to it, with
no such loop inside.  FFMA multiplies and adds in 32 lanes, LDS loads from shared memory: .64 two values per lane.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cuda.pathfinder import find_nvidia_binary_utility

from autograd.kernels import attention
from tests.gpu.nvrtc import binary_and_log

LABEL, JUMP = re.compile(r"^\.(L_x_\d+):"), re.compile(r"`\(\.(L_x_\d+)\)")
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+\s+)?([A-Z][A-Z0-9_.]*)(.*?);")


def disassembled(architecture: str) -> str:
    binary, _ = binary_and_log(attention.CODE, "float32", architecture)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        Path(file.name).write_bytes(binary)
        command = [find_nvidia_binary_utility("nvdisasm") or "nvdisasm", "-c", file.name]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def inner_loops(text: str) -> Iterator[Counter[str]]:
    """The instructions of each inner loop of a function, counted."""
    instructions: list[str] = []
    labels, loops = {}, []
    for line in text.splitlines():
        if label := LABEL.match(line.strip()):
            labels[label[1]] = len(instructions)
        elif found := INSTRUCTION.search(line):
            target = JUMP.search(found[2])
            if found[1].startswith("BRA") and target and target[1] in labels:
                loops.append((labels[target[1]], len(instructions) + 1))
            instructions.append(found[1].removesuffix(".FTZ"))
    for start, end in loops:
        if not any(start <= s and e <= end for s, e in loops if (s, e) != (start, end)):
            yield Counter(instructions[start:end])


def main() -> None:
    print(f"{'function, float32':28}{'':8}{'instructions':>14}{'FFMA':>6}{'LDS':>6}{'.64':>5}{'.128':>6}")
    for architecture in ("80", "89"):
        for part in re.split(r"(?=\.section\s+\.text\.)", disassembled(architecture))[1:]:
            name, width, tile = re.search(r"\d(attention_[a-z]+)IfLi(\d+)ELi(\d+)E", part).groups()
            for loop in inner_loops(part) if (width, tile) == ("32", "32") else ():
                if loop["FFMA"] >= 32:  # a product, not the copying of a tile
                    loads = "".join(
                        f"{loop[kind]:{size}}" for kind, size in (("LDS", 6), ("LDS.64", 5), ("LDS.128", 6))
                    )
                    print(f"{f'{name}<{width}, {tile}>':28}sm_{architecture:5}{loop.total():14}{loop['FFMA']:6}{loads}")


if __name__ == "__main__":
    main()
