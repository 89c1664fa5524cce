"""``anystream simulate``: the machine that some traffic needs."""

from __future__ import annotations

from anystream.cli.simulate_options import SimulateOptions


def simulate(options: SimulateOptions) -> None:
    """Simulate the model under bursty traffic on slower and faster machines.

    The cost of a step is measured on this machine; then time is simulated, so that a minute takes seconds. With
    --workers, clusters of such machines are simulated instead, with skewed partitions, a slow worker and a lost one.

    Example: [bold]anystream simulate model.safetensors --rate 200 --burst 20x --data test.csv --machines 0.5,1[/bold]

    Example: [bold]anystream simulate model.safetensors --rate 1e6 --burst 2x --duration 2s --workers 4,8[/bold]
    """
    from anystream.cli.paths import check_writable
    from anystream.cli.simulate_report import plot_queues, print_report, print_report_as_json
    from anystream.cli.simulate_run import prepare_simulation, run_simulation
    from anystream.plotting import require_matplotlib

    check_writable({"--plot": options.plot})
    if options.plot is not None:
        require_matplotlib()
    if options.workers is not None:
        _simulate_clusters(options)
        return
    result = run_simulation(prepare_simulation(options))
    if options.plot is not None:
        plot_queues(result, options.plot)
    if options.as_json:
        print_report_as_json(result)
    else:
        print_report(result, options)


def _simulate_clusters(options: SimulateOptions) -> None:
    from anystream.cli.cluster_report import plot_clusters, print_clusters, print_clusters_as_json
    from anystream.cli.cluster_run import run_clusters

    result = run_clusters(options)
    if options.plot is not None:
        plot_clusters(result, options.plot)
    if options.as_json:
        print_clusters_as_json(result)
    else:
        print_clusters(result, options)
