"""`python -m torchmemlint`."""

from torchmemlint.cli import main

if __name__ == "__main__":
    main(prog_name="torchmemlint")
