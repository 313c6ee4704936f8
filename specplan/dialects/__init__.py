"""Engines' own words: what each prints and what it accepts, one folder for each engine."""
