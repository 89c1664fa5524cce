"""Names of the kernel widths at the leaves."""

from __future__ import annotations

import math
import re

_FACTOR = re.compile(r"f(\d*\.?\d+(?:e-?\d+)?)")


def parse_bandwidth(bandwidth: object) -> tuple[str, float]:
    """Return the method and the factor alpha of a bandwidth.

    =========  ========================================================  ===================================
    name       kernel in dimension i                                     statistics of
    =========  ========================================================  ===================================
    langley    standard deviation (max_i - min_i) / sqrt(|T|)  (Eq. 18)   the class
    haerdle    standard deviation (4 / ((d+2) |T|))^(1/(d+4)) sigma_i     the class  (Eq. 17)
    f<alpha>   variance alpha * sigma_i^2  (Eq. 19)                       all data
    =========  ========================================================  ===================================

    A class of one record has no range and no deviation: it takes those of all data and the average size of a class.

    Examples
    --------
    >>> parse_bandwidth("f0.05")
    ('factor', 0.05)
    >>> parse_bandwidth("langley")
    ('langley', 1.0)
    """
    if bandwidth in ("langley", "haerdle"):
        return str(bandwidth), 1.0
    match = _FACTOR.fullmatch(bandwidth) if isinstance(bandwidth, str) else None
    alpha = float(match[1]) if match else 0.0
    if not (alpha > 0 and math.isfinite(alpha)):
        raise ValueError(
            f"bandwidth is {bandwidth!r}; use 'auto', 'langley', 'haerdle' or 'f' and a factor, such as 'f0.05'"
        )
    return "factor", alpha
