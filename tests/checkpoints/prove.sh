#!/bin/sh
# Proves each checkpoint format against its reference implementation, outside of CI: installs the packages of requirements.txt in a
# temporary folder and runs references.py there. prove.sh --keep also renews tests/data/checkpoints.
#
# Only the modules of AutoGPTQ, AutoAWQ and GPTQModel that unpack and dequantize are imported: their packages want GPUs, older
# versions of transformers, or packages that are of no use here (stubs.py).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip="$folder/venv/bin/pip"
"$pip" install -q torch==2.15.0 transformers==5.24.0 bitsandbytes==0.50.2 compressed-tensors==0.20.0 gguf==0.19.0 \
  safetensors==0.8.0 numpy==2.4.6 device-smi tokenicer logbar threadpoolctl pillow defuser
"$pip" download -q --no-deps --no-build-isolation -d "$folder/source" auto-gptq==0.7.1
"$pip" download -q --no-deps --no-build-isolation --no-binary :all: -d "$folder/source" autoawq==0.2.9 gptqmodel==7.7.0 ||
  echo "the sources of AutoAWQ or GPTQModel are not here; their cases are left out"
for file in "$folder"/source/*.tar.gz; do
  [ ! -f "$file" ] || tar -xf "$file" -C "$folder/source"
done
for file in "$folder"/source/*.whl; do
  [ ! -f "$file" ] || "$folder/venv/bin/python" -m zipfile -e "$file" "$folder/source/auto_gptq"
done
TORCHDYNAMO_DISABLE=1 PYTHONPATH="$here" "$folder/venv/bin/python" "$here/stubs.py" "$folder/source" "$folder/checkpoints" "$@"
