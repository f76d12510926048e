#!/usr/bin/env python3
"""Are the embeddings of the real weights good for anything? Leave-one-out 1-nearest-neighbour on labelled stamps.

    stamps_knn.py --model FOLDER --pictures FOLDER [--foveal BINARY]

Pictures and labels: stamps_labels.tsv (every folder with at least 10 pictures), white background, cosine. Compares
the CLS of hidden layer 11 with the last layer's and with raw pixels (32 x 32 RGB, taken from pixel_values). Exit
code 1 unless layer 11 beats raw pixels by at least 0.25 and beats the last layer. Needs numpy.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import tensors

MARGIN = 0.25
SIDE = 32


def read_labels():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stamps_labels.tsv")
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return [row[0] for row in rows], [row[1] for row in rows]


def embed(args, files, *flags):
    """-> ({tensor: array}, seconds); the rows are in the order of files."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.safetensors")
        start = time.monotonic()
        subprocess.run([args.foveal, "embed", args.model, "-", "-o", out, "--background", "FFFFFF", "--dtype",
                        args.dtype, *flags], input="\n".join(files), text=True, check=True, stdout=subprocess.DEVNULL)
        arrays, metadata = tensors.load(out)
        seconds = time.monotonic() - start
    if json.loads(metadata["files"]) != files:
        raise SystemExit("the rows are not those of the list: " + metadata["errors"])
    return arrays, seconds


def accuracy(features, labels):
    """features (N, D): how often the nearest other row by cosine has the same label."""
    features = features.astype(np.float64)
    features = features / np.linalg.norm(features, axis=1, keepdims=True)
    similarity = features @ features.T
    np.fill_diagonal(similarity, -np.inf)
    return float((labels[similarity.argmax(axis=1)] == labels).mean())


def raw_pixels(pixel_values):
    """(N, 3, 224, 224) normalised -> (N, 3 * 32 * 32) mean-pooled colours in 0..1."""
    mean = np.array([0.485, 0.456, 0.406], np.float32)[:, None, None]
    std = np.array([0.229, 0.224, 0.225], np.float32)[:, None, None]
    colours = pixel_values * std + mean
    n, channels, height, width = colours.shape
    step = height // SIDE
    pooled = colours.reshape(n, channels, SIDE, step, SIDE, width // SIDE).mean(axis=(3, 5))
    return pooled.reshape(n, -1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="quickstart-data/dinov2-small-focus")
    parser.add_argument("--pictures", default="quickstart-data/pictures")
    parser.add_argument("--foveal", default="build/release/src/cli/foveal")
    parser.add_argument("--dtype", default="f32")
    args = parser.parse_args()
    names, labels = read_labels()
    files = [os.path.join(args.pictures, name) for name in names]
    labels = np.array(labels)
    layer11, seconds = embed(args, files, "--layer", "11")
    last, _ = embed(args, files, "--output", "last_hidden_state,pixel_values")
    hidden = last["last_hidden_state"]
    splits = last.get("row_splits.last_hidden_state")
    # The final norm's output at CLS, with or without row splits.
    cls = hidden[splits[:-1]] if splits is not None else hidden.reshape(len(files), -1, hidden.shape[-1])[:, 0]
    scores = {
        "layer 11": accuracy(layer11["pooled"], labels),
        "last layer": accuracy(cls, labels),
        "raw pixels": accuracy(raw_pixels(last["pixel_values"]), labels),
    }
    print(f"{len(files)} pictures, {len(set(labels))} labels; {len(files) / seconds:.1f} pictures/s ({args.dtype})")
    for name, score in scores.items():
        print(f"{name:11s} {score:.3f}")
    good = scores["layer 11"] >= scores["raw pixels"] + MARGIN and scores["layer 11"] > scores["last layer"]
    print("PASS" if good else f"FAIL: layer 11 must beat raw pixels by {MARGIN} and beat the last layer")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
