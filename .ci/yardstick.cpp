// Compiled at the beginning of .ci/run, to tell how fast the machine is. It must not change: the budget is a multiple
// of it.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <sstream>
#include <unordered_map>
#include <variant>
#include <vector>

template <int N>
struct Layer {
  using Value = std::variant<int, double, std::string, std::vector<int>>;
  std::map<std::string, std::function<Value(const Value&)>> functions;
  std::unordered_map<std::string, std::vector<Value>> values;
  Layer<N - 1> inner;

  int run(const std::string& text) {
    const std::regex pattern("([a-z]+)=([0-9]+)");
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
      values[(*match)[1]].push_back(std::stoi((*match)[2]) + N);
    functions["last"] = [this](const Value& value) { return values.empty() ? value : values.begin()->second.back(); };
    int sum = inner.run(text);
    for (auto& [name, all] : values) {
      std::sort(all.begin(), all.end());
      sum += std::visit([](const auto& one) { return static_cast<int>(sizeof(one)); }, functions["last"](all.front()));
    }
    return sum;
  }
};
template <>
struct Layer<0> {
  int run(const std::string& text) { return static_cast<int>(text.size()); }
};

int main() {
  std::mt19937 random(1);
  std::ostringstream text;
  for (int i = 0; i < 100; ++i) text << "x=" << random() % 100 << " ";
  std::cout << Layer<24>{}.run(text.str()) << "\n";
}
