/* A plug-in in C: expert_linear, MXFP4 weights, BF16 tokens, sums in FP32. A real one would launch its kernel
 * here. */
#include <math.h>
#include <string.h>

#include <oracle/subject/plugin.h>

static float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float from_bf16(uint16_t bits) { return from_bits((uint32_t)bits << 16); }

static uint16_t to_bf16(float value) { /* to nearest, ties to even */
  uint32_t bits;
  if (isnan(value)) return 0x7FC0;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

static const double e2m1[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};

/* Sum over i of W[i] * x[i]: each product rounded to FP32, added in the order of i. */
static float dot(const uint8_t* packed, const uint8_t* scales, const uint16_t* x, int64_t in) {
  float sum = 0;
  for (int64_t i = 0; i < in; ++i) {
    const unsigned code = packed[i / 2] >> (4 * (i % 2)) & 15;
    const double scale = scales[i / 32] == 255 ? (double)NAN : ldexp(1, scales[i / 32] - 127);
    const float product = (float)(e2m1[code] * scale * from_bf16(x[i]));
    sum += product;
  }
  return sum;
}

static int run(const moe4_case* c, const moe4_output* output, char* message, size_t message_size) {
  (void)message, (void)message_size; /* my_kernel.json keeps away what it does not compute */
  const uint16_t *x = c->latent_tokens.data, *shared = c->shared_output.data;
  const uint8_t *packed = c->packed_weights.data, *scales = c->scales.data;
  const int32_t* experts = c->selected_experts.data;
  const float* p = c->mixture_weights.data;
  uint16_t* y = output->data;
  const int64_t tokens = c->latent_tokens.shape[0], slots = c->selected_experts.shape[1];
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t o = 0; o < c->out; ++o) {
      float sum = from_bf16(shared[t * c->out + o]);
      for (int64_t j = 0; j < slots; ++j) {
        const int64_t row = experts[t * slots + j] * c->out + o;
        const float product =
            p[t * slots + j] * dot(packed + row * c->in / 2, scales + row * c->in / 32, x + t * c->in, c->in);
        sum += product;
      }
      y[t * c->out + o] = to_bf16(sum);
    }
  }
  return MOE4_OK;
}

const moe4_plugin* moe4_plugin_entry(void) {
  static const moe4_plugin plugin = {MOE4_PLUGIN_ABI, sizeof(moe4_plugin), run};
  return &plugin;
}
