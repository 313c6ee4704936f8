"""Two-sample tests of generated outputs: one distribution, or two?"""
