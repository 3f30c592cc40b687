"""Public benchmarks on the page Add dataset, against a mirror of the hub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from benchmarks.exports import parquet_file
from benchmarks.imports.presets import REGISTERED_PRESETS
from benchmarks.imports.tests.preset_rows import EXAMPLES, file_of
from benchmarks.models import Dataset
from tests.support.hub_mirror import Mirror, mirror_of_the_hub

pytestmark = pytest.mark.django_db
PAGE = "/datasets/new/public/"


@pytest.fixture
def mirror(tmp_path: Path, settings: Any) -> Iterator[Mirror]:
    settings.STATE_DIR = tmp_path
    with mirror_of_the_hub() as mirror:
        settings.HUB_ENDPOINT, settings.HUB_TOKEN = mirror.url, ""
        for name in ("math-500", "ifeval"):
            files = {path: file_of(path, rows) for path, rows in EXAMPLES[name].files.items()}
            mirror.files[REGISTERED_PRESETS[name].repository] = files
        yield mirror


def text_of(response: Any) -> str:
    return " ".join(response.content.decode().split())


def test_a_benchmark_is_imported_with_its_button(admin_client: Client, mirror: Mirror) -> None:
    page = text_of(admin_client.get(PAGE))
    for preset in REGISTERED_PRESETS.values():
        assert preset.about in page
    assert '1,000 <div class="soft small">sampled of 14,042</div>' in page
    assert not mirror.requests, "looking at the page fetches nothing"
    response = admin_client.post(PAGE, {"preset": "math-500", "limit": "", "seed": "", "slug": ""})
    assert response["Location"] == "/datasets/math-500/"
    version = Dataset.objects.get(slug="math-500").current_version
    assert version is not None
    assert (version.metrics, version.task_count, version.origin) == (["exact_match"], 1, "upload")
    assert "Left out: 1 with the instruction verses." in text_of(
        admin_client.post(PAGE, {"preset": "ifeval", "slug": "mine"}, follow=True)
    )


def test_benchmarks_are_found_by_title_description_and_metric(admin_client: Client) -> None:
    page = text_of(admin_client.get(PAGE, {"q": "code tests"}))
    titles = [preset.title for preset in REGISTERED_PRESETS.values() if f'aria-label="Import {preset.title}"' in page]
    assert titles == ["HumanEval", "HumanEval+", "MBPP", "MBPP+"]
    page = text_of(admin_client.get(PAGE, {"q": "<nothing>"}))
    assert "No public benchmark here matches &lt;nothing&gt;." in page
    assert f'<a class="button" href="{PAGE}">Show all</a>' in page


REFUSED: list[tuple[dict[str, str], str]] = [
    ({}, "Choose a benchmark."),
    ({"preset": "<script>"}, "There is no such benchmark."),
    ({"preset": "math-500", "limit": "0"}, "greater than or equal to 1"),
    ({"preset": "math-500", "slug": "a b"}, "letters, digits"),
    ({"preset": "needles", "limit": "70000"}, "use at most 200"),
    ({"preset": "gpqa-diamond"}, "the dataset does not exist, or it is private"),
]


@pytest.mark.parametrize(("sent", "message"), REFUSED)
def test_refusals_are_shown_and_store_nothing(
    admin_client: Client, mirror: Mirror, sent: dict[str, str], message: str
) -> None:
    response = admin_client.post(PAGE, sent)
    assert response.status_code == 200
    assert message in text_of(response)
    assert not Dataset.objects.exists()


def test_a_name_that_is_taken_is_refused_at_its_field(admin_client: Client, mirror: Mirror) -> None:
    admin_client.post(PAGE, {"preset": "math-500"})
    page = text_of(admin_client.post(PAGE, {"preset": "math-500"}))
    assert 'id="id_slug_error"' in page


def test_without_pyarrow_the_page_says_what_to_install(
    admin_client: Client, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_file, "has_parquet", lambda: False)
    page = text_of(admin_client.get(PAGE))
    assert "requirements-parquet.txt" in page
    assert 'value="gsm8k"' not in page
    assert 'value="math-500"' in page
    assert "requirements-parquet.txt" in text_of(admin_client.post(PAGE, {"preset": "gsm8k"}))


def test_who_may_not_add_datasets_cannot_import(client: Client, mirror: Mirror, settings: Any) -> None:
    settings.DEV_MODE = False
    assert client.post(PAGE, {"preset": "math-500"}).status_code in (302, 403)
    assert not mirror.requests
