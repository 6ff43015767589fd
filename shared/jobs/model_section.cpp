#include "shared/jobs/model_section.hpp"

#include <algorithm>
#include <optional>

#include "shared/base/overloaded.hpp"

namespace undertone::jobs {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLayersMax = 64;
// Of a network: what a silo holds a few times over, and works on for every record.
constexpr Eigen::Index kWeightsMax = Eigen::Index{1} << 22;
constexpr Eigen::Index kValuesMax = Eigen::Index{1} << 20;
constexpr double kProductsMax = 0x1p28;

enum class ModelKind : std::uint8_t {
  Logistic,
  LeastSquares,
  Hinge,
  Absolute,
  Quantile,
  Huber,
  Poisson,
  Softmax,
  Network,
  Moments
};

constexpr std::initializer_list<std::pair<const char*, ModelKind>> kModelKinds = {
    {"logistic", ModelKind::Logistic}, {"least_squares", ModelKind::LeastSquares},
    {"hinge", ModelKind::Hinge},       {"absolute", ModelKind::Absolute},
    {"quantile", ModelKind::Quantile}, {"huber", ModelKind::Huber},
    {"poisson", ModelKind::Poisson},   {"softmax", ModelKind::Softmax},
    {"network", ModelKind::Network},   {"moments", ModelKind::Moments}};

constexpr std::initializer_list<std::pair<const char*, models::Activation>> kActivations = {
    {"relu", models::Activation::Relu}, {"tanh", models::Activation::Tanh}, {"identity", models::Activation::Identity}};

/// Nothing where the kind is no linear model's.
std::optional<models::Loss> loss_of(ModelKind kind) {
  switch (kind) {
    case ModelKind::Logistic:
      return models::Loss::Logistic;
    case ModelKind::LeastSquares:
      return models::Loss::LeastSquares;
    case ModelKind::Hinge:
      return models::Loss::Hinge;
    case ModelKind::Absolute:
      return models::Loss::Absolute;
    case ModelKind::Quantile:
      return models::Loss::Quantile;
    case ModelKind::Huber:
      return models::Loss::Huber;
    case ModelKind::Poisson:
      return models::Loss::Poisson;
    case ModelKind::Softmax:
    case ModelKind::Network:
    case ModelKind::Moments:
      return std::nullopt;
  }
  UNDERTONE_CHECK(false);
}

constexpr double kLossNumberMin = 1e-9;  // so that products and quotients of a few stay far inside a double

models::LinearLoss parse_loss(config::Section& section, models::Loss loss) {
  const auto wanted = [&](models::Loss by) { return section.recording() || loss == by; };
  models::LinearLoss::Options options;
  if (wanted(models::Loss::Quantile))
    options.level = section.number("level", 0.0, 1.0, "of quantile, between 0 and 1", true);
  if (wanted(models::Loss::Huber)) options.threshold = section.number("threshold", kLossNumberMin, 1e9, "of huber");
  if (section.has("smoothing"))
    options.smoothing = section.number("smoothing", kLossNumberMin, 1e9,
                                       "beta of the Moreau envelope that stands for hinge, absolute or quantile");
  if (section.has("logit_max"))
    options.logit_max = section.number("logit_max", kLossNumberMin, 1e9, "of logistic: scores are clipped to this");
  const Result<models::LinearLoss> made = models::LinearLoss::create(loss, options);
  if (made) return *made;
  if (!section.recording()) section.problem("kind", made.error().message);
  return models::LinearLoss(models::Loss::Logistic);
}

models::LayerShape parse_layer(config::Section& section) {
  enum class Form : std::uint8_t { Dense, Convolution };
  const auto form = section.choice<Form>("kind", {{"dense", Form::Dense}, {"convolution", Form::Convolution}},
                                         "a convolution reads an image, at stride 1, inside it");
  const auto activation = section.choice<models::Activation>("activation", kActivations, "of its outputs");
  const auto wanted = [&](Form by) { return section.recording() || form == by; };
  models::DenseShape dense{1, activation};
  if (wanted(Form::Dense)) dense.width = section.integer("width", 1, kWeightsMax, "outputs of a dense layer");
  models::ConvolutionShape convolution{1, 1, activation, false};
  if (wanted(Form::Convolution)) {
    convolution.channels = section.integer("channels", 1, 1 << 16, "of a convolution's output");
    convolution.kernel = section.integer("kernel", 1, 1 << 10, "pixels, both ways");
    if (section.has("pooled"))
      convolution.pooled = section.boolean("pooled", "keeps the largest of each 2 x 2 pixels (default false)");
  }
  section.finish();
  if (form == Form::Convolution) return convolution;
  return dense;
}

}  // namespace

std::vector<std::string_view> model_names() {
  std::vector<std::string_view> out;
  for (const auto& [name, kind] : kModelKinds) out.emplace_back(name);
  return out;
}

models::NetworkShape parse_network(config::Section& section, Eigen::Index features, Eigen::Index classes) {
  models::NetworkShape shape{{1, 1, features}, {}, classes};
  if (section.has("image")) {
    config::Section image = section.object("image", "of network: the features as an image, pixel by pixel, row by row");
    shape.input.channels = image.integer("channels", 1, 1 << 10, "of a pixel");
    shape.input.height = image.integer("height", 1, 1 << 14, "pixels");
    shape.input.width = image.integer("width", 1, 1 << 14, "pixels");
    image.finish();
    if (!section.recording() && shape.input.values() != features)
      section.problem("image",
                      fmt::format("expected {} values, the schema's features, got {}", features, shape.input.values()));
  }
  for (config::Section& layer : section.objects("hidden", 1, kLayersMax, "of network: its layers, but for the scores'"))
    shape.hidden.push_back(parse_layer(layer));
  return shape;
}

Result<models::Network> bounded_network(const models::NetworkShape& shape) {
  Result<models::Network> made = models::Network::create(shape);
  if (!made) return made;
  const auto refuse = [](auto found, const char* what, auto most) {
    return Error{ErrorCode::InvalidConfig, fmt::format("{} {}, a network has at most {}", found, what, most)};
  };
  if (made->dimension() > kWeightsMax) return refuse(made->dimension(), "weights", kWeightsMax);
  if (made->values() > kValuesMax) return refuse(made->values(), "values for one record", kValuesMax);
  if (made->products() > kProductsMax) return refuse(made->products(), "products for one record", kProductsMax);
  return made;
}

Json to_json(const models::NetworkShape& shape) {
  const auto name_of = [](models::Activation wanted) {
    const auto* found = std::find_if(kActivations.begin(), kActivations.end(),
                                     [&](const auto& candidate) { return candidate.second == wanted; });
    return found->first;
  };
  Json hidden = Json::array();
  for (const models::LayerShape& layer : shape.hidden) {
    hidden.push_back(std::visit(
        Overloaded{[&](const models::DenseShape& dense) -> Json {
                     return {{"kind", "dense"}, {"activation", name_of(dense.activation)}, {"width", dense.width}};
                   },
                   [&](const models::ConvolutionShape& convolution) -> Json {
                     return {{"kind", "convolution"},
                             {"activation", name_of(convolution.activation)},
                             {"channels", convolution.channels},
                             {"kernel", convolution.kernel},
                             {"pooled", convolution.pooled}};
                   }},
        layer));
  }
  Json out = {{"hidden", std::move(hidden)}};
  if (shape.input.channels > 1 || shape.input.height > 1)
    out["image"] = {{"channels", shape.input.channels}, {"height", shape.input.height}, {"width", shape.input.width}};
  return out;
}

ModelChoice parse_model(config::Section section, const data::Schema& schema, Eigen::Index features) {
  const auto kind = section.choice<ModelKind>(
      "kind", kModelKinds,
      "logistic and hinge for a label of two values, softmax and network for one of classes, moments for any: the "
      "features' means and products, docs/researchers-guide.md; the others for a number, and poisson for one whose "
      "\"min\" is 0, such as a count or a cost: the logarithm of its mean is linear");
  const std::optional<models::Loss> loss = loss_of(kind);
  const auto* several = std::get_if<data::ClassLabel>(&schema.label);
  ModelChoice out{models::LinearModel(models::Loss::Logistic, std::max<Eigen::Index>(features, 1), false)};
  if (section.recording() || loss) {
    const models::LinearLoss made = parse_loss(section, loss.value_or(models::Loss::Logistic));
    section.otherwise("intercept", true);
    const bool intercept = section.boolean("intercept", "of a linear model: adds a constant feature (default true)");
    out.model = models::LinearModel(made, features, intercept);
    if (!section.recording() &&
        (several != nullptr || made.classifies() != std::holds_alternative<data::BinaryLabel>(schema.label))) {
      section.problem("kind",
                      "logistic and hinge need a label with two values, softmax and network one with classes, the "
                      "other losses one with min and max");
    }
    const auto* number = std::get_if<data::NumericLabel>(&schema.label);
    if (loss == models::Loss::Poisson && number != nullptr && number->column.date) {
      section.problem("kind",
                      fmt::format("poisson needs a label that is a number: \"{}\" is a date", number->column.name));
    } else if (loss == models::Loss::Poisson && number != nullptr && number->column.min != 0.0) {
      section.problem("kind", fmt::format("poisson needs a label whose \"min\" is 0, since its mean is a power of e; "
                                          "that of \"{}\" is {}",
                                          number->column.name, number->column.min));
    }
  }
  if (kind == ModelKind::Moments && !section.recording()) {
    const models::MomentsModel made(features);
    if (features > kWeightsMax || made.dimension() > kWeightsMax) {
      section.problem("kind", fmt::format("moments of {} features are more than {} numbers", features, kWeightsMax));
    } else {
      out.model = made;
    }
  } else if (section.recording() || !loss) {
    const Eigen::Index classes = several != nullptr ? static_cast<Eigen::Index>(several->classes.size()) : 2;
    models::NetworkShape shape{{1, 1, features}, {}, classes};
    if (section.recording() || kind == ModelKind::Network) {
      shape = parse_network(section, features, classes);
      out.seed = static_cast<std::uint64_t>(
          section.integer("seed", 0, INT64_MAX, "of network: public, of the weights that training starts from"));
    }
    if (!section.recording() && several == nullptr)
      section.problem("kind", "softmax and network need a label with classes");
    if (!section.recording() && several != nullptr) {
      Result<models::Network> made = bounded_network(shape);
      if (made) {
        out.model = *std::move(made);
      } else {
        section.problem("hidden", made.error().message);
      }
    }
  }
  section.finish();
  return out;
}

}  // namespace undertone::jobs
