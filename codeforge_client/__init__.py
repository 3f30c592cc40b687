"""A client of CodeForge Benchmarks for notebooks and scripts. It needs only the standard library.

from codeforge_client import Client

client = Client("http://localhost:8080")
run = client.start_run("basic-coding", "openai/gpt-4o", metrics=["exact_match"])
run.wait()
run.frame()  # results as a DataFrame, if pandas or polars is installed
"""

from codeforge_client.client import ApiError, Client, Experiment, NotCompleted, Run, System, data_frame

__all__ = ["ApiError", "Client", "Experiment", "NotCompleted", "Run", "System", "data_frame"]
