#include "ops/checks.hpp"

namespace foveal::ops {
namespace {

std::string device_text(Device device) {
  return device.kind == DeviceKind::kCpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

}  // namespace

Status check_device(const Exec& exec) {
  if (exec.device.kind != DeviceKind::kCpu) {
    return Error(ErrorCode::kDeviceUnavailable,
                 {{"device", device_text(exec.device)}, {"reason", "built without CUDA"}});
  }
  return {};
}

Error shape_mismatch(std::string_view tensor, const Shape& got, std::string_view expected) {
  return Error(ErrorCode::kShapeMismatch,
               {{"tensor", tensor}, {"got", got.text()}, {"expected", expected}});
}

Status check_float(std::string_view tensor, DType dtype) {
  if (dtype != DType::kF32 && dtype != DType::kBF16) {
    return Error(ErrorCode::kDtypeUnsupported,
                 {{"what", tensor}, {"dtype", dtype_name(dtype)}, {"expected", "f32, bf16"}});
  }
  return {};
}

Status check_dtype(std::string_view tensor, SameDtype dtypes) {
  if (dtypes.got != dtypes.expected) {
    return Error(ErrorCode::kDtypeMismatch, {{"tensor", tensor},
                                             {"got", dtype_name(dtypes.got)},
                                             {"other", dtypes.other},
                                             {"expected", dtype_name(dtypes.expected)}});
  }
  return {};
}

Status check_layout(const Exec& exec, std::string_view tensor, const ConstTensorView& view) {
  if (view.device != exec.device) {
    return Error(ErrorCode::kDeviceMismatch, {{"tensor", tensor},
                                              {"got", device_text(view.device)},
                                              {"expected", device_text(exec.device)}});
  }
  const int last = view.shape.rank() - 1;
  if (last >= 0 && view.shape[last] > 1 && view.strides[static_cast<std::size_t>(last)].v != 1) {
    std::string strides;
    for (int i = 0; i <= last; ++i) {
      strides +=
          (i == 0 ? "(" : ", ") + std::to_string(view.strides[static_cast<std::size_t>(i)].v);
    }
    return Error(ErrorCode::kStrideUnsupported, {{"tensor", tensor}, {"strides", strides + ")"}});
  }
  return {};
}

Status check_matrix(const Exec& exec, std::string_view tensor, const ConstTensorView& view,
                    Extent2 extent) {
  if (view.shape != Shape{extent.rows, extent.columns}) {
    return shape_mismatch(tensor, view.shape, Shape{extent.rows, extent.columns}.text());
  }
  return check_layout(exec, tensor, view);
}

}  // namespace foveal::ops
