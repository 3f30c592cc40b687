"""The parts of a run's summary. All sums are taken by the database: a run of a million results needs no more room."""
