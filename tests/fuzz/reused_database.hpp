#pragma once

#include <string>
#include <vector>

#include "shared/store/sqlite.hpp"

namespace undertone::fuzz {

/// A database in memory that is emptied for every input. It keeps its tables and its prepared statements, which cost
/// more than most inputs do.
class ReusedDatabase {
 public:
  [[nodiscard]] store::Database& emptied() {
    std::vector<std::string> tables;
    {
      store::Statement names =
          database_.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").value();
      while (names.step().value()) tables.push_back(names.bytes(0));
    }
    for (const std::string& table : tables)
      UNDERTONE_CHECK(database_.prepare("DELETE FROM \"" + table + "\"").value().run().has_value());
    return database_;
  }

 private:
  store::Database database_ = store::Database::in_memory().value();
};

}  // namespace undertone::fuzz
