"""Models as others describe them: configs, checkpoints and hub ids become architectures."""
