"""Azure OpenAI with an API version: a model is a deployment's name, which is part of the URL.

Azure's newer address, which ends in ``/openai/v1``, needs none of this: it is ``openai_compatible``.
"""

from __future__ import annotations

from yarl import URL

from benchmarks.providers.base import ChatRequest, ProviderSpec
from benchmarks.providers.openai_compatible import OpenAICompatibleProvider


class AzureOpenAIProvider(OpenAICompatibleProvider):
    models_path = "openai/models"

    def __init__(self, spec: ProviderSpec) -> None:
        """Raises ``ValueError`` if ``base_url`` has no ``api-version``."""
        super().__init__(spec)
        if "api-version" not in self._base.query:
            raise ValueError(
                f"provider {spec.name}: base_url has no api-version. Add it, as in "
                "https://RESOURCE.openai.azure.com?api-version=2024-10-21."
            )

    def vendor_headers(self, api_key: str | None) -> dict[str, str]:
        return {"api-key": api_key} if api_key else {}

    def request_url(self, request: ChatRequest) -> URL:
        deployment = self._base / "openai" / "deployments" / request.model
        return (deployment / self.path).with_query(self._base.query)
