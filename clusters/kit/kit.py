#!/usr/bin/env python3
"""kit.py - times the kernels and links of a site for `plait calibrate`

    python3 kit.py kernels                      one GPU: products, attention, experts, memory passes
    torchrun --nproc_per_node 8 kit.py links    collectives and sends, where there is no nccl-tests

Each kind of measurement becomes a table beside this file. What PyTorch or the GPU has not got is left
out, and said. --small takes small shapes, to try the script on a CPU; --dry measures nothing and
needs no PyTorch: the same tables from a clock that stands still.
"""
import argparse
import csv
import os
import statistics
import sys
import time

try:
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F
except ImportError:
    torch = None

# (n, k) of the weights of layers, whole and as tensor parallelism cuts them.
WEIGHTS = [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (10240, 8192), (8192, 8192),
           (14336, 8192), (8192, 7168), (1280, 8192), (8192, 1024), (2048, 7168), (7168, 2048)]
TOKENS = [128, 512, 1024, 2048, 4096, 8192, 16384]
EXPERTS = [(4096, 7168), (7168, 2048), (3072, 2048), (2048, 1536), (2816, 2048), (14336, 4096)]
COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]
SMALL = 64     # --small divides sizes by it
DRY_US = 10.0  # what the clock says that stands still


# ---- the clock: microseconds of a call ----

def sample_us(device, call, times):
    if device != "cuda":
        begin = time.perf_counter()
        for _ in range(times):
            call()
        return (time.perf_counter() - begin) * 1e6 / times
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(times):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / times


def median_us(device, call):
    """The median of nine samples, each of as many calls as last a millisecond."""
    sample_us(device, call, 3)  # warm-up
    times = max(1, min(200, int(1000.0 / sample_us(device, call, 3))))
    return statistics.median(sample_us(device, call, times) for _ in range(9))


def graph_us(device, call):
    """The same from a CUDA graph, since the host is too slow to launch short kernels in a row."""
    if device != "cuda":
        return median_us(device, call)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            call()
    return median_us(device, graph.replay) / 10.0


def loop_us(device, call, seconds):
    """In a loop that is long enough for clocks to settle under load; its second half counts."""
    times = max(1, int(0.5e6 * seconds / sample_us(device, call, 3)))
    sample_us(device, call, times)
    return sample_us(device, call, times)


# ---- tables ----

class Kit:
    def __init__(self, flags):
        self.small, self.dry, self.out = flags.small, flags.dry, flags.out
        self.rank = int(os.environ.get("RANK", "0"))
        self.device = "cuda" if torch and torch.cuda.is_available() and not self.dry else "cpu"
        if self.device == "cuda":
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        self.gpu = flags.gpu or (torch.cuda.get_device_name() if self.device == "cuda" else "cpu")
        self.source = "kit.py --dry" if self.dry else "kit.py, PyTorch " + torch.__version__
        self.groups = {}  # of ranks, by their members

    def size(self, number):
        return max(16, number // SMALL) if self.small else number

    def tensor(self, *shape):
        return torch.randn(*shape, device=self.device, dtype=torch.bfloat16)

    def table(self, name, columns, times, rows, measure):
        """Writes NAME.csv: the cells of each row and what `measure` says of them, a list of `times`."""
        done, lost, why = [], 0, ""
        for row in rows:
            try:
                found = [DRY_US] * len(times) if self.dry else measure(*row)
                done.append([self.gpu, *row, *(f"{us:.3f}" for us in found), self.source])
            except Exception as error:  # of one row; the others are worth having
                lost, why = lost + 1, why or str(error).split("\n")[0]
        if self.rank == 0 and done:
            path = os.path.join(self.out, name + ".csv")
            with open(path + ".part", "w", newline="", encoding="utf-8") as file:
                head = ["gpu", *columns, *times, "source"]
                csv.writer(file, lineterminator="\n").writerows([head] + done)
            os.replace(path + ".part", path)
        self.say(f"{name}.csv: {len(done)} rows" + (f", {lost} left out: {why}" if lost else ""))

    def say(self, text):
        if self.rank == 0:
            print(text, flush=True)


# ---- products ----

def product(kit, dtype, m, n, k):
    """y = x W^T; below bf16 x is quantised too, in one pass as a fused kernel with known scales."""
    x, w = kit.tensor(m, k), kit.tensor(n, k)
    if dtype == "bf16":
        return lambda: torch.mm(x, w.t())
    amd = getattr(torch.cuda.get_device_properties(0), "gcnArchName", "")
    kind = torch.float8_e4m3fnuz if amd.startswith("gfx94") else torch.float8_e4m3fn
    w8, one = w.to(kind), torch.ones((), device=kit.device)
    return lambda: torch._scaled_mm(x.to(kind), w8.t(), scale_a=one, scale_b=one,
                                    out_dtype=torch.bfloat16, use_fast_accum=True)


def products(kit):
    rows = [(dtype, kit.size(m), kit.size(n), kit.size(k))
            for dtype in ("bf16", "fp8") for (n, k) in WEIGHTS for m in TOKENS]
    kit.table("gemm", ["dtype", "m", "n", "k"], ["time_us"], rows,
              lambda *row: [graph_us(kit.device, product(kit, *row))])


def sustained(kit):
    def measure(*row):
        call = product(kit, *row)
        time.sleep(0.2)  # to cool down
        burst_us = median_us(kit.device, call)
        return [loop_us(kit.device, call, 0.01 if kit.small else 1.0), burst_us]

    rows = [(dtype, kit.size(m), kit.size(n), kit.size(k))
            for dtype in ("bf16", "fp8") for (n, k) in WEIGHTS[:8] for m in (2048, 4096, 8192)]
    kit.table("gemm_sustained", ["dtype", "m", "n", "k"], ["time_us_sustained", "time_us_burst"],
              rows, measure)


def layouts(kit):
    """TN forward, NN the gradient of the input, NT that of the weights, which is added up in fp32."""
    def measure(dtype, m, n, k, layout, _):
        if layout == "TN":
            call = product(kit, dtype, m, n, k)
        elif layout == "NN":
            x, w = kit.tensor(m, k), kit.tensor(k, n)
            call = lambda: torch.mm(x, w)
        else:
            x, w = kit.tensor(k, m), kit.tensor(k, n)
            call = lambda: torch.mm(x.t(), w, out_dtype=torch.float32)
        return [median_us(kit.device, call)]

    rows = []
    for (n, k) in WEIGHTS:
        for m in (4096, 8192):
            n_, k_, m_ = kit.size(n), kit.size(k), kit.size(m)
            rows += [("bf16", m_, n_, k_, "TN", "bf16"), ("bf16", m_, k_, n_, "NN", "bf16"),
                     ("bf16", n_, k_, m_, "NT", "fp32")]
    kit.table("gemm_train_layouts", ["dtype", "m", "n", "k", "layout", "out_dtype"], ["time_us"],
              rows, measure)


def grouped(kit):
    """Products of experts, of as many rows each; a loop over them where PyTorch has no grouped one."""
    fused = kit.device == "cuda" and (getattr(F, "grouped_mm", None) or
                                      getattr(torch, "_grouped_mm", None))

    def measure(dtype, groups, m, n, k, stage):
        x, w = kit.tensor(groups * m, k), kit.tensor(groups, n, k).transpose(1, 2)
        ends = torch.arange(1, groups + 1, device=kit.device, dtype=torch.int32) * m
        if fused:
            return [median_us(kit.device, lambda: fused(x, w, offs=ends))]
        return [median_us(kit.device, lambda: [torch.mm(x[g * m:(g + 1) * m], w[g])
                                               for g in range(groups)])]

    if not fused and not kit.dry:
        kit.say("no grouped product here: gemm_grouped.csv is of a loop over the experts")
    rows = [("bf16", groups, kit.size(m), kit.size(n), kit.size(k), "fwd") for groups in (8, 32)
            for (n, k) in EXPERTS for m in (32, 128, 256, 512, 1024, 2048)]
    kit.table("gemm_grouped", ["dtype", "groups", "m_per_group", "n", "k", "stage"], ["time_us"],
              rows, measure)


# ---- attention, memory passes ----

def attention(kit):
    """Causal kernels of scaled_dot_product_attention: FlashAttention-2 and cuDNN's."""
    def measure(dtype, kernel, batch, seq, heads, kv_heads, width, causal, which="fwd"):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        q, k, v = (kit.tensor(batch, heads, seq, width).requires_grad_(which == "bwd")
                   for _ in range(3))
        forward = lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)
        with sdpa_kernel(getattr(SDPBackend, "CUDNN_ATTENTION" if kernel == "cuDNN"
                                 else "FLASH_ATTENTION")):
            if which == "fwd":
                return [median_us(kit.device, forward)]
            out = forward()
            slope = torch.randn_like(out)
            return [median_us(kit.device, lambda: torch.autograd.grad(out, (q, k, v), slope,
                                                                      retain_graph=True))]

    columns = ["dtype", "kernel", "batch", "seq", "heads", "kv_heads", "head_dim", "causal"]
    rows = [("bf16", kernel, max(1, 16384 // seq), kit.size(seq), heads, heads, width, 1)
            for kernel in ("flash2", "cuDNN") for width in (64, 128) for heads in (8, 32)
            for seq in (512, 1024, 2048, 4096, 8192, 16384)]
    kit.table("attention", columns, ["time_us"], rows, measure)
    kit.table("attention_passes", columns + ["pass"], ["time_us"],
              [(*row, which) for row in rows for which in ("fwd", "bwd")], measure)


def memory(kit):
    """Kernels that pass over memory once: 2 bytes an element of each tensor that goes in or out."""
    def measure(op, tokens, hidden, _):
        x, y = kit.tensor(tokens, hidden), kit.tensor(tokens, hidden)
        call = {"add": lambda: torch.add(x, y), "gelu": lambda: F.gelu(x),
                norm: lambda: getattr(F, norm)(x, (hidden,))}[op]
        return [graph_us(kit.device, call)]

    norm = "rms_norm" if kit.dry or hasattr(torch, "_fused_rms_norm") else "layer_norm"
    if norm != "rms_norm":
        kit.say("no fused RMSNorm here: memory.csv has LayerNorm, which moves the same bytes")
    rows = [(op, kit.size(tokens), hidden, (6 if op == "add" else 4) * kit.size(tokens) * hidden)
            for op in ("add", norm, "gelu") for hidden in (4096, 8192)
            for tokens in (1024, 2048, 4096, 8192, 16384, 32768)]
    kit.table("memory", ["op", "tokens", "hidden", "approx_bytes"], ["time_us"], rows, measure)


# ---- links ----

def transfer(kit, op, size, members, group):
    """A call of one collective; `size` is the buffer as nccl-tests counts it."""
    whole = torch.zeros(size // 2, device=kit.device, dtype=torch.float16)
    part = torch.zeros(size // 2 // len(members), device=kit.device, dtype=torch.float16)
    if op == "send_recv":
        if kit.rank == members[0]:
            return lambda: dist.send(whole, members[1])
        return lambda: dist.recv(whole, members[0])
    if op == "all_to_all":
        other = torch.empty_like(whole)
        return lambda: dist.all_to_all_single(other, whole, group=group)
    return {"all_reduce": lambda: dist.all_reduce(whole, group=group),
            "all_gather": lambda: dist.all_gather_into_tensor(whole, part, group=group),
            "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole, group=group)}[op]


def transfer_us(kit, op, size, members):
    """Every rank makes the group and meets the others behind it, whatever becomes of the call."""
    if members not in kit.groups:
        kit.groups[members] = dist.new_group(members)
    try:
        if kit.rank not in members:
            return [0.0]
        call = transfer(kit, op, size, members, kit.groups[members])
        times = max(3, min(50, (1 << 28) // size))  # as many on every rank
        sample_us(kit.device, call, 3)
        return [statistics.median(sample_us(kit.device, call, times) for _ in range(5))]
    finally:
        dist.barrier()


def groups_of(world, a_node):
    """2, 4, ... GPUs of the first node; all GPUs of all nodes; one of each node."""
    inside = sorted({1 << i for i in range(1, 16) if 1 << i <= a_node} | {a_node} - {1})
    across = {tuple(range(world)), tuple(range(0, world, a_node))} if world > a_node else set()
    return [tuple(range(n)) for n in inside] + sorted(across, key=len)


def links(kit):
    world, a_node = (16, 8) if kit.dry else (int(os.environ.get(name, "1"))
                                             for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    if world < 2:
        sys.exit("kit.py: expected two ranks or more, started by torchrun, found one")
    if not kit.dry:
        dist.init_process_group("nccl" if kit.device == "cuda" else "gloo")

    def rows(ops, groups):
        return [(op, len(m), len({rank // a_node for rank in m}), size - size % (2 * len(m)),
                 "half") for op in ops for m in groups
                for size in (1 << bits for bits in range(12, 21 if kit.small else 30))]

    def measure(op, ranks, nodes, size, _):
        step = a_node if ranks == nodes else 1
        return transfer_us(kit, op, size, tuple(range(0, ranks * step, step)))

    pairs = [pair for pair, there in (((0, 1), a_node > 1), ((0, a_node), world > a_node)) if there]
    columns = ["collective", "ranks", "nodes", "bytes", "dtype"]
    kit.table("collectives", columns, ["time_us"], rows(COLLECTIVES, groups_of(world, a_node)),
              measure)
    kit.table("p2p", columns, ["time_us"], rows(["send_recv"], pairs), measure)
    if not kit.dry:
        dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=["kernels", "links"])
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)),
                        help="folder of the tables; that of this script")
    parser.add_argument("--gpu", help="what tables call the GPU; the name that its driver has")
    parser.add_argument("--small", action="store_true", help="small shapes, to try the script")
    parser.add_argument("--dry", action="store_true", help="no PyTorch, and a clock that stands still")
    flags = parser.parse_args()
    if torch is None and not flags.dry:
        sys.exit("kit.py: expected PyTorch in this Python, found none (--dry needs none)")
    os.makedirs(flags.out, exist_ok=True)
    kit = Kit(flags)
    kit.say(f"{kit.gpu}, {kit.source}")
    steps = [products, layouts, grouped, attention, memory, sustained]
    for step in steps if flags.what == "kernels" else [links]:
        step(kit)


if __name__ == "__main__":
    main()
