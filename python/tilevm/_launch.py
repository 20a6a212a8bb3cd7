"""A kernel on a device: resolved once, launched often."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import Any

from . import _library
from ._device import DeviceArray, check_device_array, current_stream, device_array, interface_codes, is_on_device, stream_of
from ._dlpack import CUDA, KINDS
from ._errors import UsageError
from ._host import is_torch
from ._library import LIBRARY, check
from ._parameter import SCALARS, Parameter, set_scalar
from ._types import dtypes_of, shape_of

_launch = LIBRARY.tilevm_launch
_thread = threading.get_ident


FAST_INTERFACE = 1  # of the extension tilevm_fast (python/fast)
def dlpack_types(name: str) -> list[tuple[int, int]]:
    """Codes of DLPack and bits that the elements of a tensor may have."""
    codes = {kind: code for code, kind in KINDS.items()}
    found = []
    for each in dtypes_of(name):
        if each in codes:
            found.append((codes[each], 8))
        elif not each.endswith("_x2"):
            kind = each.rstrip("0123456789")
            found.append((codes[kind], int(each[len(kind):])))
    return found


class _Slot:
    """Where an argument goes: what a tensor must be, and its place among the words that are passed."""

    __slots__ = ("parameter", "place", "word", "dtype", "shape", "codes")

    def __init__(self, parameter: Parameter, place: int, torch: Any) -> None:
        self.parameter = parameter
        self.place = place
        self.word = 2 * place
        self.dtype = None if torch is None else getattr(torch, dtypes_of(parameter.type)[0], None)
        self.shape = shape_of(parameter)
        self.codes = interface_codes(parameter.type)


class Launch:
    """Puts launches of a kernel on a GPU: `launch(a, w, c, 3)` with all parameters in order, on torch's current
    stream; Kernel.prepare() makes it. Nothing is allocated, and nothing waits, so that a CUDA graph can capture it.

    It belongs to the thread that made it, since its arguments have one place in memory. UsageError: an argument does
    not fit, another thread, or a child of a fork.
    """

    def __init__(self, kernel: Any, device: int) -> None:
        self._kernel = kernel  # keeps the program's texts
        self._thread = _thread()
        self._forks = _library.forks
        self._handle = ctypes.c_void_p()
        check(LIBRARY.tilevm_load_on(kernel._program_for(device), kernel.name.encode(), device, self._handle))
        self.device: int = LIBRARY.tilevm_kernel_device(self._handle)
        self.may_overlap = bool(LIBRARY.tilevm_kernel_may_overlap(self._handle))
        torch = sys.modules.get("torch")
        self._torch_tensor: Any = None if torch is None else torch.Tensor
        self._raw_stream: Any = None
        if torch is not None:
            self._raw_stream = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
        parameters = kernel.parameters
        self._count = len(parameters)
        self._words = (ctypes.c_uint64 * (2 * self._count))()
        self._scalars: list[tuple[Parameter, int, Any]] = []
        self._tensors: list[_Slot] = []
        for place, parameter in enumerate(parameters):
            if parameter.scalar:
                holder = SCALARS[parameter.type]()
                self._words[2 * place] = ctypes.addressof(holder)
                self._words[2 * place + 1] = ctypes.sizeof(holder)
                self._scalars.append((parameter, place, holder))
            else:
                self._tensors.append(_Slot(parameter, place, torch))

        self._fast = self._find_fast()

    def _find_fast(self) -> Any:
        """A launch by the extension tilevm_fast, where it is installed and $TILEVM_FAST is not 0; else None."""
        if os.environ.get("TILEVM_FAST") == "0" or not self._tensors:
            return None
        import importlib

        try:
            extension = importlib.import_module("tilevm_fast")
        except ImportError:
            return None
        if extension.INTERFACE != FAST_INTERFACE:
            return None
        address = ctypes.cast(_launch, ctypes.c_void_p).value
        fast = extension.Launcher(address, self._handle.value, ctypes.addressof(self._words), self._count, CUDA,
                                    self.device)
        for slot in self._tensors:
            shape = None if slot.shape is None else list(slot.shape)
            fast.add(slot.place, dlpack_types(slot.parameter.type), shape)
        return fast.launch

    def __del__(self, unload: Any = LIBRARY.tilevm_unload) -> None:
        # What a child of a fork has of CUDA's is not its own.
        if getattr(self, "_handle", None) and self._forks == _library.forks:
            unload(self._handle)

    def __reduce__(self) -> Any:
        raise UsageError("a prepared launch is not pickled, since it is loaded on this process's GPU; pickle the kernel "
                         "and call prepare() on the other side")

    def __repr__(self) -> str:
        return f"<tilevm launch of {self._kernel.name} on GPU {self.device}>"

    def __call__(self, *arguments: Any, stream: Any = None) -> None:
        if self._thread != _thread():
            raise UsageError("this launch was prepared by another thread, which may be filling in its arguments; call "
                             "prepare() in each thread")
        if self._forks != _library.forks:
            raise UsageError("CUDA does not survive a fork; start processes with multiprocessing's `spawn`, or load and "
                             "prepare the kernel in the child")
        if len(arguments) != self._count:
            names = ", ".join(p.name for p in self._kernel.parameters)
            raise UsageError(f"`{self._kernel.name}` is launched with {names}; {len(arguments)} arguments were given")
        for parameter, place, holder in self._scalars:
            set_scalar(parameter, holder, arguments[place])
        if self._fast is not None:
            status = self._fast(arguments, None if stream is None else stream_of(stream))
            if status == 0:
                return
            if status > 0:
                check(status)
        words, kind, device = self._words, self._torch_tensor, self.device
        torch_only = kind is not None
        kept = None
        for slot in self._tensors:
            value = arguments[slot.place]
            # A tensor of torch that fits in every way; all others are looked at closely.
            if torch_only and type(value) is kind and value.dtype is slot.dtype and \
                    (slot.shape is None or value.shape == slot.shape) and value.is_contiguous() and \
                    value.get_device() == device:
                pointer = value.data_ptr()
                if pointer and not pointer & 15:
                    words[slot.word] = pointer
                    words[slot.word + 1] = 0 if slot.shape is not None else value.numel() * value.element_size()
                    continue
            kept = self._fill_all(arguments, stream)
            break
        if stream is not None:
            number = stream_of(stream)
        elif kept is not None:
            number = kept[0]
        elif self._raw_stream is not None and self._tensors:
            number = self._raw_stream(device)
        else:
            number = current_stream(arguments[self._tensors[0].place], device) if self._tensors else 0
        status = _launch(self._handle, words, self._count, number)
        if status:
            check(status)

    def _fill_all(self, arguments: tuple[Any, ...], given: Any) -> tuple[int, list[DeviceArray]]:
        """The arguments one by one, whatever they are; the stream, and what must live until the launch is put."""
        arrays: list[DeviceArray] = []
        number = None if given is None else stream_of(given)
        for slot in self._tensors:
            value, parameter = arguments[slot.place], slot.parameter
            facts = getattr(value, "__cuda_array_interface__", None) if not is_torch(value) else None
            if facts is not None and self._fits(slot, value, facts):
                stream = facts.get("stream")
                if number is None:
                    number = current_stream(value, self.device)
                if stream is None or stream == number:
                    self._words[slot.word] = facts["data"][0]
                    self._words[slot.word + 1] = 0
                    continue
            if not is_on_device(value):
                raise UsageError(f"`{parameter.name}` is not on a GPU, and this launch is on GPU {self.device}; pass "
                                 f"a tensor there, as `x.to('cuda:{self.device}')`")
            if number is None:
                number = current_stream(value, self.device)
            array = device_array(f"`{parameter.name}`", value, number)
            check_device_array(parameter, array, self.device, is_torch(value))
            if array.stream not in (None, 0, number) and not (array.stream == 1 and number == 0):
                raise UsageError(f"`{parameter.name}` is ready on stream {array.stream:#x}, and the launch goes on "
                                 f"{number:#x}; pass stream={array.stream:#x}, or wait for it first")
            self._words[slot.word] = array.pointer
            # The library checks sizes that follow from the call.
            self._words[slot.word + 1] = 0 if slot.shape is not None else _bytes_of(array)
            arrays.append(array)
        return number or 0, arrays

    def _fits(self, slot: _Slot, value: Any, facts: Any) -> bool:
        """Whether a tensor is as it should be in every way, so that there is nothing to say of it."""
        pointer, read_only = facts["data"]
        return bool(facts["shape"] == slot.shape and facts["typestr"] in slot.codes and facts.get("strides") is None
                    and pointer and not pointer & 15 and not (read_only and slot.parameter.output)
                    and (not hasattr(value, "__dlpack_device__") or value.__dlpack_device__()[1] == self.device))


def _bytes_of(array: DeviceArray) -> int:
    # "float8_e5m2" and "float4_e2m1fn_x2" take a byte, "void16" two.
    bits = 8 if "_" in array.dtype else int(array.dtype.lstrip("abcdefghijklmnopqrstuvwxyz") or 8)
    count = 1
    for extent in array.shape:
        count *= extent
    return count * bits // 8
