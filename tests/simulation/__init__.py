"""The engine in virtual time, with faults drawn from one seed: ``python -m tests.simulation --help``."""
