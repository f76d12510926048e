"""Golden vectors of position interpolation: torch's F.interpolate in float32, and Qwen3-VL's form.
Usage: make_golden_ops.py OUT_FOLDER. Seeded; writes interpolate.safetensors and provenance.json."""
import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

CASES = [  # (from h, w) -> (to h, w), N
    (5, 5, 5, 5, 3), (7, 7, 3, 4, 3), (4, 4, 9, 7, 2), (6, 5, 11, 2, 3), (3, 8, 1, 1, 2), (1, 1, 4, 3, 2),
    (16, 16, 37, 14, 2), (37, 37, 16, 16, 1), (14, 14, 13, 15, 2), (12, 12, 5, 31, 2),
]


def align_corners(table, h, w):  # (H, W, N): Qwen3-VL's positions, by the formula of transformers' vision_utils
    n_h, n_w = table.shape[:2]
    hs = torch.arange(h).float() * (n_h - 1) / max(h - 1, 1)
    ws = torch.arange(w).float() * (n_w - 1) / max(w - 1, 1)
    hf, wf = hs.floor().long(), ws.floor().long()
    hc, wc = (hf + 1).clip(max=n_h - 1), (wf + 1).clip(max=n_w - 1)
    dh, dw = (hs - hf)[:, None, None], (ws - wf)[None, :, None]
    at = lambda y, x: table[y][:, x]
    return (at(hf, wf) * (1 - dh) * (1 - dw) + at(hf, wc) * (1 - dh) * dw
            + at(hc, wf) * dh * (1 - dw) + at(hc, wc) * dh * dw)


def main():
    out = Path(sys.argv[1])
    torch.manual_seed(7)
    tensors = {}
    for h, w, to_h, to_w, n in CASES:
        table = torch.randn(h, w, n)
        key = f"{h}x{w}.{to_h}x{to_w}"
        tensors[f"{key}.in"] = table.reshape(h * w, n).contiguous()
        image = table.permute(2, 0, 1)[None]
        for name, mode, antialias in [("bicubic", "bicubic", False), ("bicubic_antialias", "bicubic", True),
                                      ("bilinear", "bilinear", False), ("bilinear_antialias", "bilinear", True)]:
            got = F.interpolate(image, size=(to_h, to_w), mode=mode, align_corners=False, antialias=antialias)
            tensors[f"{key}.{name}"] = got[0].permute(1, 2, 0).reshape(to_h * to_w, n).contiguous()
        tensors[f"{key}.align_corners"] = align_corners(table, to_h, to_w).reshape(to_h * to_w, n).contiguous()
    save_file(tensors, out / "interpolate.safetensors")
    (out / "provenance.json").write_text(json.dumps({
        "file": "interpolate.safetensors", "command": "python3 tests/golden/ops/make_golden_ops.py tests/golden/ops",
        "torch": torch.__version__, "device": "cpu, float32", "seed": 7}, indent=1) + "\n")


main()
