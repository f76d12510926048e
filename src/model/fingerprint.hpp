// What decides the numbers of a loaded model, as a JSON object that is the same on every machine.
#pragma once

#include "model/spec.hpp"
#include "model/weights.hpp"

#include <set>
#include <string>

namespace foveal {

// used: the tensors that the tower read, names as in the files.
std::string model_fingerprint(const TowerSpec& spec, const WeightFiles& files,
                              const std::set<std::string>& used);

}  // namespace foveal
