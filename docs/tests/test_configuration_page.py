"""The examples of configuration in the documents are accepted."""

from __future__ import annotations

import pytest
import yaml
from pages import blocks, page

from codeforge.config import parse_config


@pytest.mark.parametrize("name", ["docs/configuration.md", "docs/how-to/own-provider.md", "docs/how-to/webhooks.md"])
def test_the_examples_are_accepted(name: str) -> None:
    examples = blocks(page(name), "yaml")
    assert examples
    for example in examples:
        parse_config(yaml.safe_load(example.text), environ={})
