"""Checker of histories: what was sent, against everything that was answered or dead-lettered."""

import json
from typing import NamedTuple

from brokers.outside import HEADER, is_poison


class Verdict(NamedTuple):
    """What became of the records.

    Parameters
    ----------
    sent : int
        Records.
    lost : list of int
        Numbers of the records that have neither an answer nor a dead letter.
    duplicates : int
        Answers and dead letters beyond one per record.
    wrong : list of int
        Records that were answered although malformed, or dead-lettered although well-formed.
    changed : int
        Dead letters whose bytes are not those that were sent, and messages without the header that was sent.
    """

    sent: int
    lost: list
    duplicates: int
    wrong: list
    changed: int


def check_history(sent, answers, dead_letters):
    """The verdict.

    Parameters
    ----------
    sent : dict of int to bytes
        Messages by number.
    answers, dead_letters : list of dict
        Messages with value, key and headers; the key of a message is its number.
    """
    counts = {}
    wrong, changed = [], 0
    for answer in answers:
        number = int(answer["key"])
        counts[number] = counts.get(number, 0) + 1
        if is_poison(number) or json.loads(answer["value"])["key"] != f"r{number}":
            wrong.append(number)
    for letter in dead_letters:
        number = int(letter["key"])
        counts[number] = counts.get(number, 0) + 1
        changed += letter["value"] != sent[number] or not letter["headers"].get("anystream-reason")
        if not is_poison(number):
            wrong.append(number)
    headers = [message["headers"] for message in (*answers, *dead_letters)]
    changed += sum(found.get(name) != text.encode() for found in headers for name, text in HEADER.items())
    lost = [number for number in sent if number not in counts]
    return Verdict(len(sent), lost, sum(counts.values()) - len(counts), wrong, changed)
