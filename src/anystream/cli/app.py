"""The program: its commands, its errors, its exit codes."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from anystream.cli import classify, demo, evaluate, fit, inspect, simulate

app = typer.Typer(
    name="anystream",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Classify every record of a stream by its deadline.\n\n"
    "Exit codes: 0 done, 1 a file or the system refused, 2 wrong usage or bad input, 130 interrupted twice.",
)
app.command("fit")(fit.fit)
app.command("classify")(classify.classify)
app.command("evaluate")(evaluate.evaluate)
app.command("inspect")(inspect.inspect)
app.command("simulate")(simulate.simulate)
app.command("demo")(demo.demo)


def _version(wanted: bool) -> None:
    if wanted:
        import anystream

        typer.echo(f"anystream {anystream.__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> NoReturn:
    """Run the program; every error a user can cause ends in one clear line."""
    try:
        app()
    except BrokenPipeError:  # whoever read our answers has gone: that is their right
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, TypeError, ImportError) as error:
        print(f"anystream: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        said = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        print(f"anystream: {said}", file=sys.stderr)
        sys.exit(1)
    sys.exit(0)
