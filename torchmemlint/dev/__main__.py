"""The command line of the tools for rule writers."""

from __future__ import annotations

from pathlib import Path

import click

from torchmemlint import loader
from torchmemlint.dev import corpus as corpora
from torchmemlint.dev import new_rule as generator
from torchmemlint.dev import precision
from torchmemlint.dev.checkout import Checkout, find_checkout
from torchmemlint.dev.pages import pages, stale, write

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group()
@click.option("--root", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Another checkout.")
@click.pass_context
def main(context: click.Context, root: Path | None) -> None:
    """Tools for people who write rules for torchmemlint."""
    context.obj = Checkout(root) if root else find_checkout()


@main.command("new-rule")
@click.argument("code")
@click.argument("name")
@click.option("--event", required=True, help="The event that the rule subscribes to.")
@click.option("--op", "operations", multiple=True, help="An operation of an OpClosed rule, such as torch.contiguous.")
@click.pass_obj
def new_rule(checkout: Checkout, code: str, name: str, event: str, operations: tuple[str, ...]) -> None:
    """Make the module and the fixture folder of a new rule."""
    for path in generator.new_rule(checkout, code, name, event, operations):
        click.echo(path.relative_to(checkout.root))
    click.echo(f"Fill the fixture first; `torchmemlint verify {code}` shows whether the harm is real.")


@main.command()
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when a file is out of date.")
@click.pass_obj
def docs(checkout: Checkout, check: bool) -> None:
    """Make what is generated: docs/rules.md, docs/precision.md, docs/comparison.md, and parts of README.md and
    docs/verify.md."""
    expected = pages(checkout, loader.own_rules())
    changed = stale(expected) if check else write(expected)
    for path in changed:
        click.echo(f"{path.relative_to(checkout.root)} {'is out of date' if check else 'written'}")
    if check and changed:
        raise click.ClickException("run `python -m torchmemlint.dev docs`")


@main.command()
@click.pass_context
def bless(context: click.Context) -> None:
    """Renew everything that is generated from the rules; look at the difference before you commit it."""
    context.invoke(docs, check=False)


@main.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
def events(file: Path) -> None:
    """Print the operations that the analysis sees, in order, beside the source lines, and the events."""
    from torchmemlint.dev import events as streams  # the analysis is needed here alone

    for line in streams.stream(file):
        click.echo(line)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--record", type=_FILE, help="Write the findings there, as JSON lines.")
@click.option("--compare", type=_FILE, help="Print what is new and what is gone since that recording.")
@click.option("--judged", type=_FILE, help="Compare with the verdicts there: docs/precision.toml.")
@click.option("--option", "options", multiple=True, help="Handed on to `check`, such as --option=--select=TML1.")
def corpus(
    folder: Path, record: Path | None, compare: Path | None, judged: Path | None, options: tuple[str, ...]
) -> None:
    """Check every repository under FOLDER."""
    found = list(corpora.scan(folder, options))
    if record:
        record.write_text(corpora.dump(found), encoding="utf-8", newline="\n")
    if compare:
        added, removed = corpora.difference(corpora.load(compare.read_text(encoding="utf-8")), found)
        for sign, records in (("+", added), ("-", removed)):
            for item in records:
                click.echo(f"{sign} {corpora.line(item)}")
        click.echo(f"{len(added)} added, {len(removed)} removed")
    elif judged:
        for text in precision.judged(precision.load(judged), found):
            click.echo(text)
    elif not record:
        click.echo(corpora.dump(found), nl=False)
    click.echo(corpora.totals(found), err=True)


if __name__ == "__main__":
    main(prog_name="python -m torchmemlint.dev")
