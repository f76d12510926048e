// Activations on one vector, included by each instruction set's unit after its Vec. Polynomials are
// our own minimax fits (tools/fit_activations.py prints them); the bounds named here are theirs,
// before rounding. NaN in, NaN out. Vec::min(a, x) and Vec::max(a, x) give x where x is NaN.

namespace {

using F = Vec::F;

// e^x within 1.5 ulp from -87 to 88; 0 below -104, inf above 88.73, subnormals between.
inline F exp(F x) {
  // Past these bounds the scaling below gives 0 and inf by itself; the clamp keeps the exponent an
  // int.
  x = Vec::min(Vec::set(100.0F), Vec::max(Vec::set(-110.0F), x));
  const F n = Vec::round(Vec::mul(x, Vec::set(1.44269504F)));
  // ln 2 in two parts, the first of 9 bits: n * 0.693359375 is exact also without FMA.
  F r = Vec::fma(n, Vec::set(-0.693359375F), x);
  r = Vec::fma(n, Vec::set(2.12194440e-4F), r);
  // e^r = 1 + r + r^2 q(r) on |r| <= ln(2)/2, relative error 3.1e-9.
  F q = Vec::set(1.38145e-3F);
  q = Vec::fma(q, r, Vec::set(8.36874917e-3F));
  q = Vec::fma(q, r, Vec::set(4.16683890e-2F));
  q = Vec::fma(q, r, Vec::set(1.66665196e-1F));
  q = Vec::fma(q, r, Vec::set(4.99999940e-1F));
  const F p = Vec::add(Vec::fma(Vec::mul(r, r), q, r), Vec::set(1.0F));
  return Vec::scale2(p, n);
}

// x / (1 + e^-y): x times the logistic function of y.
inline F logistic_times(F x, F y) {
  return Vec::div(x, Vec::add(Vec::set(1.0F), exp(Vec::sub(Vec::set(0.0F), y))));
}

// x Phi(x) = max(x, 0) - |x| Q(|x|), Q(t) = erfc(t / sqrt 2) / 2 = e^(-t^2/2) R(t): no cancellation
// on either side. R is a polynomial in 1 / (1 + t/4), relative error 5.7e-8 up to t = 14, where Q
// is 0 in float.
inline F gelu(F x) {
  const F t = Vec::min(Vec::set(20.0F), Vec::abs(x));  // keeps inf * 0 out
  const F s = Vec::div(Vec::set(1.0F), Vec::fma(t, Vec::set(0.25F), Vec::set(1.0F)));
  F r = Vec::set(0.02572330415546746F);
  r = Vec::fma(r, s, Vec::set(-0.1528082493334024F));
  r = Vec::fma(r, s, Vec::set(0.2961192569188026F));
  r = Vec::fma(r, s, Vec::set(-0.20577991935152676F));
  r = Vec::fma(r, s, Vec::set(0.20175578946836256F));
  r = Vec::fma(r, s, Vec::set(0.03292904497292242F));
  r = Vec::fma(r, s, Vec::set(0.10374637555126504F));
  r = Vec::fma(r, s, Vec::set(0.09851689095508795F));
  r = Vec::fma(r, s, Vec::set(0.0997974782451477F));
  r = Vec::mul(r, s);
  const F tail = Vec::mul(exp(Vec::mul(Vec::mul(t, t), Vec::set(-0.5F))), r);
  return Vec::sub(Vec::max(Vec::set(0.0F), x), Vec::mul(t, tail));
}

// x (1 + tanh u) / 2 = x / (1 + e^-2u), u = sqrt(2/pi) (x + 0.044715 x^3).
inline F gelu_tanh(F x) {
  const F square = Vec::mul(x, x);
  const F inner = Vec::fma(square, Vec::set(0.044715F * 1.5957691216F), Vec::set(1.5957691216F));
  return logistic_times(x, Vec::mul(x, inner));
}

// Odd polynomial up to 0.625 (relative error 6.8e-9), where 1 - 2/(1 + e^2|x|) would cancel; the
// latter beyond.
inline F tanh(F x) {
  const F t = Vec::abs(x);
  const F z = Vec::mul(x, x);
  F q = Vec::set(-0.00551515840F);
  q = Vec::fma(q, z, Vec::set(0.0204694193F));
  q = Vec::fma(q, z, Vec::set(-0.0536880195F));
  q = Vec::fma(q, z, Vec::set(0.133308297F));
  q = Vec::fma(q, z, Vec::set(-0.333332605F));
  const F near = Vec::fma(Vec::mul(z, x), q, x);
  const F e = exp(Vec::add(t, t));
  const F far = Vec::sub(Vec::set(1.0F), Vec::div(Vec::set(2.0F), Vec::add(e, Vec::set(1.0F))));
  return Vec::select_less(t, Vec::set(0.625F), near, Vec::copy_sign(far, x));
}

template <Activation kActivation>
inline F activate(F x) {
  if constexpr (kActivation == Activation::kGelu) {
    return gelu(x);
  } else if constexpr (kActivation == Activation::kGeluTanh) {
    return gelu_tanh(x);
  } else if constexpr (kActivation == Activation::kQuickGelu) {
    return logistic_times(x, Vec::mul(x, Vec::set(1.702F)));
  } else if constexpr (kActivation == Activation::kSilu) {
    return logistic_times(x, x);
  } else if constexpr (kActivation == Activation::kTanh) {
    return tanh(x);
  } else if constexpr (kActivation == Activation::kRelu) {
    return Vec::max(Vec::set(0.0F), x);
  } else {
    return x;
  }
}

}  // namespace
