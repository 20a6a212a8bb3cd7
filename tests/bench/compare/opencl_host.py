"""As much of OpenCL's host side as the kernels here need, through ctypes: no headers, no loader.

Run under `oclgrind`, which puts its own OpenCL in front of everything.
"""

import ctypes

_cl = ctypes.CDLL(None)
_pointer = ctypes.c_void_p
for _name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource",
              "clCreateKernel", "clCreateBuffer"):
    getattr(_cl, _name).restype = _pointer
COPY_HOST_MEMORY = 1 << 5


def _check(status, what):
    if status != 0:
        raise RuntimeError(f"{what}: OpenCL error {status}")


class Device:
    """The first device of the first platform, with one queue."""

    def __init__(self):
        platform, self.device, status = _pointer(), _pointer(), ctypes.c_int()
        _check(_cl.clGetPlatformIDs(1, ctypes.byref(platform), None), "clGetPlatformIDs")
        _check(_cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xFFFFFFFF), 1,
                                  ctypes.byref(self.device), None), "clGetDeviceIDs")
        self.context = _pointer(_cl.clCreateContext(None, 1, ctypes.byref(self.device), None, None,
                                                    ctypes.byref(status)))
        _check(status.value, "clCreateContext")
        self.queue = _pointer(_cl.clCreateCommandQueue(self.context, self.device,
                                                       ctypes.c_uint64(0), ctypes.byref(status)))
        _check(status.value, "clCreateCommandQueue")

    def kernel(self, source, name, options=""):
        """A kernel of a program text."""
        text, status = ctypes.c_char_p(source.encode()), ctypes.c_int()
        program = _pointer(_cl.clCreateProgramWithSource(self.context, 1, ctypes.byref(text), None,
                                                         ctypes.byref(status)))
        status.value = _cl.clBuildProgram(program, 0, None, options.encode(), None, None)
        if status.value != 0:
            log = ctypes.create_string_buffer(4096)
            _cl.clGetProgramBuildInfo(program, self.device, 0x1183, ctypes.c_size_t(len(log)), log,
                                      None)
            raise RuntimeError(log.value.decode())
        kernel = _pointer(_cl.clCreateKernel(program, name.encode(), ctypes.byref(status)))
        _check(status.value, "clCreateKernel")
        return kernel

    def buffer(self, array):
        """A buffer with a copy of the array."""
        status = ctypes.c_int()
        made = _pointer(_cl.clCreateBuffer(self.context, ctypes.c_uint64(1 | COPY_HOST_MEMORY),
                                           ctypes.c_size_t(array.nbytes),
                                           _pointer(array.ctypes.data), ctypes.byref(status)))
        _check(status.value, "clCreateBuffer")
        return made

    def read(self, buffer, array):
        """The array, filled from the buffer."""
        _check(_cl.clEnqueueReadBuffer(self.queue, buffer, 1, ctypes.c_size_t(0),
                                       ctypes.c_size_t(array.nbytes), _pointer(array.ctypes.data),
                                       0, None, None), "clEnqueueReadBuffer")
        return array

    def launch(self, kernel, arguments, global_size, local_size):
        """Runs the kernel and waits. Arguments are buffers and Python integers."""
        for i, argument in enumerate(arguments):
            value = ctypes.c_int(argument) if isinstance(argument, int) else argument
            _check(_cl.clSetKernelArg(kernel, i, ctypes.c_size_t(ctypes.sizeof(value)),
                                      ctypes.byref(value)), "clSetKernelArg")
        rank = len(global_size)
        sizes = ctypes.c_size_t * rank
        _check(_cl.clEnqueueNDRangeKernel(self.queue, kernel, rank, None, sizes(*global_size),
                                          sizes(*local_size), 0, None, None), "launch")
        _check(_cl.clFinish(self.queue), "clFinish")
