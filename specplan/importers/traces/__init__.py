"""Readers of recorded traffic: files of others, by their content, to traces and lengths."""
