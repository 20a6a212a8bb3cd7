// The only file that compiles fmt's templates. Debian has fmt as a shared library only, and
// the command must run where that is not installed; compiling fmt into every file costs three
// seconds each. So its inline sources are compiled here once, with the instantiations that other
// files use.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);
#if FMT_VERSION >= 100000  // Debian 13
template void vformat_to(buffer<char>&, string_view, vformat_args<>::type, locale_ref);
#else
template void vformat_to(buffer<char>&, string_view, basic_format_args<FMT_BUFFER_CONTEXT(char)>,
                         locale_ref);
#endif

}  // namespace detail
FMT_END_NAMESPACE
