"""Write ``datasets/long-context.yaml``: long invented documents, and questions that the documents answer.

Run ``python -m datasets.tools.long_context > datasets/long-context.yaml`` in the project's folder. The same code always
writes the same file.
"""
