"""Load generators: what they carry of an engine's counters."""
