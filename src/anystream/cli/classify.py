"""``anystream classify``: answers for a stream of records."""

from __future__ import annotations

import time
from contextlib import nullcontext

import typer

from anystream.cli.classify_options import ClassifyOptions


def classify(options: ClassifyOptions) -> None:
    """Classify records as they arrive; answers are JSON lines or CSV, a summary goes to standard error.

    Example: [bold]anystream classify model.safetensors < records.jsonl > answers.jsonl --within 5ms[/bold]

    Example: [bold]anystream classify model.safetensors test.csv -o answers.csv --dead-letters bad.jsonl[/bold]
    """
    from anystream.cli.classify_engine import build_engine, open_streams
    from anystream.cli.classify_report import print_report, progress_line
    from anystream.cli.classify_run import prepare_run
    from anystream.runtime.signals import stop_on_signals

    run = prepare_run(options)
    with run.checkpoint or nullcontext():
        streams = open_streams(run)
        engine = build_engine(run, streams)
        started = time.perf_counter()
        with stop_on_signals(engine), progress_line(engine, quiet=options.quiet):
            summary = engine.run()
    streams.sink.close()
    if options.save_path is not None:
        run.classifier.save(options.save_path, notes=run.notes)
    learned = engine.learner.learned if options.learn else None
    print_report(summary, time.perf_counter() - started, learned, options)
    if summary.checkpoint_error:
        raise typer.Exit(1)  # reported already; the next start repeats the records since the checkpoint before
