// FILE-14 … FILE-16: which tensors and which numbers make a case of each operation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "oracle/case/case_data.h"

namespace moe4::oracle {

using Metadata = std::map<std::string, std::string>;

std::string value_or(const Metadata& metadata, const std::string& key, std::string fallback);
// FILE-15: the keys that begin with moe4. are ours, the others are anybody's.
Status check_metadata_keys(const Metadata& metadata, const std::vector<std::string>& known);
// FILE-14: the key is there with this value.
Status require_metadata(const Metadata& metadata, const std::string& key, const std::string& due);

// Sets op, weights and the numbers of the operation.
Status read_op(const Metadata& metadata, CaseData& data);
void write_op(const CaseData& data, Metadata& metadata);

// These tensors, no others; moved out of the map.
Status take_tensors(std::map<std::string, Tensor>& tensors, CaseData& data);
std::map<std::string, const Tensor*> tensors_of(const CaseData& data);

// FILE-17: a case line and the tensors beside it say the same. Precondition: validate(data) is empty.
Status check_line(const Case& line, const CaseData& data, const Policy& of_file);

}  // namespace moe4::oracle
