// Signals by which the system tells of files. SIGXFSZ is ignored: a write past the limit of file
// sizes is an error like a full disk. SIGBUS comes where a mapped file, weights or an index, was
// cut off by somebody else or its disk failed: a line that says so and exit code 3.
#pragma once

namespace foveal::cli {

void handle_fault_signals();

}  // namespace foveal::cli
