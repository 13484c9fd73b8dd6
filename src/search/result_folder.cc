#include "search/result_folder.h"

#include "formats/base/error.h"
#include "formats/output.h"
#include "program/task_json.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// Importing optimized.py leaves a __pycache__.
bool is_in_result(const fs::path& inside) {
  const fs::path first = *inside.begin();
  if (first == "bundle") return inside == first || is_in_bundle(inside.lexically_relative(first));
  if (first == "__pycache__") {
    return inside == first || inside.filename().string().starts_with("optimized.");
  }
  return inside == "optimized.py" || inside == "verdict.json" || inside == "report.html";
}

constexpr FolderKind kResultFolder = {"result", "bundle/program.json", kBundleFolder.mark,
                                      is_in_result};

}  // namespace

void prepare_result_folder(const fs::path& folder, const fs::path& model) {
  check_out_folder(folder, kResultFolder);
  const fs::path inside =
      fs::weakly_canonical(model).lexically_relative(fs::weakly_canonical(folder));
  if (!inside.empty() && *inside.begin() != "..") {
    throw InputError(model.string() + ": is in " + folder.string() +
                     ", which the result would replace; choose another --out");
  }
}

void write_program(const AcceptedProgram& program, const std::string& report_html,
                   const fs::path& folder) {
  OutputFolder out(folder, kResultFolder);
  write_file(out.path() / "optimized.py", program.python);
  write_bundle(program.task, out.path() / "bundle");
  write_file(out.path() / "verdict.json", to_json(program.verdict).dump(1) + "\n");
  if (!report_html.empty()) write_file(out.path() / "report.html", report_html);
  out.keep();
}

void write_result(const OptimizeResult& result, const std::string& report_html,
                  const fs::path& folder) {
  const std::string original = result.reference_source +
                               "\n\n# ---- Kernelwright: nothing was gained. ----\n" +
                               "ModelNew = " + result.reference.source.cls + "\n";
  write_program(
      {result.python.empty() ? original : result.python, result.optimized, result.verdict},
      report_html, folder);
}

}  // namespace kw
