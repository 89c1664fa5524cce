"""``anystream simulate``: the machine that some traffic needs."""

from __future__ import annotations

from anystream.cli.simulate_options import SimulateOptions


def simulate(options: SimulateOptions) -> None:
    """Simulate the model under bursty traffic on slower and faster machines.

    The cost of a step is measured on this machine; then time is simulated, so that a minute takes seconds.

    Example: [bold]anystream simulate model.safetensors --rate 200 --burst 20x --data test.csv --machines 0.5,1[/bold]
    """
    from anystream.cli.paths import check_writable
    from anystream.cli.simulate_report import plot_queues, print_report, print_report_as_json
    from anystream.cli.simulate_run import prepare_simulation, run_simulation
    from anystream.plotting import require_matplotlib

    check_writable({"--plot": options.plot})
    if options.plot is not None:
        require_matplotlib()
    result = run_simulation(prepare_simulation(options))
    if options.plot is not None:
        plot_queues(result, options.plot)
    if options.as_json:
        print_report_as_json(result)
    else:
        print_report(result, options)
