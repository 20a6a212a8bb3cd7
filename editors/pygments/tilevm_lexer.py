"""A Pygments lexer for tilevm's programs. Written by editors/generate.py; do not edit.

    pygmentize -x -l editors/pygments/tilevm_lexer.py:TilevmLexer program.tile
"""

import re

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, String, Text


class TilevmLexer(RegexLexer):
    """Lexer of `.tile` files."""

    name = "tilevm"
    aliases = ["tilevm"]
    filenames = ["*.tile"]
    flags = re.MULTILINE
    tokens = {
        "root": [
            (r"""#.*$""", Comment.Single),
            (r"""\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'""", String),
            (r"""(?<=@)\w+""", Name.Decorator),
            (r"""\b0[xX][0-9a-fA-F_]+\b|\b0[bB][01_]+\b|\b0[oO][0-7_]+\b|(?<![\w.])(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?(?!\w)""", Number),
            (r"""(?<=\bdef )\w+|(?<=\bpipeline )\w+""", Name.Function),
            (r"""\b[A-Za-z_]\w*(?==(?!=))""", Name.Attribute),
            (r"""(?<=: )(?:dtype|layout)\b(?= )""", Keyword.Type),
            (r"""(?<=\w=)(?:b1|b2|b3|b4|b5|b6|b7|b8)\b|\b(?:b1|b2|b3|b4|b5|b6|b7|b8)\b(?=\*|\[)|(?<=: |= )(?:b1|b2|b3|b4|b5|b6|b7|b8)\b(?=[^\w]*$)|(?<=, )(?:b1|b2|b3|b4|b5|b6|b7|b8)\b(?=, shape|\))""", Keyword.Type),
            (r"""\b(?:continue|pipeline|include|require|return|False|break|const|false|inout|range|while|True|elif|else|pass|true|with|and|def|for|not|if|in|or)\b""", Keyword),
            (r"""\b(?:CopyAsyncTensorGlobalToShared|CopyAsyncTensorSharedToGlobal|CopyAsyncTensorCommitGroup|CopyAsyncTensorWaitGroup|AtomicCompareExchange|CopyAsyncCommitGroup|DotAsyncCommitGroup|ArriveNamedBarrier|CopyAsyncWaitGroup|SynchronizeCluster|DotAsyncWaitGroup|AllocateRegister|ReleaseSemaphore|SyncNamedBarrier|AllocateBarrier|Exp2Approximate|AllocateGlobal|AllocateShared|AtomicExchange|RsqrtApproxFtz|ArriveCluster|AtomicCombine|ConvertLayout|LockSemaphore|SqrtApproxFtz|ArriveExpect|BlockIndices|CosApproxFtz|DivApproxFtz|Ex2ApproxFtz|Lg2ApproxFtz|RcpApproxFtz|SinApproxFtz|RsqrtApprox|StoreGlobal|StoreShared|Synchronize|WaitBarrier|WaitCluster|DivFullFtz|FenceProxy|LoadGlobal|LoadScalar|LoadShared|SqrtApprox|TanhApprox|ViewGlobal|AtomicAdd|BlockRank|CopyAsync|CosApprox|DivApprox|DotScaled|DotSparse|Ex2Approx|Lg2Approx|RcpApprox|SinApprox|DotAsync|Prefetch|DivFull|Scatter|Sigmoid|Arrive|Assert|Concat|Gather|Lookup|Philox|Reduce|Floor|Print|Round|Rsqrt|Slice|Trunc|Where|Cast|Ceil|Exit|Exp2|Iota|Log2|Scan|Sqrt|Tanh|View|Abs|Add|And|Cos|Div|Dot|Erf|Exp|Fma|Log|Max|Min|Mod|Mul|Neg|Pow|Rcp|Shl|Shr|Sin|Sub|Xor|Eq|Ge|Gt|Le|Lt|Ne|Or)\b(?=\s*\()""", Name.Builtin),
            (r"""\b(?:column_spatial|memory_layout|column_local|column_major|replicated|row_major|spatial|strides|layout|local)\b|(?<=\.)(?:left_divide|unsqueeze|permute|reshape|squeeze|swizzle|divide|reduce)\b""", Name.Builtin.Pseudo),
            (r"""\b(?:f7e4m3u|f3e1m1|f4e1m2|f4e2m1|f5e1m3|f5e2m2|f5e3m1|f6e1m4|f6e2m3|f6e3m2|f6e4m1|f7e1m5|f7e2m4|f7e3m3|f7e4m2|f7e5m1|f8e1m6|f8e2m5|f8e3m4|f8e4m3|f8e5m2|f8e6m1|f8e8m0|bf16|bool|tf32|f16|f32|f64|i16|i32|i64|u16|u32|u64|i1|i2|i3|i4|i5|i6|i7|i8|u1|u2|u3|u4|u5|u6|u7|u8|u?int(?:[1-8]|16|32|64)|b?float(?:16|32|64)|tfloat32|bipolar[1-8]|float[3-8]_e[1-6]m[1-6])\b""", Keyword.Type),
            (r"""\b[A-Za-z_]\w*(?=\()""", Name.Function),
            (r"""\b[A-Za-z_]\w*\b""", Name),
            (r"\s+", Text),
            (r".", Text),
        ]
    }
