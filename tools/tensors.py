"""Reads and writes safetensors files as NumPy arrays, for the tools here (bf16 comes out as float32)."""
import json
import struct

import numpy as np

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1", "BOOL": "?"}


def load(path):
    """-> ({name: array}, metadata)."""
    with open(path, "rb") as file:
        raw = file.read()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + size])
    metadata = header.pop("__metadata__", {})
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        data = raw[8 + size + begin : 8 + size + end]
        if entry["dtype"] == "BF16":
            array = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            array = np.frombuffer(data, DTYPES[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"])
    return arrays, metadata


def save(path, arrays, metadata=None):
    """arrays: {name: float32 or int64 array}; sorted by name, so that the same content gives the same bytes."""
    codes = {np.dtype("<f4"): "F32", np.dtype("<i8"): "I64"}
    header, offset, chunks = {}, 0, []
    if metadata:
        header["__metadata__"] = metadata
    for name, array in sorted(arrays.items()):
        data = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": codes[array.dtype], "shape": list(array.shape),
                        "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
        chunks.append(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(chunks))
