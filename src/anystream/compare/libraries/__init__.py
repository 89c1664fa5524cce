"""One file per library, imported only when the library is compared; each has a table ``METHODS``."""
