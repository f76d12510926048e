// The entries as data, as JSON and as text: complete, and the same everywhere.
#include "catalogue/catalogue.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <foveal/error.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace foveal::catalogue {
namespace {

std::vector<const Entry*> all() {
  std::vector<const Entry*> out;
  for (const Entry& entry : entries()) {
    out.push_back(&entry);
  }
  return out;
}

TEST(Entries, AreThoseOfTheErrorTable) {
  ASSERT_EQ(entries().size(), error_table().size());
  for (std::size_t i = 0; i < entries().size(); ++i) {
    const Entry& entry = entries()[i];
    const ErrorInfo& info = error_table()[i];
    EXPECT_EQ(entry.id, Error(info.code).id());
    EXPECT_EQ(entry.name, info.name);
    EXPECT_EQ(entry.status, info.http_status);
    EXPECT_EQ(entry.kind, info.kind);
    EXPECT_EQ(entry.message, info.message);
    EXPECT_EQ(entry.fix, info.fix);
  }
}

TEST(Entries, HaveTheKeyOfTheirName) {
  // First 16 hex digits of SHA-256, computed elsewhere.
  EXPECT_EQ(find("MaxSeqlenMissing").at(0)->key, "9a98718d71d962d9");
}

TEST(Entries, HaveMeaningSolutionsAndSituations) {
  for (const Entry& entry : entries()) {
    EXPECT_FALSE(entry.meaning.empty()) << entry.id;
    EXPECT_FALSE(entry.solutions.empty()) << entry.id;
    EXPECT_FALSE(entry.trigger.empty()) << entry.id;
    EXPECT_FALSE(entry.situations.empty()) << entry.id;
    EXPECT_FALSE(entry.failure_class.empty()) << entry.id;
  }
}

TEST(Entries, LinkBothWays) {
  for (const Entry& entry : entries()) {
    for (const std::string_view id : entry.related) {
      const std::vector<const Entry*> other = find(id);
      ASSERT_EQ(other.size(), 1u) << entry.id << " names " << id;
      EXPECT_EQ(std::count(other[0]->related.begin(), other[0]->related.end(), entry.id), 1)
          << id << " does not name " << entry.id;
    }
  }
}

TEST(Json, IsWhatTheGeneratorWrote) {
  std::ifstream file(FOVEAL_SOURCE_DIR "/docs/errors/errors.json");
  ASSERT_TRUE(file) << "docs/errors/errors.json";
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(to_json(all()), text.str());
}

TEST(Json, HasTheKeysOfTheSchema) {
  const nlohmann::json parsed = nlohmann::json::parse(to_json(all()));
  ASSERT_EQ(parsed.size(), entries().size());
  for (const nlohmann::json& entry : parsed) {
    for (const char* key : {"key",        "id",        "name",       "since",         "status",
                            "kind",       "message",   "aliases",    "report",        "meaning",
                            "source",     "solutions", "example",    "validate",      "type_guard",
                            "prevention", "trigger",   "situations", "failure_class", "related"}) {
      EXPECT_TRUE(entry.contains(key)) << entry["id"] << " lacks " << key;
    }
    EXPECT_TRUE(entry["message"]["fields"].is_array());
    EXPECT_TRUE(entry["type_guard"].is_object());
    EXPECT_TRUE(entry["status"].is_number_integer());
  }
}

TEST(Json, OfNothingIsAnEmptyArray) {
  EXPECT_EQ(to_json({}), "[]\n");
}

TEST(Json, KeepsTheOrderGiven) {
  const Entry* first = &entries()[0];
  const Entry* second = &entries()[1];
  const std::vector<const Entry*> turned{second, first};
  const nlohmann::json parsed = nlohmann::json::parse(to_json(turned));
  EXPECT_EQ(parsed.at(0)["id"], std::string(second->id));
  EXPECT_EQ(parsed.at(1)["id"], std::string(first->id));
}

TEST(Json, EscapesWhatJsonCannotHold) {
  Entry entry;
  entry.meaning = "a \"b\" \\ \n\t\x01";
  const std::vector<const Entry*> one{&entry};
  EXPECT_EQ(nlohmann::json::parse(to_json(one)).at(0)["meaning"], "a \"b\" \\ \n\t\x01");
}

// Lines longer than the width, code and words that are longer by themselves aside.
std::vector<std::string> too_long(const std::string& text, std::size_t width) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool code = line.starts_with("      ");
    const bool breakable = line.find(' ', line.find_first_not_of(" -0123456789.")) != line.npos;
    if (line.size() > width && !code && breakable) {
      out.push_back(line);
    }
  }
  return out;
}

TEST(Text, WrapsWordsAtTheWidth) {
  for (const Entry& entry : entries()) {
    for (const int width : {60, 80, 120}) {
      EXPECT_EQ(too_long(render_text(entry, width), static_cast<std::size_t>(width)),
                std::vector<std::string>{})
          << entry.id;
    }
  }
}

TEST(Text, ShowsEverySectionOfAnEntry) {
  const std::string text = render_text(*find("FV-1101").at(0), 80);
  for (const char* part :
       {"FV-1101 MaxSeqlenMissing", "fix:", "What it means", "Solutions", "  1. ", "Example",
        "Validate before calling", "Type guard", "Prevention", "When it happens", "Related",
        "FV-1102 MaxSeqlenTooSmall", "sglang"}) {
    EXPECT_NE(text.find(part), text.npos) << part << " is not in\n" << text;
  }
}

TEST(Text, NamesWhereAnErrorIsRaised) {
  Entry entry;
  const std::vector<Place> places{{"src/a.cpp", "f"}, {"src/b.cpp", ""}};
  entry.source = places;
  const std::string text = render_text(entry, 80);
  EXPECT_NE(text.find("- src/a.cpp, f\n"), text.npos) << text;
  EXPECT_NE(text.find("- src/b.cpp\n"), text.npos) << text;
}

TEST(Text, SurvivesSillyWidths) {
  for (const int width : {-1, 0, 1, 100'000}) {
    EXPECT_FALSE(render_text(entries()[0], width).empty());
  }
}

}  // namespace
}  // namespace foveal::catalogue
