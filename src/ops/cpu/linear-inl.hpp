// The linear layer of one block, included by each instruction set's unit after its Vec and the
// activations. A register tile of up to kTileRows rows by one panel of two vectors sums K in order;
// rows of `in` are read in place by broadcast, panels stream.
//
// Packed panel: for each k the panel's 2 * kLanes columns. f32: in order. bf16: kLanes words of 32
// bits, word i holds column i in its low half and column kLanes + i in its high half, so that a
// shift and a mask widen both.
//
// bf16 weights are widened and multiplied by FMA (a product of two bf16 is exact in f32): the
// rounding is that of f32 sums, alike on every machine. VDPBF16PS flushes subnormals and rounds
// pairs its own way, and on some CPUs has half the rate; it would make bits depend on the machine.

namespace {

constexpr int kPanelColumns = 2 * Vec::kLanes;
// K is summed in stretches of this length, and the stretches one after the other: shorter chains of
// roundings at the price of one addition a stretch. Decides the bits of every row.
constexpr std::int64_t kStretch = 512;

struct F32Weights {
  using Element = float;
  static inline void load(const float* p, F& lo, F& hi) {
    lo = Vec::load(p);
    hi = Vec::load(p + Vec::kLanes);
  }
};

struct Bf16Weights {
  using Element = std::uint16_t;
  static inline void load(const std::uint16_t* p, F& lo, F& hi) { Vec::load_bf16_pairs(p, lo, hi); }
};

// A stretch [begin, end) of K, and what lies packed one panel further: `ahead` is fetched into L2,
// a cache line for each k, while the registers are busy. May be any readable or unreadable address.
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t k = 0;  // of all stretches
  const char* ahead = nullptr;
};

// tile (kRows, kPanels * kPanelColumns) = or, past the first stretch, += in (kRows, k) times
// kPanels neighbouring panels, over one stretch of K.
template <class Weights, int kRows, int kPanels>
void multiply(const float* in, std::int64_t in_stride, const Stretch& stretch,
              const typename Weights::Element* panels, float* tile) {
  const std::int64_t panel_step = stretch.k * kPanelColumns;
  const std::int64_t begin = stretch.begin;
  const std::int64_t end = stretch.end;
  const char* ahead = stretch.ahead;
  F sum[kRows][2 * kPanels];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < 2 * kPanels; ++c) {
      sum[r][c] = Vec::set(0.0F);
    }
  }
  for (std::int64_t i = begin; i < end; ++i) {
    F w[2 * kPanels];
#pragma GCC unroll 16
    for (int p = 0; p < kPanels; ++p) {
      Weights::load(panels + p * panel_step + i * kPanelColumns, w[2 * p], w[2 * p + 1]);
    }
    __builtin_prefetch(ahead + (i - begin) * 64, 0, 2);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const F x = Vec::set(in[r * in_stride + i]);
#pragma GCC unroll 16
      for (int c = 0; c < 2 * kPanels; ++c) {
        sum[r][c] = Vec::fma(x, w[c], sum[r][c]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < 2 * kPanels; ++c) {
      float* to = tile + (r * 2 * kPanels + c) * Vec::kLanes;
      Vec::store(to, begin == 0 ? sum[r][c] : Vec::add(Vec::load(to), sum[r][c]));
    }
  }
}

// Where a tile's epilogue stands: row and column within the block, and its valid extent.
struct TileAt {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;  // valid ones
  std::int64_t stride = 0;   // of the tile, in elements
};

// out = residual + scale * (activation(tile + bias) [* (up + up_bias)])
template <Activation kActivation>
void finish(const LinearBlock& b, const float* tile, const float* up, const TileAt& at) {
  for (std::int64_t c = 0; c < at.columns; c += Vec::kLanes) {
    const std::int64_t left = at.columns - c;
    const std::int64_t n = left < Vec::kLanes ? left : Vec::kLanes;
    const std::int64_t column = at.column + c;
    const F zero = Vec::set(0.0F);
    const F bias = b.bias != nullptr ? Vec::load_n(b.bias + column, n) : zero;
    const F up_bias = b.up_bias != nullptr ? Vec::load_n(b.up_bias + column, n) : zero;
    const F factor = b.scale != nullptr ? Vec::load_n(b.scale + column, n) : zero;
    for (std::int64_t r = 0; r < at.rows; ++r) {
      F x = activate<kActivation>(Vec::add(Vec::load(tile + r * at.stride + c), bias));
      if (up != nullptr) {
        x = Vec::mul(x, Vec::add(Vec::load(up + r * at.stride + c), up_bias));
      }
      if (b.scale != nullptr) {
        x = Vec::mul(x, factor);
      }
      const std::int64_t row = at.row + r;
      if (b.residual != nullptr) {
        x = Vec::add(x, Vec::load_n(b.residual + row * b.residual_stride + column, n));
      }
      if (b.out_f32 != nullptr) {
        Vec::store_n(b.out_f32 + row * b.out_stride + column, x, n);
      } else {
        Vec::store_bf16_n(b.out_bf16 + row * b.out_stride + column, x, n);
      }
    }
  }
}

void finish_any(const LinearBlock& b, const float* tile, const float* up, const TileAt& at) {
  switch (b.activation) {
    case Activation::kNone:
      return finish<Activation::kNone>(b, tile, up, at);
    case Activation::kGelu:
      return finish<Activation::kGelu>(b, tile, up, at);
    case Activation::kGeluTanh:
      return finish<Activation::kGeluTanh>(b, tile, up, at);
    case Activation::kQuickGelu:
      return finish<Activation::kQuickGelu>(b, tile, up, at);
    case Activation::kSilu:
      return finish<Activation::kSilu>(b, tile, up, at);
    case Activation::kTanh:
      return finish<Activation::kTanh>(b, tile, up, at);
    case Activation::kRelu:
      return finish<Activation::kRelu>(b, tile, up, at);
  }
}

template <class Weights>
using Multiply = void (*)(const float*, std::int64_t, const Stretch&,
                          const typename Weights::Element*, float*);

// of[r] multiplies r rows by one panel.
template <class Weights, int... kRows>
struct OnePanel {
  Multiply<Weights> of[sizeof...(kRows) + 1] = {nullptr, multiply<Weights, kRows, 1>...};
};

// One or two rows by one panel are too few sums to fill the FMA units: they take several panels at
// once.
constexpr int kWidePanels = 4;

template <class Weights>
Multiply<Weights> multiply_for(std::int64_t rows, std::int64_t panels) {
  constexpr TileRows<OnePanel, Weights> kOne{};
  if (panels == 1) {
    return kOne.of[rows];
  }
  return rows == 1 ? multiply<Weights, 1, kWidePanels> : multiply<Weights, 2, kWidePanels>;
}

// Fetches for writing what the tile's epilogue will write, long before it does.
inline void fetch_output(const LinearBlock& b, const TileAt& at) {
  const std::int64_t size = b.out_f32 != nullptr ? 4 : 2;
  const char* out = b.out_f32 != nullptr ? reinterpret_cast<const char*>(b.out_f32)
                                         : reinterpret_cast<const char*>(b.out_bf16);
  for (std::int64_t r = at.row; r < at.row + at.rows; ++r) {
    const char* row = out + (r * b.out_stride + at.column) * size;
    for (std::int64_t byte = 0; byte < at.columns * size; byte += 64) {
      __builtin_prefetch(row + byte, 1, 3);
    }
  }
}

// One stretch of the block's rows by `panels` neighbouring panels, the first at column `column`.
template <class Weights>
void multiply_panels(const LinearBlock& b, Stretch stretch, std::int64_t column,
                     std::int64_t panels) {
  using Element = typename Weights::Element;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(Element));
  const std::int64_t width = panels * kPanelColumns;
  const std::int64_t length = stretch.end - stretch.begin;
  const bool first = stretch.begin == 0;
  const bool last = stretch.end == b.k;
  const auto* weights = static_cast<const Element*>(b.weights) + column * b.k;
  const auto* up_weights =
      b.up_weights != nullptr ? static_cast<const Element*>(b.up_weights) + column * b.k : nullptr;
  float* up_sums =
      b.sums + (b.columns + kPanelColumns - 1) / kPanelColumns * kPanelColumns * b.rows;
  // The first tiles fetch this stretch of the next panels, the others what is there already.
  const auto ahead = [&](const Element* panel, std::int64_t tile) {
    const char* here = reinterpret_cast<const char*>(panel + stretch.begin * kPanelColumns);
    const std::int64_t fetched = tile * length * 64;
    return fetched < length * kPanelColumns * kSize ? here + width * b.k * kSize + fetched : here;
  };

  // Tiles of nearly equal heights: 13 rows are 7 and 6, not 12 and a single one that waits on its
  // own sums.
  const std::int64_t tiles = (b.rows + kTileRows - 1) / kTileRows;
  for (std::int64_t t = 0; t < tiles; ++t) {
    const std::int64_t row = b.rows * t / tiles;
    const std::int64_t rows = b.rows * (t + 1) / tiles - row;
    const TileAt at{.row = row,
                    .column = column,
                    .rows = rows,
                    .columns = b.columns - column < width ? b.columns - column : width,
                    .stride = width};
    // Sums of a single stretch are needed once: all tiles use the first one's place, which stays in
    // L1.
    const std::int64_t place = first && last ? 0 : column * b.rows + row * width;
    const float* in = b.in + row * b.in_stride;
    const Multiply<Weights> multiply_tile = multiply_for<Weights>(rows, panels);
    if (last) {
      fetch_output(b, at);
    }
    stretch.ahead = ahead(weights, t);
    multiply_tile(in, b.in_stride, stretch, weights, b.sums + place);
    if (up_weights != nullptr) {
      stretch.ahead = ahead(up_weights, t);
      multiply_tile(in, b.in_stride, stretch, up_weights, up_sums + place);
    }
    if (last) {
      finish_any(b, b.sums + place, up_weights != nullptr ? up_sums + place : nullptr, at);
    }
  }
}

template <class Weights>
void linear(const LinearBlock& b) {
  constexpr std::int64_t kWide = kWidePanels * kPanelColumns;
  // Stretches outermost: a stretch of the rows stays in L2 while all panels pass it.
  for (std::int64_t begin = 0; begin < b.k; begin += kStretch) {
    const Stretch stretch{
        .begin = begin, .end = b.k - begin <= kStretch ? b.k : begin + kStretch, .k = b.k};
    std::int64_t column = 0;
    for (; b.rows <= 2 && b.columns - column > kWide - kPanelColumns; column += kWide) {
      multiply_panels<Weights>(b, stretch, column, kWidePanels);
    }
    for (; column < b.columns; column += kPanelColumns) {
      multiply_panels<Weights>(b, stretch, column, 1);
    }
  }
}

// Column that slot j of a bf16 panel holds: halves interleaved, see above.
constexpr std::int64_t bf16_column(int slot) {
  return slot / 2 + (slot % 2) * Vec::kLanes;
}

void pack_f32(const float* rows, std::int64_t count, std::int64_t k, float* panel) {
  constexpr std::int64_t kStep = 16;  // of k: a cache line of each row at a time
  for (std::int64_t begin = 0; begin < k; begin += kStep) {
    const std::int64_t end = k - begin < kStep ? k : begin + kStep;
    for (std::int64_t j = 0; j < kPanelColumns; ++j) {
      for (std::int64_t i = begin; i < end; ++i) {
        panel[i * kPanelColumns + j] = j < count ? rows[j * k + i] : 0.0F;
      }
    }
  }
}

void pack_bf16(const float* rows, std::int64_t count, std::int64_t k, std::uint16_t* panel) {
  for (std::int64_t i = 0; i < k; ++i) {
    for (int slot = 0; slot < kPanelColumns; ++slot) {
      const std::int64_t j = bf16_column(slot);
      panel[i * kPanelColumns + slot] = j < count ? bf16_bits(rows[j * k + i]) : std::uint16_t{0};
    }
  }
}

constexpr KernelTable table() {
  KernelTable t;
  t.panel_columns = kPanelColumns;
  t.tile_rows = kTileRows;
  t.stretch = kStretch;
  t.linear_f32 = linear<F32Weights>;
  t.linear_bf16 = linear<Bf16Weights>;
  t.pack_f32 = pack_f32;
  t.pack_bf16 = pack_bf16;
  t.layer_norm = layer_norm;
  t.rms_norm = rms_norm;
  t.rope_half = rope_half;
  t.rope_interleaved = rope_interleaved;
  t.convert = convert;
  t.add = add;
  t.scale = scale;
  return t;
}

}  // namespace
