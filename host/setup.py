from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name="kernelwright-host",
    version="1.0",
    description="The host's part of a call of an optimized.py of Kernelwright, in C++",
    license="Apache-2.0",
    ext_modules=[CppExtension("kernelwright_host", ["kernelwright_host.cc"], extra_compile_args=["-O2", "-std=c++20"])],
    cmdclass={"build_ext": BuildExtension},
)
