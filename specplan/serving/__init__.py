"""Servers under traffic: how long steps take, queues, simulations. Numpy on top of physics."""
