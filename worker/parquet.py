"""Lines of JSON as a Parquet file.

    python parquet.py --check             exits with 3 where there is no pyarrow
    python parquet.py ROWS.jsonl OUT.parquet

Columns and their types are what pyarrow infers from all rows: objects become structs, arrays lists.
"""

import json
import sys


def main():
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        print(f"{sys.executable} has no pyarrow ({error}): pip install pyarrow there", file=sys.stderr)
        return 3
    if sys.argv[1:] == ["--check"]:
        return 0
    rows, out = sys.argv[1:]
    with open(rows, encoding="utf-8") as lines:
        table = pyarrow.Table.from_pylist([json.loads(line) for line in lines])
    pyarrow.parquet.write_table(table, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
