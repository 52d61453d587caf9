"""The rules that come with torchmemlint, one a module; installed as `torchmemlint.rules` and found by walking it."""

if __name__ != "torchmemlint.rules":
    raise ImportError(f"import these rules as torchmemlint.rules, not as {__name__}: every rule would load twice")
