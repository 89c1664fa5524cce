"""Where the lines of a text begin and end, one byte after the other."""


def find_lines(text: bytes, line_end: bytes) -> tuple[list[int], list[int], int]:
    """Return where each line that ends begins and ends, without a carriage return, and the longest length with it."""
    starts: list[int] = []
    ends: list[int] = []
    longest, start = 0, 0
    for place in range(len(text)):
        if text[place : place + 1] != line_end:
            continue
        line = text[start:place]
        starts.append(start)
        ends.append(start + len(line.removesuffix(b"\r")))
        longest = max(longest, len(line))
        start = place + 1
    return starts, ends, longest
