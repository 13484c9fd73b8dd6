"""What scripts/check_arrows.py says of trees that are not as they should be."""

import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
spec = importlib.util.spec_from_file_location("check_arrows", ROOT / "scripts/check_arrows.py")
check_arrows = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_arrows)


def test_this_tree_is_as_it_should_be():
    assert list(check_arrows.check_rooms(ROOT / "src")) == []
    assert list(check_arrows.check_classes(ROOT / "src")) == []


def test_arrows_point_down():
    check = check_arrows.check_include
    assert check("cli/a.cc", '"', "ops/dtype.h") is None
    assert "other way" in check("ops/a.cc", '"', "cli/a.h")
    assert "other way" in check("verify/verdict/a.cc", '"', "verify/batch/batch.h")
    assert check("verify/verdict/a_test.cc", '"', "verify/batch/batch.h") is None
    assert "side by side" in check("policy/a.cc", '"', "verify/verifier.h")
    assert "torch headers" in check("ops/a.cc", "<", "ATen/ATen.h")


def test_folders_and_names(tmp_path):
    (tmp_path / "ops").mkdir()
    (tmp_path / "net").mkdir()
    for i in range(check_arrows.MOST_FILES + 1):
        (tmp_path / "ops" / f"part{i}.h").write_text("")
    (tmp_path / "net" / "part0.cc").write_text("")
    said = list(check_arrows.check_rooms(tmp_path))
    assert len(said) == 2 and "26 files" in said[0] and "part0" in said[1]


CLASS = """
// class InAComment { void f(); };
class %s final : public Base<int> {
 public:
  A(int x) : x_{x}, y_{2}, z_(3) { if (x) { f(); } }
  ~A();
  template <typename T>
  T f(T a = T(1)) const;
  bool operator==(const A&) const = default;
  int x_ = g(1), y_{h(2)};
  using F = void(int);
  struct Inner { void one(); void two(); };
  %s
 private:
  const char* text_ = "void g();";
};
"""


def test_functions_of_a_class_are_counted():
    # Constructor, destructor, f and ==; fields, names of types and classes inside are none.
    assert dict(check_arrows.methods(CLASS % ("A", ""))) == {"A": 4, "Inner": 2}


def test_classes_are_not_overfull(tmp_path):
    (tmp_path / "a.h").write_text(CLASS % ("Big", "void m();" * 37))
    (tmp_path / "b.h").write_text(CLASS % ("Fits", "void m();" * 36))
    said = list(check_arrows.check_classes(tmp_path))
    assert len(said) == 1 and "Big has 41 functions" in said[0]
