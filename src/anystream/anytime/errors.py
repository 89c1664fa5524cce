"""The error by which a classifier refuses a record."""


class RecordError(ValueError):
    """A record that a classifier cannot classify, although the classifier itself is sound.

    Raise it from `classify` for what is wrong with the values of a record, such as a value that the metric has no
    distance for. The message tells what is wrong, with the value. The stream runtime then searches the batch for the
    record, sends it to the dead letters and continues with the others; any other error stops the run.
    """
