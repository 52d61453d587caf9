"""Tools for people who write rules: `python -m torchmemlint.dev --help`. They work on a checkout."""
