"""stubs.py SOURCES ARGUMENTS..: runs references.py with the packages whose sources are in a folder, of which only the modules
that unpack and dequantize are imported: packages of no contents stand for their __init__, and for packages that they want
and that have no part in it.
"""

import importlib.machinery
import pathlib
import re
import runpy
import sys
import types


class Nothing(types.ModuleType):
    """A module every name of which is an empty class."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def stand_in(name, module=None):
    module = module or Nothing(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    sys.modules[name] = module


def without_init(folder, *names):
    """Packages below a folder whose own __init__ is not run."""
    for name in names:
        module = types.ModuleType(name)
        module.__path__ = [str(folder.joinpath(*name.split(".")))]
        sys.modules[name] = module


class Flags:
    """pcre's flags as re's."""

    def __getattr__(self, name):
        return getattr(re, name, 0)


def main():
    sources = pathlib.Path(sys.argv[1])
    for name in ("datasets", "torchao"):
        stand_in(name)
    pcre = types.ModuleType("pcre")
    pcre.__dict__.update({name: getattr(re, name) for name in dir(re) if not name.startswith("__")})
    pcre.Flag = Flags()
    pcre.compile = lambda pattern, *given, flags=0, **_: re.compile(pattern, given[0] if given else flags)
    stand_in("pcre", pcre)
    without_init(sources / "auto_gptq", "auto_gptq", "auto_gptq.nn_modules", "auto_gptq.nn_modules.qlinear")
    for folder in sources.glob("autoawq-*"):
        without_init(folder, "awq", "awq.utils")
    sys.path[:0] = map(str, sources.glob("gptqmodel-*"))
    script = pathlib.Path(__file__).with_name("references.py")
    sys.argv = [str(script), *sys.argv[2:]]
    runpy.run_path(str(script), run_name="__main__")


main()
