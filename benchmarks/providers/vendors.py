"""Which vendor an address belongs to: its prices are in LiteLLM's table, and its keys are long."""

from __future__ import annotations

from urllib.parse import urlsplit

_VENDORS = {
    "openai.com": "openai",
    "azure.com": "azure",
    "anthropic.com": "anthropic",
    "googleapis.com": "gemini",
    "mistral.ai": "mistral",
    "cohere.ai": "cohere_chat",
    "groq.com": "groq",
    "together.xyz": "together_ai",
    "openrouter.ai": "openrouter",
    "deepseek.com": "deepseek",
    "x.ai": "xai",
    "fireworks.ai": "fireworks_ai",
}
"""End of a host's name → the vendor's name in LiteLLM."""


def vendor_of(base_url: str | None) -> str | None:
    """The vendor at a URL, by LiteLLM's name; ``None`` for an endpoint of one's own, or one that is not known."""
    host = urlsplit(base_url or "").hostname or ""
    return next((vendor for end, vendor in _VENDORS.items() if f".{host}".endswith(f".{end}")), None)
