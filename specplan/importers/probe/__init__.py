"""Measures the machine at hand: a large copy, products over widths, the smallest kernel."""
