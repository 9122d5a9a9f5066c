"""The CUDA programs of formulas: what is generated, and that NVIDIA's compiler accepts it."""

import shutil
import subprocess

import numpy as np
import pytest

from kernsemble.devices.cuda_source import SYMMETRIC, CudaSource
from kernsemble.devices.formulas import Formula
from kernsemble.kernels import Constant, Gaussian, Laplacian, Perceptron, Polynomial

PROGRAMS = (0, SYMMETRIC, 1, 16, 32)
X = np.random.default_rng(0).normal(size=(20, 4))
KERNELS = {
    "laplacian": Laplacian(0.5),
    "both": Laplacian(0.5) * Gaussian(0.2) + Perceptron(),
    "columns": Laplacian(0.5).on([0]) + Polynomial().on([1, 2]) * Gaussian(0.3).on([3]),
    "constant": Constant(2.0),
}


def source_of(name, dtype="float32"):
    return CudaSource(Formula.from_kernel(KERNELS[name].bind(X)), np.dtype(dtype))


def test_a_program_has_the_formula_and_one_step_per_matrix():
    program = source_of("both").program(0)
    assert "d[0] += size_of(a - b); d[1] += (a - b) * (a - b);" in program
    assert program.count("template <> __device__ void step<") == 1
    program = source_of("columns").program(16)
    assert program.startswith("#define PRODUCT 16\n")
    assert program.count("template <> __device__ void step<") == 3
    assert "d[2] += " in program


def test_more_distances_make_smaller_tiles():
    assert source_of("laplacian").tile == (128, 128)
    assert source_of("laplacian", "float64").tile == source_of("both").tile == (128, 64)
    assert source_of("columns").tile == source_of("both", "float64").tile == (64, 64)


def test_features_are_divided_into_chunks_of_similar_sizes():
    source = source_of("laplacian")
    assert [source.width(n, 1) for n in (1, 20, 21, 100)] == [1, 20, 11, 20]
    assert [source.width(n, 16) for n in (1, 16, 17, 100)] == [1, 16, 9, 15]


@pytest.mark.parametrize("columns", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", KERNELS)
def test_two_blocks_fit_into_the_shared_memory_of_a_multiprocessor(name, dtype, columns):
    source = source_of(name, dtype)
    assert 2 * (source.bytes_of_memory(100, columns) + 1024) <= 228 * 1024


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="NVIDIA's compiler is not installed")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_programs_compile(name, dtype, tmp_path):
    source = source_of(name, dtype)
    for number, program in enumerate(map(source.program, PROGRAMS)):
        path = tmp_path / f"program_{number}.cu"
        path.write_text(program, encoding="utf-8")
        options = ["-arch=sm_90", "-cubin", *source.options]
        command = ["nvcc", *options, "-Werror", "all-warnings", str(path), "-o", f"{path}bin"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
