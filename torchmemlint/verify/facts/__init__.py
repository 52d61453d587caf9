"""What PyTorch's memory model says, as programs that measure it: one file a fact, run by `torchmemlint verify`.

Each has `FIGURES`, the claims by name, and `fact(device, look)`, which returns a number for each of them. `look()`
reads the meter: bytes alive, the highest since the last look, and on a real device what the caching allocator has
reserved and the time."""
