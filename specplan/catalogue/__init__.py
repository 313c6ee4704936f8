"""The YAML boundary: cards and plans come in as text and leave as frozen values."""
