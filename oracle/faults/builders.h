// The few shapes that faults have: other tensors, other arithmetic, an edited output.
#pragma once

#include <functional>
#include <vector>

#include "oracle/faults/fault.h"

namespace moe4::oracle {

using Plant = Planting::Plant;
using Edit = std::function<void(Scene&, CaseData&)>;
using Arith = std::function<void(Arithmetic&)>;
using OutputEdit = std::function<void(Scene&, SubjectRun&)>;

// The norm of tensors that were altered.
Plant edited(Edit edit);
// The same, but only one row, or one block of 16 rows by 16 columns, of the output is from there.
Planting edited_row(Edit edit);
Planting edited_tile(Edit edit);
// The norm of weights of which those of one place (kWeightRow, kWeightGroup, kWeight) were altered.
Planting altered(Place place, std::function<void(Weights&, const Site&)> change);
// A healthy kernel of another arithmetic than the declared one (where none is promised: once, seq, F32 with
// FMA). No place in cases that cannot have it or are large.
Plant arithmetic(Arith alter);
// The norm's output, altered.
Plant output(OutputEdit edit);
Planting output(Place place, OutputEdit edit);

// The faults of each file of this folder.
std::vector<Fault> scale_faults();     // A, C
std::vector<Fault> code_faults();      // B
std::vector<Fault> tail_faults();      // D, E
std::vector<Fault> routing_faults();   // F, G, K
std::vector<Fault> mixture_faults();   // H
std::vector<Fault> rounding_faults();  // I
std::vector<Fault> inside_faults();    // I, of kernels that promise bits
std::vector<Fault> offset_faults();    // J
std::vector<Fault> memory_faults();    // L, M

}  // namespace moe4::oracle
