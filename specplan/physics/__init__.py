"""The formulas, in pure numpy: no files, no terminal, no names of cards."""
