"""Deep-learning input as DLIO drives it: reader threads fill a bounded buffer, a trainer empties it and checkpoints.

BERT goes through shuffled files of TFRecords, one buffer-sized call after the other; Megatron draws small samples
at random from one memory-mapped token file. The trainer writes checkpoints itself, so reading stops once the
buffer is full: bursts of reads and of writes take turns without being told to.
"""

from __future__ import annotations

from random import Random

from penstock.simulate.applications._base import Parameter, SimulatedApplication, Site, Values
from penstock.simulate.script import Script, ScriptFile, ScriptGate, Steps, Task
from penstock.units import GIB, KIB, MIB

# An open is one request to the metadata server: a null RPC takes 120 us (estimate of the mechanism notes).
OPEN_S = 120e-6
# A TFRecord frames its payload with two lengths and two checksums.
FRAME_BYTES = 16

_SHARED = (
    Parameter("threads", 4, "reader threads a client (DLIO read_threads)", most=256),
    Parameter("osts", 4, "OSTs the data set and the checkpoints lie on", most=4096),
    Parameter("prefetch", 2, "batches the loader may be ahead (DLIO prefetch_size)", most=4096),
    Parameter("compute", 0.0, "seconds of training a batch; 0 leaves the I/O kernel", "time", 0, 3600),
    Parameter("chunk", MIB, "bytes a call when writing a checkpoint", "size", 4 * KIB, GIB),
    Parameter("cache", 16 * GIB, "page cache of a client; dirty data must fit", "size", GIB),
)


def _bert(name: str, values: Values, site: Site) -> Script:
    transfer, per_file = values.count("transfer"), values.count("samples")
    sample = values.count("sample") + FRAME_BYTES
    osts = site.osts(values.count("osts"), name)
    calls = max(1, per_file * sample // transfer)
    data = [ScriptFile(calls * transfer, (osts[n % len(osts)],)) for n in range(values.count("files"))]
    files = tuple(data + [ScriptFile(values.count("model"), osts)] * site.clients)
    order = list(range(len(data)))
    Random(f"{name}/{site.seed}").shuffle(order)
    # What goes through the buffer is as much as the loader shuffles at once.
    per_piece = max(1, values.count("shuffle") * sample // transfer)
    batches = per_piece * transfer / sample / values.count("batch")
    threads = values.count("threads")
    tasks: list[Task] = []
    gates: list[ScriptGate] = []
    ahead = max(1, round(values.count("prefetch") / batches)) * threads
    for client in range(site.clients):
        mine = order[client :: site.clients] or order
        gates.append(ScriptGate(len(tasks), threads + 1, ahead))
        for thread in range(threads):
            steps = Steps(files)
            for number in mine[thread::threads] or mine:
                steps.rest(OPEN_S)
                steps.feed(number, transfer, per_piece, client)
            tasks.append(Task(client, steps.ops))
        pieces = max(1, round(values.count("every") / batches))
        trainer = _trainer(files, client, values, (pieces, batches))
        _save(trainer, len(data) + client, values)
        tasks.append(Task(client, trainer.ops))
    return Script(name, files, tuple(tasks), tuple(gates), values.count("cache"))


def _megatron(name: str, values: Values, site: Site) -> Script:
    sample, batch = values.count("sample"), values.count("batch")
    osts = site.osts(values.count("osts"), name)
    tokens = ScriptFile(values.count("samples") * sample, osts)
    files = (tokens, *[ScriptFile(values.count("model"), osts)] * site.clients)
    threads = values.count("threads")
    tasks: list[Task] = []
    gates: list[ScriptGate] = []
    for client in range(site.clients):
        gates.append(ScriptGate(len(tasks), threads + 1, values.count("prefetch") * threads))
        for _ in range(threads):
            steps = Steps(files)
            steps.read_anywhere(0, sample, count=batch)
            steps.put(client)
            tasks.append(Task(client, steps.ops))
        trainer = _trainer(files, client, values, (values.count("every"), 1.0))
        _save(trainer, 1 + client, values)
        tasks.append(Task(client, trainer.ops))
    return Script(name, files, tuple(tasks), tuple(gates), values.count("cache"))


def _trainer(files: tuple[ScriptFile, ...], client: int, values: Values, load: tuple[int, float]) -> Steps:
    """Takes pieces out of the buffer and trains on each: how many until the next save, of how many batches."""
    pieces, batches = load
    steps = Steps(files)
    steps.take(client)
    steps.rest(values.number("compute") * batches)
    steps.again(pieces)
    return steps


def _save(steps: Steps, file: int, values: Values) -> None:
    chunk = values.count("chunk")
    calls = values.count("model") // chunk
    if calls == 0:
        return
    steps.rest(OPEN_S)
    steps.write(file, 0, chunk, count=calls)
    steps.sync(file)


BERT = SimulatedApplication(
    "dlio-bert",
    "BERT training input: shuffled TFRecord files read by threads, checkpoint bursts",
    "DLIO configs/workload/bert_v100.yaml: 500 files of 313,532 records of 2,500 bytes, 256 KiB transfers, batch "
    "48, 1,024 samples shuffled at once, model of 4,034,713,312 bytes. DLIO trains .968 s a batch and saves every "
    "250 batches; here training takes no time, so a save comes every 100,000 batches (12 GB read).",
    (
        *_SHARED,
        Parameter("files", 500, "files of the data set", most=1e6),
        Parameter("samples", 313532, "samples a file"),
        Parameter("sample", 2500, "bytes a sample, without its frame", "size", 1),
        Parameter("transfer", 256 * KIB, "bytes a call", "size", 4 * KIB, GIB),
        Parameter("shuffle", 1024, "samples shuffled at once (DLIO shuffle_size)", most=1e6),
        Parameter("batch", 48, "samples a batch"),
        Parameter("every", 100_000, "batches between checkpoints"),
        Parameter("model", 4_034_713_312, "bytes of a checkpoint; 0: none", "size", 0),
    ),
    _bert,
)

MEGATRON = SimulatedApplication(
    "dlio-megatron",
    "Megatron-DeepSpeed input: random samples of one striped token file, checkpoint bursts of every client",
    "DLIO configs/workload/megatron_deepspeed_LLNL.yaml: one memory-mapped file of 277,203,535 samples of 2,048 "
    "bytes, batch 16, every rank saves its optimizer groups of 1,009,254,400 + 865,075,200 + 793,600 bytes. "
    "DLIO trains 2.44 s a batch and saves every 1,000 batches; here training takes no time.",
    (
        *_SHARED,
        Parameter("samples", 277_203_535, "samples of the file"),
        Parameter("sample", 2048, "bytes a sample", "size", 1, GIB),
        Parameter("batch", 16, "samples a batch"),
        Parameter("every", 1000, "batches between checkpoints", most=1e6),
        Parameter("model", 1_875_123_200, "bytes of a client's checkpoint; 0: none", "size", 0),
    ),
    _megatron,
)
