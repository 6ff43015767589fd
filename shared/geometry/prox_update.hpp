#pragma once

namespace undertone::geometry {

/// The two numbers of a proximal step over a mirror map h: from x, with a gradient g, it goes to
///   argmin over y of h(y) - <keep grad h(x) - step_size g, y>.
struct ProxUpdate {
  double step_size;  // > 0, finite
  double keep;       // in [0, 1]; 1 but where the objective carries a multiple of h, (k - 1) / (k + 1) at its step k
};

}  // namespace undertone::geometry
