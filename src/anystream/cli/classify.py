"""``anystream classify``: answers for a stream of records."""

from __future__ import annotations

import signal
import time
from contextlib import nullcontext

import typer

from anystream.cli.classify_options import ClassifyOptions


def classify(options: ClassifyOptions) -> None:
    """Classify records as they arrive; answers are JSON lines or CSV, a summary goes to standard error.

    Example: [bold]anystream classify model.safetensors < records.jsonl > answers.jsonl --within 5ms[/bold]

    From kafka to kafka: [bold]anystream classify m.safetensors --from kafka://HOST/events?group=g --to kafka://HOST/answers[/bold]

    From nats to nats: [bold]anystream classify m.safetensors --from nats://HOST/events?durable=d --to nats://HOST/answers[/bold]

    From mqtt to mqtt: [bold]anystream classify m.safetensors --from mqtt://HOST/events?client=c --to mqtt://HOST/answers[/bold]

    From redis to redis: [bold]anystream classify m.safetensors --from redis://HOST/events?group=g --to redis://HOST/answers[/bold]

    Example: [bold]anystream classify model.safetensors test.csv -o answers.csv --dead-letters bad.jsonl[/bold]

    Many files: [bold]anystream classify m.safetensors 'parts/*.csv' -o answers.jsonl --workers 4 --checkpoint c[/bold]
    """
    from anystream.cli.classify_engine import build_engine, close_inputs, find_absent, open_streams
    from anystream.cli.classify_report import Ending, describe_broker, print_report, progress_line
    from anystream.cli.classify_run import prepare_run
    from anystream.runtime.signals import stop_on_signals

    if options.workers is not None:
        from anystream.cli.classify_workers import classify_on_workers

        classify_on_workers(options)
        return
    if options.on != "local":
        raise ValueError(f"--on is {options.on}, where workers run; say how many with --workers, or leave --on out")
    run = prepare_run(options)
    if options.mmap:
        from anystream.cli.output import report_copied_model

        report_copied_model(options.model)
    with run.checkpoint or nullcontext():
        streams = open_streams(run)
        engine = build_engine(run, streams)
        started = time.perf_counter()
        with stop_on_signals(engine) as received, progress_line(engine, options):
            summary = engine.run()
    streams.sink.close()
    broker = describe_broker(streams.source)
    close_inputs(streams)
    if options.save_path is not None:
        run.classifier.save(options.save_path, notes=run.notes)
    ending = Ending(
        seconds=time.perf_counter() - started,
        learned=engine.learner.learned if options.learn else None,
        signal=received[0] if received and not engine.source.done else None,
        last_line=engine.last_line,
        absent=find_absent(run, streams),
        broker=broker,
    )
    print_report(summary, ending, options)
    if summary.checkpoint_error:
        raise typer.Exit(1)  # reported already; the next start repeats the records since the checkpoint before
    if ending.signal == signal.SIGINT:
        raise typer.Exit(130)  # SIGTERM is how a service is told to end
    if summary.taken and not summary.answered:
        raise typer.Exit(2)
