#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <zlib.h>

#include "shared/data/cifar_reader.hpp"
#include "shared/data/gzip.hpp"
#include "shared/data/idx_reader.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::data {
namespace {

std::string big_endian(std::uint32_t value) {
  std::string out;
  for (unsigned shift = 32; shift != 0; shift -= 8) out += static_cast<char>(value >> (shift - 8) & 0xffU);
  return out;
}

std::string idx(const std::vector<std::uint32_t>& dimensions, const std::string& values, char type = 0x08) {
  std::string out{'\0', '\0', type, static_cast<char>(dimensions.size())};
  for (const std::uint32_t dimension : dimensions) out += big_endian(dimension);
  return out + values;
}

std::string gzip(const std::string& content) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, content.size()), '\0');
  std::string in = content;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string refusal(const std::string& content, std::size_t dimensions) {
  const Result<IdxArray> out = parse_idx(content, dimensions, "f");
  return out ? "" : out.error().message;
}

// Two images of two rows and three columns.
const std::string kValues{'\x00', '\x33', '\x66', '\x99', '\xcc', '\xff',
                          '\x01', '\x02', '\x03', '\x04', '\x05', '\x06'};

class ImageFilesTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& content) {
    std::filesystem::path file = folder_.path() / name;
    std::ofstream(file, std::ios::binary) << content;
    return file;
  }
  tests::TemporaryFolder folder_;
};

TEST_F(ImageFilesTest, ReadsIdxImagesAndLabelsPlainAndCompressed) {
  for (const bool compressed : {false, true}) {
    SCOPED_TRACE(compressed);
    const std::string images = idx({2, 2, 3}, kValues);
    const std::string labels = idx({2}, std::string("\x07\x00", 2));
    const LabelledImages out = read_idx(write("images", compressed ? gzip(images) : images),
                                        write("labels", compressed ? gzip(labels) : labels))
                                   .value();
    EXPECT_EQ(out.images.rows, 2);
    EXPECT_EQ(out.images.columns, 3);
    EXPECT_EQ(out.images.channels, 1);
    ASSERT_EQ(out.images.pixels.rows(), 6);
    ASSERT_EQ(out.images.pixels.cols(), 2);
    Eigen::VectorXd first(6);
    first << 0.0, 0.2, 0.4, 0.6, 0.8, 1.0;  // 0x33 = 51 = 255 / 5
    EXPECT_TRUE(out.images.pixels.col(0).isApprox(first, 1e-15));
    EXPECT_EQ(out.images.pixels(5, 1), 6 / 255.0);
    EXPECT_EQ(out.labels, (std::vector<int>{7, 0}));
  }
}

TEST_F(ImageFilesTest, ReadsALabelAbove127AsItIs) {
  EXPECT_EQ(read_idx_labels(write("labels", idx({1}, "\xff"))).value(), std::vector<int>{255});
}

TEST_F(ImageFilesTest, RefusesLabelsOfAnotherNumberThanTheImages) {
  const auto images = write("images", idx({2, 2, 3}, kValues));
  const auto labels = write("labels", idx({3}, "abc"));
  const Result<LabelledImages> out = read_idx(images, labels);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().message,
            labels.string() + ": offset 4: expected 2 labels as there are images in " + images.string() + ", found 3");
}

TEST_F(ImageFilesTest, RefusesAFileThatIsNotThereAndAFolder) {
  EXPECT_FALSE(read_idx_images(folder_.path() / "none"));
  EXPECT_FALSE(read_idx_labels(folder_.path()));
  EXPECT_FALSE(read_cifar10({folder_.path() / "none"}));
}

TEST(IdxTest, RefusalsOfAHeaderGiveOffsetExpectationAndFinding) {
  const std::string good = idx({2, 2, 3}, kValues);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "f: offset 0: expected an IDX header of 16 bytes, found the end"},
      {good.substr(0, 15), "f: offset 15: expected an IDX header of 16 bytes, found the end"},
      {"PK" + good.substr(2), "f: offset 0: expected IDX, which begins with two zero bytes, found 0x504b"},
      {idx({2, 2, 3}, kValues, 0x0d), "f: offset 2: expected unsigned bytes, element type 0x08, found 0x0d"},
      {idx({12}, kValues), "f: offset 3: expected 3 dimensions, found 1"},
      {idx({0, 2, 3}, ""), "f: offset 4: expected a dimension > 0, found 0"},
      {idx({2, 0, 3}, ""), "f: offset 8: expected a dimension > 0, found 0"},
  };
  for (const auto& [content, message] : cases) {
    EXPECT_EQ(refusal(content, 3), message);
    EXPECT_EQ(refusal(gzip(content), 3), message);  // the same, of the inflated bytes
  }
}

TEST(IdxTest, RefusesFewerAndMoreValuesThanTheHeaderClaims) {
  const std::string good = idx({2, 2, 3}, kValues);
  const std::string expected = "f: offset 16: expected 12 values, as the dimensions 2 x 2 x 3 say, found ";
  EXPECT_EQ(refusal(good.substr(0, good.size() - 1), 3), expected + "11");
  EXPECT_EQ(refusal(good + "x", 3), expected + "13");
  EXPECT_EQ(refusal(gzip(good.substr(0, good.size() - 1)), 3), expected + "11");
  EXPECT_EQ(refusal(gzip(good + "x"), 3), expected + "more");
}

TEST(IdxTest, RefusesDimensionsWhoseProductIsTooLargeOrOverflows) {
  const Result<IdxArray> large = parse_idx(idx({1U << 28U, 2, 1}, "x"), 3, "f");
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(large.error().message, "f: offset 8: expected at most 268435456 values, found 268435456 times 2");
  // 2^32 - 1 cubed does not fit 64 bits, and 2^16 * 2^24 * 2^24 is 0 in them.
  EXPECT_FALSE(parse_idx(idx({0xffffffffU, 0xffffffffU, 0xffffffffU}, "x"), 3, "f"));
  EXPECT_FALSE(parse_idx(idx({1U << 16U, 1U << 24U, 1U << 24U}, ""), 3, "f"));
}

TEST(IdxTest, RefusesAClaimThatTheCompressedBytesCannotHold) {
  const std::string message = refusal(gzip(idx({1U << 20U, 16, 16}, "x")), 3);
  EXPECT_NE(message.find("expected 268435456 values"), std::string::npos) << message;
  EXPECT_NE(message.find("too few for that"), std::string::npos) << message;
}

TEST(IdxTest, ABombIsInflatedNoFurtherThanItsHeaderClaims) {
  const std::string bomb = gzip(idx({2, 2, 3}, std::string(std::size_t{1} << 24U, '\0')));
  ASSERT_LT(bomb.size(), 20'000U);
  EXPECT_EQ(refusal(bomb, 3), "f: offset 16: expected 12 values, as the dimensions 2 x 2 x 3 say, found more");
  const Inflated beginning = inflate(bomb, 100).value();
  EXPECT_EQ(beginning.bytes.size(), 100U);
  EXPECT_FALSE(beginning.whole);
  EXPECT_LE(beginning.bytes.capacity(), 200U);
}

TEST(IdxTest, RefusesCompressedBytesThatAreDamagedCutOrFollowed) {
  std::string values;  // that deflate cannot shorten much
  for (unsigned i = 0; i < 6000; ++i) values += static_cast<char>(i * i * 2654435761U >> 13U);
  const std::string good = gzip(idx({60, 10, 10}, values));
  ASSERT_EQ(refusal(good, 3), "");
  EXPECT_NE(refusal(good + "x", 3).find("1 bytes stand after the end of the gzip data"), std::string::npos);
  EXPECT_NE(refusal(good + good, 3).find("stand after the end"), std::string::npos);
  for (const std::size_t length : {std::size_t{2}, std::size_t{12}, good.size() / 2, good.size() - 8, good.size() - 1})
    EXPECT_NE(refusal(good.substr(0, length), 3).find("end early"), std::string::npos) << length;
  std::string damaged = good;
  damaged[good.size() - 6] = static_cast<char>(damaged[good.size() - 6] ^ 1);  // of the checksum
  EXPECT_NE(refusal(damaged, 3).find("damaged after 6016 inflated bytes: incorrect data check"), std::string::npos)
      << refusal(damaged, 3);
}

TEST(GzipTest, InflatesWhatWasDeflatedAtEveryBound) {
  std::string content;
  for (unsigned i = 0; i < 200'000; ++i) content += static_cast<char>(i * i >> 7U);
  const std::string packed = gzip(content);
  for (const std::size_t bound : {std::size_t{0}, std::size_t{1}, std::size_t{65'535}, std::size_t{65'536},
                                  std::size_t{65'537}, content.size() - 1, content.size(), content.size() + 1}) {
    SCOPED_TRACE(bound);
    const Inflated out = inflate(packed, bound).value();
    EXPECT_EQ(out.bytes, content.substr(0, bound));
    EXPECT_EQ(out.whole, bound >= content.size());
  }
  EXPECT_TRUE(inflate(gzip(""), 0).value().whole);
}

std::string cifar_record(int label, char red, char blue) {
  std::string out(1 + 3 * 1024, '\0');
  out[0] = static_cast<char>(label);
  std::fill_n(out.begin() + 1, 1024, red);
  std::fill_n(out.end() - 1024, 1024, blue);
  return out;
}

TEST_F(ImageFilesTest, ReadsCifarBatchesOneAfterTheOther) {
  const auto one = write("1", cifar_record(9, '\xff', '\x33') + cifar_record(0, '\0', '\0'));
  const auto two = write("2", cifar_record(4, '\x66', '\0'));
  const LabelledImages out = read_cifar10({one, two}).value();
  EXPECT_EQ(out.labels, (std::vector<int>{9, 0, 4}));
  EXPECT_EQ(out.images.channels, 3);
  EXPECT_EQ(out.images.rows, 32);
  EXPECT_EQ(out.images.columns, 32);
  ASSERT_EQ(out.images.pixels.rows(), 3072);
  ASSERT_EQ(out.images.pixels.cols(), 3);
  EXPECT_EQ(out.images.pixels(1023, 0), 1.0);
  EXPECT_EQ(out.images.pixels(1024, 0), 0.0);
  EXPECT_EQ(out.images.pixels(3071, 0), 51 / 255.0);
  EXPECT_TRUE(out.images.pixels.col(1).isZero(0));
  EXPECT_EQ(out.images.pixels(0, 2), 102 / 255.0);
}

TEST_F(ImageFilesTest, CifarRefusalsNameFileAndRecordAndNoLabel) {
  const auto good = write("good", cifar_record(1, 'a', 'b'));
  const auto refused = [&](const std::string& content) {
    const auto file = write("bad", content);
    const Result<LabelledImages> out = read_cifar10({good, file});
    EXPECT_FALSE(out);
    return out ? "" : out.error().message.substr(file.string().size());
  };
  EXPECT_EQ(refused(""), ": record 1: expected records, found none");
  EXPECT_EQ(refused(cifar_record(1, 'a', 'b') + "x"), ": record 2: expected 3073 bytes, found 1");
  EXPECT_EQ(refused(cifar_record(1, 'a', 'b').substr(1)), ": record 1: expected 3073 bytes, found 3072");
  EXPECT_EQ(refused(cifar_record(1, 'a', 'b') + cifar_record(10, 'a', 'b')),
            ": record 2: expected a label of 0 to 9, found another");
  EXPECT_EQ(refused(cifar_record(200, 'a', 'b')), ": record 1: expected a label of 0 to 9, found another");
  EXPECT_FALSE(read_cifar10({}));
}

TEST(MnistTest, TheTestImagesAreReadWhereTheyAreAtHand) {
  const char* folder = std::getenv("UNDERTONE_DATA");
  if (folder == nullptr) GTEST_SKIP() << "UNDERTONE_DATA names no folder";
  const std::filesystem::path images = std::filesystem::path(folder) / "mnist-t10k-images-idx3-ubyte.gz";
  const std::filesystem::path labels = std::filesystem::path(folder) / "mnist-t10k-labels-idx1-ubyte.gz";
  if (!std::filesystem::exists(images) || !std::filesystem::exists(labels)) GTEST_SKIP() << "no MNIST there";
  const LabelledImages out = read_idx(images, labels).value();
  EXPECT_EQ(out.images.pixels.rows(), 28 * 28);
  EXPECT_EQ(out.images.pixels.cols(), 10'000);
  EXPECT_EQ(out.images.pixels.minCoeff(), 0.0);
  EXPECT_EQ(out.images.pixels.maxCoeff(), 1.0);
  EXPECT_EQ((std::vector<int>(out.labels.begin(), out.labels.begin() + 5)), (std::vector<int>{7, 2, 1, 0, 4}));
  EXPECT_EQ(std::count(out.labels.begin(), out.labels.end(), 5), 892);  // the rarest digit
}

}  // namespace
}  // namespace undertone::data
