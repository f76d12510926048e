#!/usr/bin/env python3
"""Makes the small pictures of this folder and expected.safetensors: kinds of JPEG, PNG and WebP that
../units/decode does not have. For each FILE the tensor FILE is what Pillow gives for open, exif_transpose,
convert("RGB") (16-bit gray: the high byte instead), FILE.white the same with alpha composited onto white.

    pip install pillow==13.0.0 numpy; python3 make.py

Pictures are computed (gradients with noise, seed 11), so there is no author but this file.
"""
import io, json, pathlib, struct, zlib

import numpy as np
import PIL
from PIL import Image, ImageOps

HERE = pathlib.Path(__file__).resolve().parent
RNG = np.random.default_rng(11)
H, W = 21, 29
expected = {}


def photo(channels, h=H, w=W):
    y, x, c = np.mgrid[0:h, 0:w, 0:channels]
    a = 128 + 90 * np.sin(x / 5 + c) + 30 * np.cos(y / 3 - c) + RNG.normal(0, 6, (h, w, channels))
    return np.clip(a, 0, 255).astype(np.uint8)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(color, bits, samples, *, interlace=0, before=(), after=()):
    """samples: (H, W, channels) of integers; rows are filtered with each of the five filters in turn."""
    h, w, n = samples.shape

    def packed(part):
        rows, prev = [], None
        for i in range(part.shape[0]):
            if bits == 16:
                row = part[i].astype(">u2").tobytes()
            elif bits == 8:
                row = part[i].astype(np.uint8).tobytes()
            else:
                v = part[i].reshape(-1)
                s = "".join(format(int(x), f"0{bits}b") for x in v)
                s += "0" * (-len(s) % 8)
                row = bytes(int(s[k:k + 8], 2) for k in range(0, len(s), 8))
            bpp = max(1, n * bits // 8)
            kind = i % 5
            prior = prev or bytes(len(row))
            out = bytearray([kind])
            for k, b in enumerate(row):
                left = row[k - bpp] if k >= bpp else 0
                up = prior[k]
                ul = prior[k - bpp] if k >= bpp else 0
                p = left + up - ul
                pa, pb, pc = abs(p - left), abs(p - up), abs(p - ul)
                paeth = left if pa <= pb and pa <= pc else up if pb <= pc else ul
                out.append((b - (0, left, up, (left + up) // 2, paeth)[kind]) & 255)
            rows.append(bytes(out))
            prev = row
        return b"".join(rows)

    if interlace:
        raw = b"".join(packed(samples[y0::dy, x0::dx]) for y0, x0, dy, dx in
                       ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
                       if samples[y0::dy, x0::dx].size)
    else:
        raw = packed(samples)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, bits, color, 0, 0, interlace))
            + b"".join(chunk(k, d) for k, d in before) + chunk(b"IDAT", zlib.compress(raw, 9))
            + b"".join(chunk(k, d) for k, d in after) + chunk(b"IEND", b""))


def exif(orientation, order="<"):
    head = b"II*\0" if order == "<" else b"MM\0*"
    kind = 3
    value = struct.pack(order + "HH", orientation, 0)
    return (head + struct.pack(order + "I", 8) + struct.pack(order + "H", 2)
            + struct.pack(order + "HHI", 0x0100, 3, 1) + struct.pack(order + "HH", 7, 0)
            + struct.pack(order + "HHI", 0x0112, kind, 1) + value + struct.pack(order + "I", 0))


def xmp(orientation):
    return (f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="{orientation}"/>'
            '</x:xmpmeta>').encode()


def add(name, data, *, white=False, high_byte=None):
    (HERE / name).write_bytes(data)
    image = Image.open(io.BytesIO(data))
    if high_byte is not None:
        expected[name] = np.repeat(high_byte.astype(np.uint8), 3, axis=2)
        return
    image = ImageOps.exif_transpose(image)
    expected[name] = np.asarray(image.convert("RGB"))
    if white:
        rgba = image.convert("RGBA")
        base = Image.new("RGBA", rgba.size, (255, 255, 255))
        expected[name + ".white"] = np.asarray(Image.alpha_composite(base, rgba).convert("RGB"))


def save(array, kind, mode=None, **options):
    out = io.BytesIO()
    Image.fromarray(array, mode).save(out, kind, **options)
    return out.getvalue()


def main():
    for bits in (1, 2, 4):
        levels = photo(1) >> (8 - bits)
        add(f"gray{bits}.png", png(0, bits, levels))
        add(f"gray{bits}_interlaced.png", png(0, bits, levels, interlace=1))
        palette = RNG.integers(0, 256, 3 << bits, dtype=np.uint8).tobytes()
        trns = RNG.integers(0, 256, max(1, (1 << bits) - 1), dtype=np.uint8).tobytes()
        add(f"palette{bits}.png", png(3, bits, levels, before=[(b"PLTE", palette)]))
        add(f"palette{bits}_alpha.png", png(3, bits, levels, before=[(b"PLTE", palette), (b"tRNS", trns)]), white=True)
    add("palette_short.png", png(3, 8, photo(1) >> 2, before=[(b"PLTE", bytes(range(30)))]))
    for color, n, name in ((0, 1, "gray"), (2, 3, "rgb"), (4, 2, "gray_alpha"), (6, 4, "rgba")):
        add(f"{name}8_interlaced.png", png(color, 8, photo(n), interlace=1), white=color in (4, 6))
        wide = RNG.integers(0, 65536, (H, W, n))
        if n == 1:
            add(f"{name}16_interlaced.png", png(color, 16, wide, interlace=1), high_byte=wide >> 8)
        else:
            add(f"{name}16.png", png(color, 16, wide), white=color in (4, 6))
    key = photo(1)
    add("gray_key.png", png(0, 8, key, before=[(b"tRNS", struct.pack(">H", int(key[3, 4, 0])))]), white=True)
    key = photo(3)
    add("rgb_key.png", png(2, 8, key, before=[(b"tRNS", struct.pack(">HHH", *(int(v) for v in key[3, 4])))]), white=True)
    add("exif6.png", png(2, 8, photo(3), before=[(b"eXIf", exif(6))]))
    add("exif5_after_data.png", png(2, 8, photo(3), after=[(b"eXIf", exif(5, ">"))]))
    add("xmp8.png", png(2, 8, photo(3), before=[(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp(8))]))
    add("narrow.png", png(2, 8, photo(3, 1, 400)))
    frames = [Image.fromarray(photo(4)) for _ in range(3)]
    for kind, extra in (("png", {}), ("webp", {"lossless": True})):
        out = io.BytesIO()
        frames[0].save(out, kind.upper(), save_all=True, append_images=frames[1:], duration=40, **extra)
        add(f"animated.{kind}", out.getvalue(), white=True)

    rgba = photo(4)
    rgba[:5, :, 3] = 0
    add("alpha_lossless.webp", save(rgba, "WEBP", lossless=True, exact=True), white=True)
    add("alpha_lossy.webp", save(rgba, "WEBP", quality=70), white=True)
    add("exif7.webp", save(photo(3), "WEBP", lossless=True, exif=b"Exif\0\0" + exif(7)))
    add("xmp3.webp", save(photo(3), "WEBP", lossless=True, xmp=xmp(3)))

    rgb = photo(3)
    add("subsampled_411.jpg", save(photo(3, 40, 61), "JPEG", subsampling="4:1:1"))
    add("progressive_420.jpg", save(photo(3, 40, 61), "JPEG", progressive=True, quality=60))
    add("gray_progressive.jpg", save(photo(1)[:, :, 0], "JPEG", progressive=True))
    add("rgb_colours.jpg", save(rgb, "JPEG", keep_rgb=True))
    add("restarts.jpg", save(photo(3, 40, 61), "JPEG", restart_marker_rows=1))
    cmyk = save(photo(4), "JPEG", "CMYK", quality=90)
    add("cmyk_adobe.jpg", cmyk)
    at = cmyk.index(b"\xff\xee")
    size = struct.unpack(">H", cmyk[at + 2:at + 4])[0]
    add("cmyk_without_marker.jpg", cmyk[:at] + cmyk[at + 2 + size:])
    # The transform byte ends Adobe's segment: 2 says YCCK.
    add("ycck.jpg", cmyk[:at + 1 + size] + b"\x02" + cmyk[at + 2 + size:])
    add("exif3_big_endian.jpg", save(rgb, "JPEG", exif=b"Exif\0\0" + exif(3, ">")))
    add("exif_out_of_range.jpg", save(rgb, "JPEG", exif=b"Exif\0\0" + exif(9)))
    plain = save(rgb, "JPEG")
    note = b"http://ns.adobe.com/xap/1.0/\0" + xmp(6)
    add("xmp6.jpg", plain[:2] + b"\xff\xe1" + struct.pack(">H", len(note) + 2) + note + plain[2:])

    header, blob = {}, b""
    for name in sorted(expected):
        data = np.ascontiguousarray(expected[name])
        header[name] = {"dtype": "U8", "shape": list(data.shape), "data_offsets": [len(blob), len(blob) + data.size]}
        blob += data.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (HERE / "expected.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + blob)
    (HERE / "provenance.json").write_text(json.dumps(
        {"command": "python3 make.py", "pillow": PIL.__version__, "numpy": np.__version__, "seed": 11,
         "pictures": "computed by make.py"}, indent=1) + "\n")


main()
