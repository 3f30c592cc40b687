"""Run untrusted Python code against tests, isolated from everything else. Knows no Django, database or settings."""
