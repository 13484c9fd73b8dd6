#include "report/html.h"

#include "formats/base/sha256.h"
#include "report/markup/page_style.h"
#include "report/sections.h"

namespace kw {
namespace {

constexpr int kDeepest = 6;  // nesting of the environment that is shown

void write_json(Markup& out, const Json& json, int depth) {
  if (json.is_object() && depth < kDeepest) {
    const auto list = out.element("dl");
    for (const auto& [key, value] : json.items()) {
      out.leaf("dt", key);
      const auto cell = out.element("dd");
      write_json(out, value, depth + 1);
    }
  } else if (json.is_array() && depth < kDeepest) {
    for (const Json& item : json) {
      const auto line = out.element("div");
      write_json(out, item, depth + 1);
    }
  } else if (json.is_string()) {
    out.text(json.get<std::string>());
  } else if (json.is_boolean()) {
    out.text(json.get<bool>() ? "yes" : "no");
  } else {
    out.text(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

// What a Content-Security-Policy calls a script by: its SHA-256 in base64.
std::string source_hash(std::string_view script) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string hex = sha256_hex(script) + "00";  // 32 bytes, and one to fill up
  std::string out;
  for (size_t i = 0; i < hex.size(); i += 3) {  // 12 bits are two digits
    const auto bits = std::stoul(hex.substr(i, 3), nullptr, 16);
    out += {kDigits[bits >> 6], kDigits[bits & 63]};
  }
  out.back() = '=';
  return "'sha256-" + out + "'";
}

void write_nav(Markup& out, const ReportContext& c) {
  const bool judged = !c.result.verdict.stages.empty();
  struct Link {
    const char* target;
    const char* name;
    bool there = true;
  };
  const Link links[] = {
      {"#program", "Program"},   {"#fragments", "Fragments"},
      {"#verdict", "Verdict"},   {"#numerics", "Numerics", c.stage(Stage::kCorrect) != nullptr},
      {"#time", "Time", judged}, {"#attempts", "What else was tried"},
      {"#sources", "Sources"},   {"#environment", "Environment"},
  };
  const auto nav = out.element("nav");
  for (const Link& link : links) {
    if (link.there) out.leaf("a", link.name, {{"href", link.target}});
  }
}

}  // namespace

void write_head(Markup& out, const std::string& title, std::string_view more_style,
                std::string_view script) {
  const auto head = out.element("head");
  out.empty("meta", {{"charset", "utf-8"}});
  out.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  // Nothing is loaded and nothing runs, whatever the text on the page says.
  out.empty("meta",
            {{"http-equiv", "Content-Security-Policy"},
             {"content", "default-src 'none'; style-src 'unsafe-inline'" +
                             (script.empty() ? "" : "; script-src " + source_hash(script))}});
  out.leaf("title", title.empty() ? "Kernelwright" : title + " · Kernelwright");
  const auto style = out.element("style");
  out.trusted(kPageStyle);
  out.trusted(more_style);
}

void write_sources(Markup& out, const ReportContext& c) {
  const auto section = out.element("section", {{"id", "sources"}});
  out.leaf("h2", "Sources");
  if (c.result.python.empty() && c.result.reference_source.empty()) {
    out.leaf("p", "There are none.", {{"class", "caption"}});
  }
  if (!c.result.python.empty()) write_source(out, "optimized.py", c.result.python, false);
  if (!c.result.reference_source.empty()) {
    const std::string& file = c.result.reference.source.file;
    write_source(out, file.empty() ? "the reference" : file, c.result.reference_source, false);
  }
}

void write_environment(Markup& out, const ReportContext& c) {
  const auto section = out.element("section", {{"id", "environment"}});
  out.leaf("h2", "Environment");
  Json shown = c.result.verdict.environment;
  if (!shown.is_object()) shown = {{"environment", shown}};
  if (!c.result.reference.target.empty()) shown["kernels are for"] = c.result.reference.target;
  if (!c.result.verdict.key.empty()) shown["verdict"] = c.result.verdict.key;
  write_json(out, shown, 0);
}

std::string report_html(const OptimizeResult& result) {
  Markup out;
  out.trusted("<!DOCTYPE html>\n");
  {
    const ReportContext context(result);
    const auto html = out.element("html", {{"lang", "en"}});
    write_head(out, result.reference.source.file);
    const auto body = out.element("body");
    write_headline(out, context);
    write_nav(out, context);
    write_program(out, context);
    write_fragments(out, context);
    write_evidence(out, context);
    write_attempts(out, context);
    write_sources(out, context);
    write_environment(out, context);
  }
  return out.str() + "\n";
}

}  // namespace kw
