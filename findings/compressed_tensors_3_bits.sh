#!/bin/sh
# compressed-tensors 0.20.0 reads other weights of checkpoints that 0.17.0 wrote with 3, 5, 6 or 7 bits, and says nothing.
#
# Up to 0.17 a word holds as many codes as fit whole, 10 of 3 bits; from 0.18 on codes go over the ends of words. The format's
# name, pack-quantized, and the names of tensors stayed. Seen: 191 of 256 codes differ; fails if that changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/codes.py" <<'EOF'
import sys

import torch
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32, unpack_from_int32

torch.manual_seed(0)
codes = torch.randint(-4, 4, (4, 64), dtype=torch.int8)
if sys.argv[1] == "write":
    packed = pack_to_int32(codes, 3)
    assert torch.equal(unpack_from_int32(packed, 3, codes.shape), codes)
    torch.save((codes, packed), sys.argv[2])
else:
    codes, packed = torch.load(sys.argv[2])
    other = (unpack_from_int32(packed, 3, codes.shape) != codes).sum().item()
    print(f"{packed.shape[1]} words of a row; {other} of {codes.numel()} codes are read otherwise")
    assert packed.shape[1] == 7 and other == 191
EOF
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.15.0 transformers==5.24.0 compressed-tensors==0.17.0 numpy==2.4.6 psutil==7.2.2
"$folder/venv/bin/python" "$folder/codes.py" write "$folder/old.pt"
"$folder/venv/bin/pip" install -q compressed-tensors==0.20.0
"$folder/venv/bin/python" "$folder/codes.py" read "$folder/old.pt"
