"""How well streams are answered in time."""
