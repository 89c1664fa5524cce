"""Classify every record of a stream by its deadline."""
