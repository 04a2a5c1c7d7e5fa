"""Bad messages get a sentence, and nothing that is sent makes the server fail."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from tests.tasks.play.conftest import GOOD, POINTS, Running, read_answer


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not JSON"), (b"{", "not JSON"), (b"[1]", "a list; send a JSON object"), (b"\xff", "not UTF-8"),
        (b'{"points": NaN}', "NaN is not a number in JSON"), (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"1" * 5_000 + b"}", "not JSON"),
        ({"points": POINTS}, "'model' must be a text"),
        ({"model": "nobody", "points": POINTS}, "no network 'nobody' for clustering; there are clustering-isab"),
        ({"model": "clustering-isab"}, "'points' must be a list of lists of 2 numbers, given null"),
        ({"model": "clustering-isab", "points": []}, "must have 1 to 10,000 elements, given 0"),
        ({"model": "clustering-isab", "points": [[0, 0]] * 10_001}, "1 to 10,000 elements, given 10,001"),
        ({"model": "clustering-isab", "points": [[0, 0], [0, "1"]]}, "element 1 of 'points' must be a list of 2"),
        ({"model": "clustering-isab", "points": [[0, True]]}, "element 0"),
        ({"model": "clustering-isab", "points": [[0, 1e999]]}, "Infinity is not a number"),
        (b'{"model": "clustering-isab", "points": [[0, 1e999]]}', "element 0"),
        ({"model": "clustering-isab", "points": [[0, 1001]]}, "from −1,000 to 1,000"),
        ({**GOOD, "step": 77}, "there is no checkpoint of step 77; there are 0, 200"),
        ({**GOOD, "layer": "x"}, "there is no attention layer 'x'; there are encoder.0.mab0"),
        ({**GOOD, "layer": "decoder.0.mab", "head": 4}, "'head' must be a whole number from 0 to 3"),
        ({**GOOD, "em": "maybe"}, "'em' must be one of none, step, converged"),
        ({**GOOD, "change": {"shuffle": True}}, "'shuffle' must be a whole number"),
        ({**GOOD, "truth": [[1, 2]]}, "'truth' must be a list of 5 numbers"),
    ],
)  # fmt: skip
def test_bad_messages_get_a_sentence(play: Running, body: object, words: str):
    status, answer = play.post("clustering", body)
    assert status == 400 and words in answer["error"] and len(answer["error"]) < 400


def test_unknown_addresses(play: Running):
    status, answer = play.post("nothing", {})
    assert status == 404 and "/api/clustering" in answer["error"]


def damaged(rng: np.random.Generator, whole: bytes) -> bytes:
    """A request with some bytes changed, removed, repeated, or cut off."""
    data = bytearray(whole)
    for _ in range(int(rng.integers(1, 6))):
        i = int(rng.integers(len(data)))
        kind = rng.integers(5)
        if kind == 0:
            data[i] = int(rng.integers(256))
        elif kind == 1:
            del data[i : i + int(rng.integers(1, 20))]
        elif kind == 2:
            data[i:i] = data[i : i + 30]
        elif kind == 3:
            data[i:i] = rng.bytes(int(rng.integers(1, 10)))
        else:
            del data[max(i, 1) :]
        if not data:
            return b"\0"
    return bytes(data)


JUNK = (
    None,
    True,
    -1,
    0,
    1.5,
    1e308,
    "",
    "x" * 300,
    [],
    [[]],
    {},
    [[1, 2], [3]],
    {"shuffle": []},
    [None],
    "clustering-isab",
)


def test_two_thousand_bad_messages(play: Running, capsys: pytest.CaptureFixture):
    """Half are damaged bytes, half are valid JSON with wrong values: each gets an answer or is dropped, none a 500."""
    rng, names = np.random.default_rng(0), list(play.server.handlers)
    good = {"model": "clustering-isab", "points": POINTS, "numbers": [1, 2], "drawings": [{"strokes": [POINTS]}],
            "page": "clustering", "em": "step", "layer": "decoder.0.mab", "head": 1, "step": 200, "node": 3,
            "n": 5, "k": 2, "seed": 1, "change": {"pad": True}}  # fmt: skip

    async def one(i: int) -> int:
        if i % 2:
            name = names[int(rng.integers(len(names)))]
            wrong = dict(good)
            for key in rng.choice(list(good), 2, replace=False):
                wrong[str(key)] = JUNK[int(rng.integers(len(JUNK)))]
            request = play.request(name, wrong)
        else:
            request = damaged(rng, play.request("clustering", GOOD))
        reader, writer = await asyncio.open_connection("127.0.0.1", play.server.port)
        try:
            writer.write(request)
            writer.write_eof()
            return (await read_answer(reader))[0]
        except (asyncio.IncompleteReadError, ConnectionError):
            return 0  # dropped
        finally:
            writer.close()

    async def all_of_them() -> list[int]:
        found = []
        for first in range(0, 2_000, 20):
            found += await asyncio.gather(*(one(i) for i in range(first, first + 20)))
        return found

    statuses = play.run(all_of_them())
    assert len(statuses) == 2_000 and set(statuses) <= {
        0,
        200,
        400,
        403,
        404,
        405,
        408,
        411,
        413,
        415,
        421,
        431,
        501,
        505,
    }
    assert sum(status >= 400 for status in statuses) > 1_000 and {400, 415, 421} <= set(statuses)
    assert "Traceback" not in capsys.readouterr().err
    assert play.post("clustering", GOOD)[0] == 200
