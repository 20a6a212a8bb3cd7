" Written by editors/generate.py; do not edit.
if exists("b:current_syntax") | finish | endif
syntax keyword tilevmKeyword const require def pipeline for while with include if elif else break continue pass return in and or not true True false False range inout
syntax keyword tilevmInstruction BlockIndices LoadScalar AllocateGlobal AllocateShared AllocateRegister Iota Philox ViewGlobal LoadGlobal LoadShared StoreGlobal StoreShared Prefetch Gather Scatter CopyAsync CopyAsyncCommitGroup CopyAsyncWaitGroup CopyAsyncTensorGlobalToShared CopyAsyncTensorSharedToGlobal CopyAsyncTensorCommitGroup CopyAsyncTensorWaitGroup Add Sub Mul Div Mod Fma Neg Abs Min Max And Or Xor Shl Shr Eq Ne Lt Le Gt Ge Where Exp2 Exp Log2 Log Sin Cos Tanh Sigmoid Sqrt Rsqrt Rcp Floor Ceil Round Trunc Erf Exp2Approximate Pow Ex2Approx Ex2ApproxFtz Lg2Approx Lg2ApproxFtz RcpApprox RcpApproxFtz RsqrtApprox RsqrtApproxFtz SqrtApprox SqrtApproxFtz SinApprox SinApproxFtz CosApprox CosApproxFtz TanhApprox DivFull DivFullFtz DivApprox DivApproxFtz Cast View ConvertLayout Dot DotSparse DotScaled DotAsync DotAsyncCommitGroup DotAsyncWaitGroup Slice Concat Lookup Reduce Scan Synchronize LockSemaphore ReleaseSemaphore AtomicAdd AtomicCombine AtomicExchange AtomicCompareExchange Exit AllocateBarrier Arrive ArriveExpect WaitBarrier FenceProxy SyncNamedBarrier ArriveNamedBarrier BlockRank SynchronizeCluster ArriveCluster WaitCluster Print Assert
syntax keyword tilevmLayout local spatial column_local column_spatial replicated row_major column_major layout memory_layout strides reduce permute reshape squeeze unsqueeze divide left_divide swizzle
syntax keyword tilevmType i1 i2 i3 i4 i5 i6 i7 i8 i16 i32 i64 u1 u2 u3 u4 u5 u6 u7 u8 u16 u32 u64 f16 bf16 tf32 f32 f64 f8e6m1 f8e5m2 f8e4m3 f8e3m4 f8e2m5 f8e1m6 f7e5m1 f7e4m2 f7e3m3 f7e2m4 f7e1m5 f6e4m1 f6e3m2 f6e2m3 f6e1m4 f5e3m1 f5e2m2 f5e1m3 f4e2m1 f4e1m2 f3e1m1 b1 b2 b3 b4 b5 b6 b7 b8 f8e8m0 f7e4m3u bool
syntax match tilevmDecorator "@\w\+"
syntax match tilevmNumber "\<\d[0-9a-fA-FxXob_.]*\>"
syntax match tilevmComment "#.*$"
syntax region tilevmString start=+"+ skip=+\\"+ end=+"+ oneline
highlight default link tilevmKeyword Keyword
highlight default link tilevmInstruction Function
highlight default link tilevmLayout Macro
highlight default link tilevmType Type
highlight default link tilevmDecorator PreProc
highlight default link tilevmNumber Number
highlight default link tilevmComment Comment
highlight default link tilevmString String
let b:current_syntax = "tilevm"
