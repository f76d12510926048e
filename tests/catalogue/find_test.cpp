// Search: what a person may type or paste must lead to the right entry, and nothing else to any.
#include "catalogue/catalogue.hpp"

#include <gtest/gtest.h>

#include <foveal/error.hpp>

#include <array>
#include <cctype>
#include <chrono>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace foveal::catalogue {
namespace {

std::string first_id(std::string_view query) {
  const std::vector<const Entry*> found = find(query);
  return found.empty() ? "nothing" : std::string(found.front()->id);
}

std::string upper(std::string text) {
  for (char& c : text) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}

std::string lower(std::string text) {
  for (char& c : text) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

// Values that messages do get filled with: paths with spaces and punctuation, shapes, nothing
// sensible.
constexpr std::array<std::string_view, 6> kTexts{
    "/data/my pictures/a: b, c (1).jpg",      "(2, 3, 4)",
    "\"quoted\" {braces}\nand a second line", "0",
    "visual.blocks.0.attn.qkv.weight",        "it is what it is, 3 of 7"};
constexpr std::array<std::int64_t, 6> kInts{0,
                                            1,
                                            -1,
                                            1179648,
                                            std::numeric_limits<std::int64_t>::max(),
                                            std::numeric_limits<std::int64_t>::min()};

Error filled(const Entry& entry, std::size_t odd) {
  std::vector<ErrorField> fields;
  for (const Field& field : entry.fields) {
    const std::size_t i = (odd + fields.size()) % kTexts.size();
    if (field.type == "int") {
      fields.emplace_back(field.name, kInts[i]);
    } else if (field.type == "real") {
      fields.emplace_back(field.name, 0.125 * static_cast<double>(kInts[i]));
    } else {
      fields.emplace_back(field.name, kTexts[i]);
    }
  }
  const ErrorInfo* info = find_error(entry.id);
  EXPECT_NE(info, nullptr) << entry.id;
  return Error(info == nullptr ? ErrorCode::kInternal : info->code, fields);
}

TEST(Find, ResolvesIdNameAndKeyInAnyCase) {
  for (const Entry& entry : entries()) {
    for (const std::string_view query : {entry.id, entry.id.substr(3), entry.name, entry.key}) {
      for (const std::string& form :
           {std::string(query), lower(std::string(query)), upper(std::string(query)),
            " \"" + std::string(query) + "\"\n"}) {
        const std::vector<const Entry*> found = find(form);
        ASSERT_EQ(found.size(), 1u) << form;
        EXPECT_EQ(found[0]->id, entry.id) << form;
      }
    }
  }
}

TEST(Find, ResolvesTheKeyOfThePageThatStartedIt) {
  EXPECT_EQ(first_id("48cd67aad6c98715"), "FV-1101");
  EXPECT_EQ(first_id("see /api/errors/48cd67aad6c98715 for this"), "FV-1101");
}

TEST(Find, RecognisesEveryMessageWithItsFieldsFilledIn) {
  for (const Entry& entry : entries()) {
    for (std::size_t odd = 0; odd < kTexts.size(); ++odd) {
      const std::string message = filled(entry, odd).message();
      EXPECT_EQ(first_id(message), entry.id) << message;
    }
  }
}

TEST(Find, RecognisesMessagesInsideLogsInAnotherCaseAndWrapped) {
  for (const Entry& entry : entries()) {
    std::string message = filled(entry, 1).message();
    EXPECT_EQ(
        first_id("2026-12-01 11:59:03.120 ERROR [worker-3] " + message + "\n\tat run (x.py:77)"),
        entry.id);
    EXPECT_EQ(first_id(upper(message)), entry.id) << upper(message);
    for (std::size_t i = 40; i < message.size(); ++i) {  // a terminal of about 40 columns
      if (message[i] == ' ') {
        message.replace(i, 1, "\n    ");
        i += 40;
      }
    }
    EXPECT_EQ(first_id(message), entry.id) << message;
  }
}

TEST(Find, PutsTheOuterErrorBeforeItsCause) {
  for (std::size_t i = 1; i < entries().size(); ++i) {
    const Entry& outer = entries()[i];
    const Error error = filled(outer, 0).with_cause(filled(entries()[i - 1], 0));
    const std::vector<const Entry*> found = find("foveal: " + error.describe());
    ASSERT_GE(found.size(), 2u) << outer.id;
    EXPECT_EQ(found[0]->id, outer.id);
    EXPECT_EQ(found[1]->id, entries()[i - 1].id);
  }
}

TEST(Find, RecognisesTheExactTextOfAnAlias) {
  for (const Entry& entry : entries()) {
    for (const Alias& alias : entry.aliases) {
      EXPECT_EQ(first_id("RuntimeError: " + std::string(alias.message)), entry.id);
    }
  }
}

TEST(Find, SaysNothingAboutUnrelatedText) {
  for (const std::string_view text :
       {"",
        " ",
        "\"\"",
        "FV-0000",
        "FV-11011",
        "fv",
        "1",
        "ffffffffffffffff",
        "hello",
        "Segmentation fault (core dumped)",
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "No such file or directory",
        "ImportError: libGL.so.1: cannot open shared object file",
        "KeyError: 'pixel_values'",
        "The build was cancelled by the user. Internal server error",
        "connection refused: is the server running?",
        "the file is empty",
        "my disk is damaged: help",
        "bash: foveal: command not found",
        "Permission denied (publickey)",
        "ValueError: too many values to unpack (expected 2)",
        "RuntimeError: shape '[3, 3, 3, 64]' is invalid for input of size 1152",
        "warning: 3 tensors of the model were not used",
        "this is not served here: sorry",
        "the meeting starts with coffee, not 0",
        "error: expected ';' before '}' token"}) {
    EXPECT_EQ(first_id(text), "nothing") << text;
  }
}

TEST(Find, SurvivesAnyBytes) {
  std::mt19937 random(7);  // NOLINT: the same bytes every time
  for (std::size_t round = 0; round < 300; ++round) {
    std::string paste(random() % 200, ' ');
    for (char& c : paste) {
      c = static_cast<char>(random());
    }
    const std::string message =
        filled(entries()[random() % entries().size()], round % kTexts.size()).message();
    find(paste);
    find(paste + message + paste);
    find(message.substr(0, random() % (message.size() + 1)));
  }
}

TEST(Find, StaysQuickOnHostilePastes) {
  std::string paste;
  for (int i = 0; i < 20'000; ++i) {
    paste += " is damaged: has shape , expected 1 ";
  }
  const auto start = std::chrono::steady_clock::now();
  find(paste);
  find(std::string(1 << 20, '{'));
  find(std::string(1 << 20, '7'));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 5.0);  // seconds; about 0.1 in a release build, sanitizers take longer
}

}  // namespace
}  // namespace foveal::catalogue
