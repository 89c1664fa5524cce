"""Demonstration: an answer that improves with every step, and a stream with more records than the machine can bear."""

from anystream.demo.run import run_demo

__all__ = ["run_demo"]
