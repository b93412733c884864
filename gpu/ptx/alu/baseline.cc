// The handlers for any host.
#define MOE4_SET baseline
#define MOE4_SET_NAME "baseline"
#define MOE4_TARGET
#include "gpu/ptx/alu/instruction_set.inl"
