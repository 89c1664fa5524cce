"""Text from data and files as a terminal may show it."""

from __future__ import annotations


def visible(text: str, max_characters: int | None = None) -> str:
    r"""Return a text whose control characters are escaped, so that it cannot move the cursor or change colours.

    Parameters
    ----------
    text : str
        Any text; line breaks and marks for the direction of writing are escaped as well.
    max_characters : int, optional
        Of a longer text, the first ones and three dots are returned.

    Examples
    --------
    >>> visible("\x1b[31mred", max_characters=6)
    '\\x1b[31mr...'
    """
    if max_characters is not None and len(text) > max_characters:
        return visible(text[:max_characters]) + "..."
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
