"""Engines' counters: what they say of acceptance, and how sure that is."""
