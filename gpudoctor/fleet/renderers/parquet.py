"""The summary as a Parquet file: the rows of the CSV, for DuckDB, pandas or Spark; lists stay lists."""

import io

from gpudoctor.extras import install_command
from gpudoctor.fleet.renderers.rows import NodeRow, rows
from gpudoctor.fleet.summary import Fleet

LISTS = ("causes", "titles", "departs", "outliers")


class ParquetError(Exception):
    """The library that writes it is missing; the message is one sentence."""


def render(fleet: Fleet) -> bytes:
    """The file's bytes.

    Raises:
        ParquetError: pyarrow is not installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ParquetError(
            f"Parquet is written by pyarrow, which is not installed: `{install_command('parquet')}` adds it."
        ) from None
    text = pyarrow.string()
    schema = pyarrow.schema(
        [(name, pyarrow.list_(text) if name in LISTS else text) for name in NodeRow._fields],
        metadata={"gpudoctor.fleet": fleet.schema, "created": fleet.created.encode("utf-8", "backslashreplace")},
    )
    columns = list(zip(*rows(fleet), strict=True)) or [()] * len(NodeRow._fields)
    arrays = [
        pyarrow.array([list(cell) if field.name in LISTS else cell for cell in column], field.type)
        for field, column in zip(schema, columns, strict=True)
    ]
    file = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=schema), file)
    return file.getvalue()
