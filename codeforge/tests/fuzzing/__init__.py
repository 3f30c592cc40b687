"""Fuzzing pages: what a browser can send from a page, hostile variants of it, and what a response must not show."""
