"""The native core of anystream."""



class StopToken:
    """
    A flag that ends work in progress: give it to a Budget, set it from any thread.
    """

    def __init__(self) -> None: ...

    def set(self) -> None:
        """End the work that looks at this token."""

    def clear(self) -> None:
        """Make the token usable again."""

    def is_set(self) -> bool:
        """Whether the token was set."""

def thread_count(requested: int = 0) -> int:
    """The number of threads that a request stands for."""
