"""The anytime contract: what every classifier of the library promises, and the checks of it."""
