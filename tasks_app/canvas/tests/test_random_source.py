from __future__ import annotations

import pickle
from collections import Counter
from hashlib import blake2b
from itertools import islice, pairwise

import pytest

from tasks_app.canvas.random_source import KeyedRandom


def test_its_numbers_are_the_upper_bits_of_the_hashes_of_its_key() -> None:
    rng = KeyedRandom("11/7/0/shapes")
    hashed = b"".join(blake2b(f"11/7/0/shapes/{block}".encode()).digest() for block in range(3))
    words = [int.from_bytes(hashed[start : start + 8], "little") for start in range(0, len(hashed), 8)]
    assert [rng.random() for _ in words] == [(word >> 11) / 2**53 for word in words]


def test_other_methods_draw_from_its_key_alone() -> None:
    def drawn(rng: KeyedRandom) -> list[object]:
        pool = list(range(20))
        rng.shuffle(pool)
        return [
            pool, rng.choice("abcdef"), rng.sample(range(100), 5), rng.randint(1, 10**30), rng.uniform(1, 2),
            rng.gauss(0, 1), rng.getrandbits(70), rng.randbytes(9), rng.choices("xyz", k=4),
        ]  # fmt: skip

    assert drawn(KeyedRandom("a")) == drawn(KeyedRandom("a"))
    assert all(one != other for one, other in zip(drawn(KeyedRandom("a")), drawn(KeyedRandom("b")), strict=True))


def test_seeding_begins_a_stream_anew() -> None:
    rng = KeyedRandom("a")
    first = [rng.random(), rng.gauss(0, 1)]
    rng.seed("a")
    assert [rng.random(), rng.gauss(0, 1)] == first


@pytest.mark.parametrize("k", [0, 1, 31, 32, 33, 64, 200])
def test_bits_are_as_many_as_asked_for_and_each_is_as_often_set_as_not(k: int) -> None:
    rng = KeyedRandom(f"bits {k}")
    drawn = [rng.getrandbits(k) for _ in range(2_000)]
    assert all(0 <= bits < 2**k for bits in drawn)
    for place in range(k):
        assert abs(sum(bits >> place & 1 for bits in drawn) - 1_000) < 120, place


def test_a_negative_number_of_bits_is_an_error() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        KeyedRandom("a").getrandbits(-1)


def test_numbers_are_uniform_and_do_not_hang_together() -> None:
    rng = KeyedRandom("uniform")
    numbers = list(islice(iter(rng.random, None), 40_000))
    assert all(0 <= number < 1 for number in numbers)
    tenths = Counter(int(number * 10) for number in numbers)
    # Chi-squared with 9 (99) degrees of freedom lies below 27.9 (148.3) in 99.9 % of fair draws; the key is fixed.
    assert sum((tenths[tenth] - 4_000) ** 2 / 4_000 for tenth in range(10)) < 27.9
    pairs = Counter((int(one * 10), int(two * 10)) for one, two in pairwise(numbers))
    assert sum((pairs[x, y] - 400) ** 2 / 400 for x in range(10) for y in range(10)) < 148.3


def test_it_says_that_it_has_no_state() -> None:
    with pytest.raises(NotImplementedError, match="begin its key's stream again"):
        pickle.dumps(KeyedRandom("a"))
    with pytest.raises(NotImplementedError, match="begin its key's stream again"):
        KeyedRandom("a").setstate(())
