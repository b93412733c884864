// W of LIN-1 and RTE-1: the weight of expert e, output o, element i in either format. What the models of all
// operations that multiply with weights have in common; each step can be planted wrong.
#pragma once

#include <cstdint>

#include "tests/support/slow_model/int4.h"
#include "tests/support/slow_model/layer.h"

namespace slow_model {

class LayerModel {
 public:
  virtual ~LayerModel() = default;

 protected:
  Extended weight_at(const Layer& layer, std::int64_t expert, std::int64_t o, std::int64_t i) const;

  // The code in either format.
  virtual int code(const Layer& layer, std::int64_t expert, std::int64_t o, std::int64_t i) const;

  // mxfp4
  virtual std::uint8_t scale_byte(const Layer& layer, std::int64_t expert, std::int64_t o,
                                  std::int64_t i) const;
  virtual Extended weight(const Layer& layer, int code, std::uint8_t scale_byte) const;

  // int4
  virtual std::uint16_t scale(const Layer& layer, std::int64_t expert, std::int64_t o, std::int64_t i) const;
  virtual ShortNumber weight_of_scale(const Layer& layer, int code, std::uint16_t scale) const;
};

}  // namespace slow_model
