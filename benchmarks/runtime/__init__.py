"""On-time accuracy and memory of the stream runtime."""
