"""llama.cpp's own words and counts."""
