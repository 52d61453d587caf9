"""`torchmemlint server`: the language server, spoken to over standard input and output."""

from __future__ import annotations

import sys

import click


@click.command(name="server", short_help="Start the language server for editors; needs pygls.")
def command() -> None:
    """Start the language server for editors, on standard input and output.

    Editors start it themselves: docs/editors.md has their settings. It needs the extra `server`."""
    try:
        import pygls.lsp.server  # noqa: F401
    except ImportError:
        click.echo("torchmemlint: error: the language server needs pygls: pip install 'torchmemlint[server]'", err=True)
        sys.exit(2)
    from torchmemlint.server.language import start

    start()
