"""What the help says of keys."""

from __future__ import annotations

from collections import defaultdict

from frontend.keys import KEYS


def test_a_key_that_does_several_things_says_where_it_does_each() -> None:
    places = defaultdict(list)
    for key in KEYS:
        for one in key.keys:
            places[one].append(key.where)
    assert len(places["n"]) > 1
    for one, where in places.items():
        assert len(where) == 1 or (all(where) and len(set(where)) == len(where)), one
