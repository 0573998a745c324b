"""How long the page takes to answer a move: `python -m benchmarks.page`; at most 100 ms are wanted."""

import statistics
import time

from unbribable.web.game import Tables
from unbribable.web.moves import Setting, moves_of


def main() -> None:
    tables, setting, seconds = Tables(), Setting(), []
    moves = moves_of("h40", 40)
    for n in range(41):
        start = time.perf_counter()
        tables.after(setting, moves[:n])
        seconds.append(time.perf_counter() - start)
    worst = 1e3 * max(seconds)
    print(
        f"a move: {1e3 * statistics.median(seconds):.1f} ms at the median of 40, {worst:.1f} ms at most"
    )


if __name__ == "__main__":
    main()
