"""SGLang's own words and counts."""
