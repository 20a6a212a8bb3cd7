"""vllm_interface.py FOLDER: compares tilevm.vllm_plugin with vLLM's own source, outside of CI. FOLDER has the unpacked wheel:

    pip download --no-deps vllm==0.33.0 && python -m zipfile -e vllm-0.33.0-*.whl FOLDER

vLLM itself needs a GPU's packages to be imported. What is read without it: the abstract methods of its base classes and their
parameters, the names that the plugin imports, and the group of entry points.
"""

import ast
import pathlib
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = "vllm/model_executor/layers"


def classes_of(path):
    """The classes of a file, also within functions, by name."""
    return {node.name: node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)}


def methods_of(node):
    return {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}


def is_abstract(function):
    return any("abstractmethod" in ast.unparse(each) for each in function.decorator_list)


def names_of(function):
    a = function.args
    return [each.arg for each in (*a.posonlyargs, *a.args)], a.kwarg is not None


def main():
    folder = pathlib.Path(sys.argv[1])
    own = classes_of(ROOT / "python" / "tilevm" / "vllm_plugin.py")
    base = classes_of(folder / LAYERS / "quantization" / "base_config.py")
    linear = classes_of(folder / LAYERS / "linear.py")
    for mine, theirs in ((own["TilevmConfig"], base["QuantizationConfig"]), (own["TilevmLinearMethod"], linear["LinearMethodBase"])):
        have = methods_of(mine)
        for name, function in methods_of(theirs).items():
            if is_abstract(function):
                assert name in have, f"{mine.name} lacks {name}"
                assert names_of(have[name]) == names_of(function), (name, names_of(have[name]), names_of(function))
                print(f"{mine.name}.{name}: as {theirs.name}")
    assert names_of(methods_of(own["TilevmLinearMethod"])["process_weights_after_loading"]) == \
        names_of(methods_of(base["QuantizeMethodBase"])["process_weights_after_loading"])
    assert {"LinearBase", "UnquantizedLinearMethod"} <= set(linear)
    text = (folder / LAYERS / "quantization" / "__init__.py").read_text()
    assert "def register_quantization_config(" in text
    assert "self.tp_rank" in (folder / LAYERS / "linear.py").read_text() and "self.tp_size" in (folder / LAYERS / "linear.py").read_text()
    group = next(n.value.value for n in ast.walk(ast.parse((folder / "vllm" / "plugins" / "__init__.py").read_text()))
                 if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "DEFAULT_PLUGINS_GROUP")
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert entries[group] == {"tilevm": "tilevm.vllm_plugin:register"}
    print(f"entry point: {group}")
    print("1 passed, 0 failed")


main()
