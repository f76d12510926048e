// A bare number where a unit is due: it would not say which.
#include <foveal/attention/metadata.hpp>

#if defined(MISUSE)
const foveal::PackedSeqs::Equal kEqual{.batch = 2, .seq_len = 64};
#else
const foveal::PackedSeqs::Equal kEqual{.batch = 2, .seq_len = foveal::Tokens(64)};
#endif
