"""Checkpoints that others quantised: GPTQ, AWQ, compressed-tensors, bitsandbytes, GGUF (docs/guides/checkpoints.md).

    with tilevm.load_checkpoint("Llama-GPTQ") as checkpoint:
        for weight in checkpoint:               # one at a time
            print(weight.name, weight.type, weight.dequantized())
"""

from ._checkpoint import Checkpoint, load_checkpoint
from ._errors import CheckpointError
from ._pack import pack_checkpoint, unpacked
from ._shard import shard, shard_checkpoint
from ._weight import PackedWeight

__all__ = ["Checkpoint", "CheckpointError", "PackedWeight", "load_checkpoint", "pack_checkpoint", "shard", "shard_checkpoint",
           "unpacked"]
