"""Write the tables of this folder with the libraries that people use: see README.md."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pyarrow.parquet
from PIL import Image as Pictures

from datasets import Dataset, Features, Image, Value

HERE = Path(__file__).parent.resolve()
COLORS = {"red": (255, 0, 0), "blue": (0, 0, 255)}


def png(color: str) -> bytes:
    file = io.BytesIO()
    Pictures.new("RGB", (2, 2), COLORS[color]).save(file, "PNG")
    return file.getvalue()


def rows() -> list[dict[str, Any]]:
    return [
        {
            "id": f"color-{number}",
            "question": "Which color is this?",
            "image": png(color),
            "answer": color,
            "subject": "colors",
            "level": "easy",
            "split": "test",
            "tags": ["vision", color],
            "page": number,
            "embedding": [0.5, 0.25],
            "note": "x" * 150,
        }
        for number, color in enumerate(COLORS, 1)
    ]


def with_hub(name: str) -> None:
    """As the Hub has it: the feature Image is a struct of bytes and path."""
    plain = ("id", "question", "answer", "subject", "level", "split", "note")
    features = Features(
        {
            **{key: Value("string") for key in plain},
            "page": Value("int64"),
            "image": Image(),
            "tags": [Value("string")],
            "embedding": [Value("float32")],
        }
    )
    columns = {key: [row[key] for row in rows()] for key in rows()[0]}
    columns["image"] = [{"bytes": picture, "path": None} for picture in columns["image"]]
    Dataset.from_dict(columns, features=features).to_parquet(HERE / name)


def main() -> None:
    with_hub("datasets_images.parquet")
    frame = pandas.DataFrame([{**row, "image": {"bytes": row["image"], "path": "a.png"}} for row in rows()])
    frame.to_parquet(HERE / "pandas_images.parquet", index=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows()), HERE / "pyarrow_bytes.parquet")
    without = [{key: value for key, value in row.items() if key != "image"} for row in rows()]
    Dataset.from_list(without).to_json(HERE / "datasets.jsonl")
    pandas.DataFrame(without).to_csv(HERE / "pandas.csv")
    with (HERE / "csv_module.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*without[0]], dialect="excel")
        writer.writeheader()
        writer.writerows(without)
    chats = [
        {"messages": [{"role": "user", "content": row["question"]}, {"role": "assistant", "content": row["answer"]}]}
        for row in rows()
    ]
    (HERE / "fine_tuning.jsonl").write_text("".join(json.dumps(chat) + "\n" for chat in chats))


if __name__ == "__main__":
    main()
