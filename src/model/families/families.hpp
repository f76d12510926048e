// The one table of encoder families: a file and a row each.
#pragma once

#include "model/families/family.hpp"

#include <array>

namespace foveal {

namespace families {
Result<TowerSpec> describe_vit(const ModelFolder& folder, const WeightFiles& files);
Result<TowerSpec> describe_dinov2(const ModelFolder& folder, const WeightFiles& files);
Result<TowerSpec> describe_clip(const ModelFolder& folder, const WeightFiles& files);
Result<TowerSpec> describe_siglip(const ModelFolder& folder, const WeightFiles& files);
Result<TowerSpec> describe_qwen2_5_vl(const ModelFolder& folder, const WeightFiles& files);
Result<TowerSpec> describe_qwen3_vl(const ModelFolder& folder, const WeightFiles& files);
}  // namespace families

inline constexpr std::array kFamilies{
    Family{"vit", {"vit"}, families::describe_vit},
    Family{"dinov2", {"dinov2", "dinov2_with_registers"}, families::describe_dinov2},
    Family{"clip", {"clip", "clip_vision_model"}, families::describe_clip},
    Family{"siglip", {"siglip", "siglip_vision_model"}, families::describe_siglip},
    Family{"qwen2_5_vl", {"qwen2_5_vl", "qwen2_5_vl_vision"}, families::describe_qwen2_5_vl},
    Family{"qwen3_vl", {"qwen3_vl", "qwen3_vl_vision"}, families::describe_qwen3_vl},
};

}  // namespace foveal
