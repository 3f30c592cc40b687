"""Running untrusted Python against tests, cut off from everything else. Knows no Django, no database, no settings."""
