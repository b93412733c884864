/* mxfp4_expert_linear in one C file without any library: a case file in, a result file out.
 *
 *     cc -O2 -std=c11 -ffp-contract=off docs/examples/c/expert_linear.c -o expert_linear -lm
 *     ./expert_linear case.safetensors result.safetensors
 *     moe4 check case.safetensors result.safetensors --order seq --products rounded
 *
 * F32 and BF16 tokens, F32 mixture weights, shared output of the tokens' dtype, I32 ids. Sums in FP32, in the order of i,
 * every product rounded; one rounding to the output at the end.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what) {
  fprintf(stderr, "expert_linear: %s\n", what);
  exit(2);
}

/* --- safetensors: 8 bytes of length, a JSON header, the data. moe4 writes it without blanks, keys sorted. --- */
typedef struct {
  char dtype[8];
  long shape[4];
  const unsigned char *data;
} Tensor;

static Tensor find(const char *header, const unsigned char *data, const char *name) {
  Tensor tensor = {"", {1, 1, 1, 1}, NULL};
  char key[64];
  snprintf(key, sizeof key, "\"%s\":{", name);
  const char *entry = strstr(header, key);
  if (!entry) fail(name);
  const char *dtype = strstr(entry, "\"dtype\":\""), *shape = strstr(entry, "\"shape\":["),
             *offsets = strstr(entry, "\"data_offsets\":[");
  if (!dtype || !shape || !offsets) fail(name);
  sscanf(dtype + 9, "%7[^\"]", tensor.dtype);
  char *at = (char *)shape + 9;
  for (int axis = 0; axis < 4 && *at != ']'; ++axis) {
    tensor.shape[axis] = strtol(at, &at, 10);
    if (*at == ',') ++at;
  }
  tensor.data = data + strtol(offsets + 16, NULL, 10);
  return tensor;
}

/* --- numbers --- */
static float f32_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

static float element(const Tensor *tensor, long n) {
  uint32_t bits = 0;
  if (strcmp(tensor->dtype, "F32") == 0) {
    memcpy(&bits, tensor->data + 4 * n, 4);
    return f32_of(bits);
  }
  if (strcmp(tensor->dtype, "BF16") != 0) fail("a dtype other than F32 and BF16");
  memcpy((unsigned char *)&bits + 2, tensor->data + 2 * n, 2);
  return f32_of(bits);
}

static uint16_t bf16_of(float value) { /* to nearest, ties to even */
  uint32_t bits;
  memcpy(&bits, &value, 4);
  if (value != value) return 0x7FC0;
  return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/* code times 2^(scale-127); 255 is NaN. In double: 6 times 2^127 is beyond float. */
static double weight(unsigned code, unsigned scale) {
  static const double magnitude[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  if (scale == 255) return NAN;
  const double value = ldexp(magnitude[code & 7], (int)scale - 127);
  return code & 8 ? -value : value;
}

int main(int argc, char **argv) {
  if (argc != 3) fail("usage: expert_linear CASE RESULT");
  FILE *in = fopen(argv[1], "rb");
  if (!in) fail("the case cannot be opened");
  uint64_t length;
  if (fread(&length, 8, 1, in) != 1 || length > 1 << 20) fail("no safetensors file");
  fseek(in, 0, SEEK_END);
  const size_t size = (size_t)ftell(in) - 8 - length;
  char *header = calloc(length + 1, 1);
  unsigned char *data = malloc(size + 1);
  fseek(in, 8, SEEK_SET);
  if (fread(header, 1, length, in) != length || fread(data, 1, size, in) != size) fail("the case cannot be read");
  fclose(in);

  const Tensor x = find(header, data, "latent_tokens"), packed = find(header, data, "packed_weights"),
               scales = find(header, data, "scale_bytes"), ids = find(header, data, "selected_experts"),
               p = find(header, data, "mixture_weights"), shared = find(header, data, "shared_output");
  if (strcmp(ids.dtype, "I32") != 0) fail("ids other than I32");
  const long tokens = x.shape[0], width = x.shape[1], groups = width / 32, outs = packed.shape[1],
             top_k = ids.shape[1];
  const int bf16 = strcmp(x.dtype, "BF16") == 0;
  unsigned char *output = malloc((size_t)(tokens * outs * 4 + 1));

  for (long t = 0; t < tokens; ++t) {
    for (long o = 0; o < outs; ++o) {
      float y = element(&shared, t * outs + o);
      for (long j = 0; j < top_k; ++j) {
        int32_t expert;
        memcpy(&expert, ids.data + 4 * (t * top_k + j), 4);
        const long row = expert * outs + o;
        float dot = 0;
        for (long i = 0; i < width; ++i) {
          const unsigned byte = packed.data[row * width / 2 + i / 2];
          const unsigned code = i % 2 == 0 ? byte & 15 : byte >> 4;
          /* Exact in double, rounded once to float. */
          const float product = (float)(weight(code, scales.data[row * groups + i / 32]) * element(&x, t * width + i));
          dot += product;
        }
        const float term = element(&p, t * top_k + j) * dot;
        y += term;
      }
      if (bf16) {
        const uint16_t bits = bf16_of(y);
        memcpy(output + 2 * (t * outs + o), &bits, 2);
      } else {
        memcpy(output + 4 * (t * outs + o), &y, 4);
      }
    }
  }

  FILE *out = fopen(argv[2], "wb");
  if (!out) fail("the result cannot be opened");
  const long bytes = tokens * outs * (bf16 ? 2 : 4);
  char text[256];
  const int text_length = snprintf(text, sizeof text,
                                   "{\"output\":{\"dtype\":\"%s\",\"shape\":[%ld,%ld],\"data_offsets\":[0,%ld]}}",
                                   bf16 ? "BF16" : "F32", tokens, outs, bytes);
  const uint64_t stored = (uint64_t)text_length;
  if (fwrite(&stored, 8, 1, out) != 1 || fwrite(text, 1, stored, out) != stored ||
      fwrite(output, 1, (size_t)bytes, out) != (size_t)bytes || fclose(out) != 0) {
    fail("the result cannot be written");
  }
  return 0;
}
