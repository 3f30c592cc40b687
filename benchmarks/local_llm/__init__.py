"""A small, real language model on this machine, without an API key: SmolLM2-135M, served by llama.cpp.

Optional: ``make local-llm`` installs ``requirements-local-llm.txt`` and serves the model for the provider ``local``.
"""
