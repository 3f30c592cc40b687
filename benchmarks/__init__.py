"""Datasets, runs, results: everything between the canvases and the pages."""

__version__ = "0.1.0"
