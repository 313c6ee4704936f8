"""What engines count, from the side that knows the truth: rounds, printers, fixtures.

`world` draws speculative rounds; `vllm`, `sglang`, `trtllm`, `llamacpp` and `harness` print them
as each engine does, with its own definitions; `facts` says what such a print still tells. Nothing
here imports the package under test.
"""
