#pragma once

#include <string>
#include <vector>

namespace undertone::tests {

/// Fails where a page of docs does not say what a test has measured. A number of the page may differ from the measured
/// one by one unit of its last digit, since processors round differently. With UNDERTONE_WRITE_PAGES=1 in the
/// environment the test writes its numbers into the page instead; then one test runs at a time, as with ctest -j1.
/// @param page "geometry.md" @param text a part of it with a # for every measured number; line breaks count as blanks
/// @param decimals of a number that it writes
void expect_on_page(const std::string& page, const std::string& text, const std::vector<double>& measured,
                    int decimals);

}  // namespace undertone::tests
