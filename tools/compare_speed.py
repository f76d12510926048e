#!/usr/bin/env python3
"""f32 speed of `foveal embed` against transformers + torch, real DINOv2-small weights, same machine and threads.

    PYTHON compare_speed.py [--model FOLDER] [--pictures FOLDER] [--foveal BINARY] [--threads N] [--rounds N]
                            [--count N] [--dtype f32|bf16] [--json OUT]

PYTHON is one with torch, torchvision, transformers, pillow and numpy. Both sides do the whole job on the same
files: read, decode, resize, normalise, forward, pooled. transformers runs in this process, already imported and
warm, in batches of 8; foveal is a program, so its start is taken out by timing two runs of different length.
Rounds interleave the two; a ratio is formed in each round and the median of the ratios counts, so a machine that
slows down meanwhile slows both. Also given: foveal's whole job against torch's forward alone, and both jobs in CPU seconds a picture,
which other work on the machine hardly disturbs (quote that with --threads 1: waiting threads may burn time).
"""
import argparse
import glob
import json
import os
import platform
import resource
import statistics
import subprocess
import tempfile
import time

import torch
import transformers
from PIL import Image
from transformers import AutoImageProcessor, AutoModel

BATCH = 8
SHORT = 8  # pictures of the short run that measures the start


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")


class Peer:
    def __init__(self, folder, dtype):
        self.dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
        self.model = AutoModel.from_pretrained(folder, dtype=self.dtype).eval()
        self.processor = AutoImageProcessor.from_pretrained(folder)

    @staticmethod
    def load(path):
        picture = Image.open(path).convert("RGBA")
        white = Image.new("RGBA", picture.size, (255, 255, 255, 255))
        white.alpha_composite(picture)
        return white.convert("RGB")

    def run(self, files):
        """-> (seconds of the whole job, seconds of the forward passes, CPU seconds of the whole job)."""
        start, cpu, forward = time.perf_counter(), time.process_time(), 0.0
        with torch.inference_mode():
            for at in range(0, len(files), BATCH):
                pictures = [self.load(path) for path in files[at : at + BATCH]]
                pixels = self.processor(images=pictures, return_tensors="pt")["pixel_values"].to(self.dtype)
                before = time.perf_counter()
                self.model(pixels).last_hidden_state[:, 0].float().numpy()
                forward += time.perf_counter() - before
        return time.perf_counter() - start, forward, time.process_time() - cpu


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def foveal_seconds(args, files):
    """-> (wall seconds, CPU seconds)."""
    with tempfile.TemporaryDirectory() as folder:
        command = [args.foveal, "embed", args.model, "-", "-o", os.path.join(folder, "out.safetensors"), "--dtype",
                   args.dtype, "--threads", str(args.threads), "--background", "FFFFFF"]
        start, cpu = time.perf_counter(), children_cpu()
        subprocess.run(command, input="\n".join(files), text=True, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return time.perf_counter() - start, children_cpu() - cpu


def summary(values):
    values = sorted(values)
    return {"median": statistics.median(values), "lowest": values[0], "highest": values[-1]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="quickstart-data/dinov2-small-focus")
    parser.add_argument("--pictures", default="quickstart-data/pictures")
    parser.add_argument("--foveal", default="build/release/src/cli/foveal")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--count", type=int, default=72)
    parser.add_argument("--dtype", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--json")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    files = sorted(glob.glob(os.path.join(args.pictures, "**/*.png"), recursive=True))[: args.count]
    peer = Peer(args.model, args.dtype)
    peer.run(files[:BATCH])
    foveal_seconds(args, files[:SHORT])

    ours, whole, forward, starts, cpu_ratios = [], [], [], [], []
    for _ in range(args.rounds):
        short, short_cpu = foveal_seconds(args, files[:SHORT])
        long, long_cpu = foveal_seconds(args, files)
        per_picture = (long - short) / (len(files) - SHORT)
        peer_whole, peer_forward, peer_cpu = peer.run(files)
        cpu_ratios.append(peer_cpu / len(files) / ((long_cpu - short_cpu) / (len(files) - SHORT)))
        ours.append(1 / per_picture)
        whole.append(len(files) / peer_whole)
        forward.append(len(files) / peer_forward)
        starts.append(short - SHORT * per_picture)
    result = {
        "cpu": cpu_model(), "threads": args.threads, "dtype": args.dtype, "pictures": len(files),
        "rounds": args.rounds, "kernel": platform.release(), "torch": torch.__version__,
        "transformers": transformers.__version__,
        "foveal": subprocess.run([args.foveal, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0],
        "pictures_per_second": {"foveal, whole job": summary(ours), "transformers, whole job": summary(whole),
                                "transformers, forward alone": summary(forward)},
        "foveal_start_seconds": summary(starts),
        "ratio whole/whole": summary([a / b for a, b in zip(ours, whole)]),
        "ratio in CPU seconds": summary(cpu_ratios),
        "ratio whole/forward alone": summary([a / b for a, b in zip(ours, forward)]),
    }
    for name in ("cpu", "threads", "dtype", "foveal", "torch", "transformers", "pictures", "rounds"):
        print(f"{name:13s} {result[name]}")
    for name, value in result["pictures_per_second"].items():
        print(f"{name:28s} {value['median']:7.2f} pictures/s   ({value['lowest']:.2f} to {value['highest']:.2f})")
    print(f"foveal's start               {result['foveal_start_seconds']['median']:7.2f} s")
    for name in ("ratio whole/whole", "ratio whole/forward alone", "ratio in CPU seconds"):
        print(f"{name:28s} {result[name]['median']:7.2f}              "
              f"({result[name]['lowest']:.2f} to {result[name]['highest']:.2f})")
    if args.json:
        with open(args.json, "w", encoding="ascii") as out:
            json.dump(result, out, indent=2)
            out.write("\n")


if __name__ == "__main__":
    main()
