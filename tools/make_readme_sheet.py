#!/usr/bin/env python3
"""Makes docs/images/contact-sheet.png, the picture in the README.

    make_readme_sheet.py --data SKIMAGE_DATA_FOLDER [--foveal BINARY] [--model FOLDER]

Cuts small pictures out of photos of scikit-image's sample data that are CC0 or in the public domain (NOTICE names
them), embeds them with the quick start's weights, and lets `foveal search` draw its sheet. Needs pillow.
"""
import argparse
import os
import subprocess
import tempfile

from PIL import Image

# file: {name: (left, top, right, bottom)}
CROPS = {
    "chelsea.png": {"cat_face": (90, 20, 340, 270), "cat_eyes": (120, 60, 300, 190), "cat_left": (60, 0, 260, 200),
                    "cat_right": (200, 30, 400, 230), "cat_nose": (130, 100, 280, 250)},
    "coffee.png": {"coffee_cup": (140, 40, 470, 370), "coffee_close": (200, 70, 420, 290), "coffee_spoon": (20, 60, 260, 300),
                   "coffee_table": (360, 120, 600, 360)},
    "rocket.jpg": {"rocket_launch": (200, 0, 440, 427), "rocket_flame": (230, 190, 420, 400), "rocket_tower": (280, 60, 520, 300)},
    "astronaut.png": {"astronaut": (100, 0, 400, 300), "astronaut_face": (160, 40, 300, 200), "shuttle": (330, 60, 512, 260)},
    "hubble_deep_field.jpg": {"galaxies_1": (0, 0, 400, 400), "galaxies_2": (500, 400, 900, 800)},
    "camera.png": {"photographer": (60, 20, 420, 400), "photographer_head": (160, 40, 330, 210)},
    "grass.png": {"grass_1": (0, 0, 256, 256), "grass_2": (256, 256, 512, 512)},
    "gravel.png": {"gravel_1": (0, 0, 256, 256), "gravel_2": (256, 256, 512, 512)},
    "brick.png": {"brick_1": (0, 0, 256, 256), "brick_2": (256, 256, 512, 512)},
}
QUERY = "cat_face"
SIDE = 224


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--foveal", default="build/release/src/cli/foveal")
    parser.add_argument("--model", default="quickstart-data/dinov2-small-focus")
    parser.add_argument("--out", default="docs/images/contact-sheet.png")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        photos = os.path.join(folder, "photos")
        os.mkdir(photos)
        for file, crops in CROPS.items():
            picture = Image.open(os.path.join(args.data, file)).convert("RGB")
            for name, box in crops.items():
                cut = picture.crop(box)
                cut.thumbnail((SIDE, SIDE), Image.LANCZOS)
                # The query is no part of the index: it shall find others.
                cut.save(os.path.join(folder if name == QUERY else photos, name + ".png"))
        index = os.path.join(folder, "photos.safetensors")
        subprocess.run([args.foveal, "embed", args.model, photos, "-o", index, "--layer", "11", "--normalize"], check=True)
        subprocess.run([args.foveal, "search", index, os.path.join(folder, QUERY + ".png"), "-k", "10", "--sheet", args.out],
                       check=True)
    # A repository wants it small: 256 colours.
    Image.open(args.out).quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.FLOYDSTEINBERG).save(
        args.out, optimize=True)
    print(args.out, os.path.getsize(args.out), "bytes")


if __name__ == "__main__":
    main()
