"""Connectors: sources of records and labels, and sinks of answers, one file per system.

They implement the contracts of `anystream.runtime.contracts`. `schema` and `cells` turn the cells of tables into
features; `table_records`, `text_source` and `lines` are what several sources share.
"""
