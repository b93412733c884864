#include "reference/accumulate/order.h"

#include <charconv>
#include <optional>

namespace moe4 {
namespace {

// BND-2: sizes beyond these are no order of a kernel; the limits keep plans small.
constexpr std::int64_t kMaxLanes = 4096;
constexpr std::int64_t kMaxWarps = 64;
constexpr std::int64_t kMaxSlices = 4096;
constexpr std::int64_t kMaxSpan = std::int64_t{1} << 30;

Error refuse(std::string_view text, std::string rule) {
  return {"order", std::string(text), "BND-2: " + std::move(rule)};
}

// A positive decimal number without sign or leading zero, consumed from the front of rest.
std::optional<std::int64_t> take_number(std::string_view& rest) {
  if (rest.empty() || rest.front() < '1' || rest.front() > '9') return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc{}) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return value;
}

bool take(std::string_view& rest, std::string_view word) {
  if (!rest.starts_with(word)) return false;
  rest.remove_prefix(word.size());
  return true;
}

bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

// The parsers below get the whole text for messages, and what follows the opening parenthesis of their word.
Result<Order> parse_groups(std::string_view text, std::string_view rest) {
  const auto block = take_number(rest);
  if (!block || !take(rest, ")") || !rest.empty())
    return refuse(text, "write groups(B), for example groups(32)");
  if (*block > kMaxSpan) return refuse(text, "B of groups(B) is at most 2^30");
  return Order{Order::Kind::kGroups, Order::Join::kSeq, *block, 0};
}

Result<Order> parse_lanes(std::string_view text, std::string_view rest) {
  constexpr std::string_view kForm = "write lanes(L,V)+shfl or lanes(L,V)+seq, for example lanes(32,8)+shfl";
  const auto lanes = take_number(rest);
  if (!lanes || !take(rest, ",")) return refuse(text, std::string(kForm));
  const auto span = take_number(rest);
  if (!span || !take(rest, ")+")) return refuse(text, std::string(kForm));
  Order order{Order::Kind::kLanes, Order::Join::kNone, *lanes, *span};
  if (rest == "shfl") {
    order.join = Order::Join::kShfl;
  } else if (rest == "seq") {
    order.join = Order::Join::kSeq;
  } else {
    return refuse(text, std::string(kForm));
  }
  if (*lanes > kMaxLanes) return refuse(text, "L of lanes(L,V) is at most 4096");
  if (*span > kMaxSpan) return refuse(text, "V of lanes(L,V) is at most 2^30");
  if (order.join == Order::Join::kShfl && !is_power_of_two(*lanes)) {
    return refuse(text, "L of lanes(L,V)+shfl is a power of two");
  }
  return order;
}

Result<Order> parse_warps(std::string_view text, std::string_view rest) {
  constexpr std::string_view kForm = "write warps(S,W)+tree, for example warps(64,4)+tree";
  const auto slab = take_number(rest);
  if (!slab || !take(rest, ",")) return refuse(text, std::string(kForm));
  const auto warps = take_number(rest);
  if (!warps || rest != ")+tree") return refuse(text, std::string(kForm));
  if (*slab > kMaxSpan) return refuse(text, "S of warps(S,W) is at most 2^30");
  if (*warps > kMaxWarps || !is_power_of_two(*warps)) {
    return refuse(text, "W of warps(S,W)+tree is a power of two up to 64");
  }
  return Order{Order::Kind::kWarps, Order::Join::kTree, *slab, *warps};
}

// The orders that may stand alone or after "*".
std::optional<Result<Order>> parse_inner(std::string_view text, std::string_view inner) {
  if (take(inner, "groups(")) return parse_groups(text, inner);
  if (take(inner, "lanes(")) return parse_lanes(text, inner);
  if (take(inner, "warps(")) return parse_warps(text, inner);
  return std::nullopt;
}

Result<Order> parse_slices(std::string_view text, std::string_view rest, Order::Slicing slicing) {
  constexpr std::string_view kForm =
      "write split(n) or streamk(n), and if a slice is not summed in sequence *groups(B), *lanes(L,V)+shfl, "
      "*lanes(L,V)+seq or *warps(S,W)+tree after it";
  const auto slices = take_number(rest);
  if (!slices || !take(rest, ")")) return refuse(text, std::string(kForm));
  if (*slices > kMaxSlices) return refuse(text, "n of split(n) and streamk(n) is at most 4096");
  Order order{Order::Kind::kSeq, Order::Join::kNone, 0, 0};
  if (!rest.empty()) {
    if (!take(rest, "*")) return refuse(text, std::string(kForm));
    const std::optional<Result<Order>> inner = parse_inner(text, rest);
    if (!inner) return refuse(text, std::string(kForm));
    if (!inner->ok()) return inner->error();
    order = inner->value();
  }
  order.slicing = slicing;
  order.slices = *slices;
  return order;
}

std::string text_of_chains(const Order& order) {
  switch (order.kind) {
    case Order::Kind::kAny:
      return "any";
    case Order::Kind::kSeq:
      return "seq";
    case Order::Kind::kGroups:
      return "groups(" + std::to_string(order.a) + ")";
    case Order::Kind::kLanes:
      return "lanes(" + std::to_string(order.a) + "," + std::to_string(order.b) + ")+" +
             (order.join == Order::Join::kShfl ? "shfl" : "seq");
    case Order::Kind::kWarps:
      return "warps(" + std::to_string(order.a) + "," + std::to_string(order.b) + ")+tree";
  }
  return "any";
}

}  // namespace

Result<Order> parse_order(std::string_view text) {
  if (text == "any") return Order{};
  if (text == "seq") return Order{Order::Kind::kSeq, Order::Join::kNone, 0, 0};
  if (const std::optional<Result<Order>> inner = parse_inner(text, text)) return *inner;
  std::string_view rest = text;
  if (take(rest, "split(")) return parse_slices(text, rest, Order::Slicing::kSplit);
  if (take(rest, "streamk(")) return parse_slices(text, rest, Order::Slicing::kStreamK);
  return refuse(text,
                "the orders are any, seq, groups(B), lanes(L,V)+shfl, lanes(L,V)+seq, warps(S,W)+tree, "
                "split(n), streamk(n), and slices of one of these as in split(n)*warps(S,W)+tree");
}

std::string to_string(const Order& order) {
  if (order.slicing == Order::Slicing::kNone) return text_of_chains(order);
  std::string text = order.slicing == Order::Slicing::kSplit ? "split(" : "streamk(";
  text += std::to_string(order.slices) + ")";
  if (order.kind != Order::Kind::kSeq && order.kind != Order::Kind::kAny) text += "*" + text_of_chains(order);
  return text;
}

}  // namespace moe4
