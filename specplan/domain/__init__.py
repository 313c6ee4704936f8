"""What specplan talks about, as frozen dataclasses: no files, no terminal, no arrays."""
