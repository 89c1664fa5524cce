"""Sources and sinks: where records come from and where answers go, one file per system.

The two files without a system of their own are `items`, what flows, and `protocols`, what the engine asks of a
connector.
"""
