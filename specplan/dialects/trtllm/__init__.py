"""TensorRT-LLM's own words and counts."""
