// The approximate instructions of an emulated GPU: isa's model, for code that was compiled apart.
#pragma once

namespace tilevm::backend {

/// `mnemonic` is an instruction of this name, `type` one of the types that it is defined on: "f16",
/// "bf16", "f32" or "f64". The function works on codes; the second one counts if there are two
/// operands.
[[nodiscard]] unsigned long long (*find_approximation(const char* mnemonic,
                                                      const char* type))(unsigned long long a,
                                                                         unsigned long long b);

}  // namespace tilevm::backend
