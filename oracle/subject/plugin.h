/* The C interface of a plug-in subject: a shared library that moe4 loads in a process of its own and judges
 * (docs/plugin.md). C99 and C++; needs no other header of moe4.
 *
 * The library exports moe4_plugin_entry. Versions: a library says in `abi` which version of this header it
 * was built with, and moe4 refuses another one. Structures begin with their own size; fields are only ever
 * added at their ends, so that `size` tells which there are.
 */
#ifndef MOE4_ORACLE_SUBJECT_PLUGIN_H
#define MOE4_ORACLE_SUBJECT_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOE4_PLUGIN_ABI 1u

/* BF16, F16: 16-bit encodings. MOE4_NONE: the case has no such tensor. */
enum {
  MOE4_NONE = 0,
  MOE4_U8 = 1,
  MOE4_I32 = 2,
  MOE4_I64 = 3,
  MOE4_BF16 = 4,
  MOE4_F16 = 5,
  MOE4_F32 = 6,
  MOE4_F64 = 7
};

/* docs/spec/linear.md and docs/spec/routing.md */
enum {
  MOE4_EXPERT_LINEAR = 1,
  MOE4_INDEXED = 2,
  MOE4_GROUPED_CONTIGUOUS = 3,
  MOE4_GROUPED_MASKED = 4,
  MOE4_COMBINE = 5
};

/* docs/spec/formats.md and docs/spec/int4.md */
enum { MOE4_MXFP4 = 1, MOE4_INT4 = 2 };

/* Contiguous and row-major, in host memory, little-endian; `data` is aligned to 64 bytes, and the pages
 * around the tensor cannot be touched. Without elements, `data` must not be used. */
typedef struct moe4_tensor {
  uint32_t dtype;
  uint32_t rank;
  const int64_t* shape;
  const void* data;
} moe4_tensor;

/* What to compute. Which tensors there are depends on op and weights (docs/spec/case_file.md, FILE-16).
 * Letters: T tokens, E experts, I input width, O output width, K top_k. Nothing here may be written to. */
typedef struct moe4_case {
  uint32_t size; /* sizeof(moe4_case) of the caller */
  uint32_t op;
  uint32_t weights;
  const char* line;   /* the case line, docs/spec/case_line.md */
  const char* policy; /* corner policies that differ from the norm, docs/spec/corners.md; "" is the norm */
  const char* layout; /* of packed_weights and scales, docs/spec/layouts.md: row_major, compressed_tensors,
                         gguf ... */
  int64_t experts, in, out; /* E of packed_weights, I, O; combine: 0, 0, O */
  int64_t top_k, block_m;   /* indexed; else 0 */
  int64_t expected_m;       /* grouped_masked; else 0 */
  moe4_tensor latent_tokens, packed_weights;
  moe4_tensor scales; /* scale_bytes U8 of mxfp4, scales BF16 of int4; MOE4_NONE where the layout puts them
                         among the codes */
  moe4_tensor selected_experts, mixture_weights, shared_output;
  moe4_tensor sorted_ids, expert_ids, num_tokens_padded; /* indexed */
  moe4_tensor m_indices;                                 /* grouped_contiguous */
  moe4_tensor masked_m;                                  /* grouped_masked */
  moe4_tensor rows;                                      /* combine */
} moe4_case;

/* Where to: dtype and shape as the operation has them. The memory holds garbage: what is not written is
 * noticed. */
typedef struct moe4_output {
  uint32_t size; /* sizeof(moe4_output) of the caller */
  uint32_t dtype;
  uint32_t rank;
  const int64_t* shape;
  void* data;
} moe4_output;

enum {
  MOE4_OK = 0,
  MOE4_UNSUPPORTED = 1, /* this library does not compute such a case */
  MOE4_ERROR = 2        /* it should have, but could not */
};

typedef struct moe4_plugin {
  uint32_t abi;  /* MOE4_PLUGIN_ABI */
  uint32_t size; /* sizeof(moe4_plugin) */
  /* Computes one case; returns MOE4_OK, MOE4_UNSUPPORTED or MOE4_ERROR. For the last two a reason may be put
   * into `message`, which has room for message_size bytes with the zero at the end. Called from one thread,
   * twice for each case, with different garbage in the output. */
  int (*run)(const moe4_case* c, const moe4_output* output, char* message, size_t message_size);
} moe4_plugin;

/* The one symbol that the library exports. What it returns stays valid. */
__attribute__((visibility("default"))) const moe4_plugin* moe4_plugin_entry(void);

#ifdef __cplusplus
}
#endif

#endif
