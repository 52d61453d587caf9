"""torchmemlint: which line of a PyTorch program keeps or wastes GPU memory, and what that costs."""

__version__ = "0.1.0"
