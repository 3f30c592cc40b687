"""What a resource is for other programs. The API, its schema and ``--json`` derive from these dataclasses."""
