"""The program: commands, error messages and exit codes."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any, NoReturn

import typer
import typer.core

from anystream.cli import interrupts
from anystream.cli.classify import classify
from anystream.cli.classify_options import ClassifyOptions
from anystream.cli.compare import CompareOptions, compare
from anystream.cli.demo import demo
from anystream.cli.evaluate import EvaluateOptions, evaluate
from anystream.cli.fit import FitOptions, fit
from anystream.cli.import_forest import ImportOptions, import_forest
from anystream.cli.inspect import inspect
from anystream.cli.options import command_from, started
from anystream.cli.replay import replay
from anystream.cli.reproduce import ReproduceOptions, reproduce
from anystream.cli.serve import serve
from anystream.cli.serve_options import ServeOptions
from anystream.cli.simulate import simulate
from anystream.cli.simulate_options import SimulateOptions
from anystream.cli.visible_text import visible


class Program(typer.core.TyperGroup):
    """All commands; Typer ends with exit code 1 on a closed pipe unless a command is caught here."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print(interrupts.MESSAGE, file=sys.stderr)
            raise typer.Exit(interrupts.EXIT_CODE) from None
        except BrokenPipeError:  # The reader closed the pipe; stop quietly.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python writes when it exits
            raise typer.Exit() from None


app = typer.Typer(
    name="anystream",
    cls=Program,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Classify every record of a stream by its deadline.\n\n"
    "Exit codes: 0 success, 1 a file or the system failed, 2 wrong usage or bad input, or no record could be answered, "
    "130 interrupted by Ctrl-C before the end.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("fit")(command_from(FitOptions, fit))
app.command("import")(command_from(ImportOptions, import_forest))
app.command("classify")(command_from(ClassifyOptions, classify))
app.command("evaluate")(command_from(EvaluateOptions, evaluate))
app.command("compare")(command_from(CompareOptions, compare))
app.command("serve")(command_from(ServeOptions, serve))
app.command("replay")(started(replay))
app.command("inspect")(started(inspect))
app.command("simulate")(command_from(SimulateOptions, simulate))
app.command("reproduce")(command_from(ReproduceOptions, reproduce))
app.command("demo")(started(demo))


def _print_version(wanted: bool) -> None:
    if wanted:
        import anystream

        typer.echo(f"anystream {anystream.__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> NoReturn:
    """Run the program and exit; every error that a user can cause is printed as one line."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(interrupts.EXIT_CODE)
    except (ValueError, TypeError, ImportError, SystemError) as error:
        if interrupts.arrived():
            print(interrupts.MESSAGE, file=sys.stderr)
            sys.exit(interrupts.EXIT_CODE)
        if isinstance(error, SystemError):  # no error that a user can cause
            raise
        print(f"anystream: {visible(str(error))}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        print(f"anystream: {visible(message)}", file=sys.stderr)
        sys.exit(1)
    sys.exit(0)
