#include "reference/accumulate/order.h"

#include <charconv>
#include <optional>

namespace moe4 {
namespace {

// BND-2: sizes beyond these are no order of a kernel; the limits keep plans small.
constexpr std::int64_t kMaxLanes = 4096;
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

}  // namespace

Result<Order> parse_order(std::string_view text) {
  if (text == "any") return Order{};
  if (text == "seq") return Order{Order::Kind::kSeq, Order::Join::kNone, 0, 0};
  std::string_view rest = text;
  if (take(rest, "groups(")) return parse_groups(text, rest);
  if (take(rest, "lanes(")) return parse_lanes(text, rest);
  return refuse(text, "the orders are any, seq, groups(B), lanes(L,V)+shfl, lanes(L,V)+seq");
}

std::string to_string(const Order& order) {
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
  }
  return "any";
}

}  // namespace moe4
