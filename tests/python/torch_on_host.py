"""torch without a GPU over the stand-in for NVIDIA's driver: tensors of the host say that they are on GPU 0, so that what
the package does for a GPU runs, up to the launches, which do nothing. Import it before tilevm, and after package.py.
"""

import os
import pathlib
import tempfile

import torch
from package import FAKE_DRIVER

FOLDER = tempfile.TemporaryDirectory()
STREAM = [0]  # the current one


def use():
    """For the rest of the process."""
    nvcc = pathlib.Path(FOLDER.name) / "nvcc"
    nvcc.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo ', V13.0' && exit 0\n"
                    "printf '.version 9.0\\n.target sm_90\\n' > output\n")
    nvcc.chmod(0o755)
    os.environ.update(TILEVM_LIBCUDA=FAKE_DRIVER, TILEVM_NVRTC="/nowhere/libnvrtc.so", TILEVM_NVCC=str(nvcc))
    os.environ.setdefault("TILEVM_CACHE", "off")
    from tilevm import _launch

    torch.Tensor.is_cuda = property(lambda self: True)
    torch.Tensor.get_device = lambda self: 0
    torch._C._cuda_getCurrentRawStream = lambda device: STREAM[0]
    _launch.CUDA = 1  # what DLPack calls memory of the host
