# The front door. CMake does the work (CMakePresets.json); each target first installs what it lacks (tools/setup).
#
#   make demo      a report of a simulated training run: the first thing to try
#   make test      every test, in the release and in the hostile build (PRESETS="..." for other builds)
#   make test-programs   some dozens of real programs in the dry run (docs/guide/programs.md): an hour, and 6 GB of packages
#   make test-torch-versions   the simulated GPU with PyTorch 2.4 to 2.11: ten minutes, and 8 GB of packages
#   make test-truth   public recordings of real GPUs, and their programs in the dry run (docs/truth.md): minutes, and 3 GB of packages
#   make test-fleet   the tables of a thousand ranks, asked by DuckDB, Dask and Spark: five minutes, 600 MB of packages and Java (tests/fleet)
#   make release   the packages for any Linux, into dist/ (tools/release): ten minutes; make release-aarch64: those for aarch64, into dist-aarch64/
#   make test-release   all packages made twice, compared with a build by gcc, and tried in empty roots of Debian 11, 12 and 13
#   make site      the documentation as a static site, build/site/site/index.html (tools/site)
#   make bench     figures as ratios against named peers, with their spread; bench/history shows those of before
#   make fuzz      all fuzz targets until one breaks (FUZZ_RUNS=N: that many executions of each)
#   make mutants   breaks the code on purpose, one rule at a time: does a test notice? (MUTANTS="--room alloc": its options)
#   make install   to PREFIX (/usr/local), below DESTDIR
#   make format    clang-format over the C files
#   make tidy      clang-tidy over src/
#   make clean     away with build/, except the Python environments and the bench's history

PREFIX ?= /usr/local

.PHONY: help demo test test-programs test-torch-versions test-truth test-fleet release release-aarch64 test-release site bench fuzz mutants install format tidy clean
help:
	@sed -n 's/^#   //p' Makefile

demo:
	@tools/setup demo
	@tools/build release -DVS_RINGS= vramscope
	@tools/demo

test:
	@tools/setup test
	@tools/test $(PRESETS)

test-programs:
	@tools/setup programs
	@tools/build release -DVS_RINGS=programs vramscope simcuda
	@ctest --test-dir build/release --output-on-failure --no-tests=error -L programs

test-torch-versions:
	@tools/setup versions
	@tools/build release -DVS_RINGS="sim;versions"
	@ctest --test-dir build/release --output-on-failure --no-tests=error -L versions

test-truth:
	@tools/setup truth
	@tools/build release -DVS_RINGS= vramscope simcuda
	@tools/truth

test-fleet:
	@tools/setup fleet
	@tools/build release -DVS_RINGS= vramscope
	@build/fleetvenv/bin/python -m pytest -q -s -p no:cacheprovider tests/fleet

release:
	@tools/release

release-aarch64:
	@tools/release --machine aarch64

test-release:
	@tools/release --twice
	@tools/release --twice --machine aarch64
	@tools/packages/compare_answers build/packages/x86_64/wheel.tree/*/bin/vramscope build/packages/aarch64/vramscope
	@tools/build release -DVS_RINGS= python
	@tools/packages/compare_exports dist/*.whl build/release/python/vramscope
	@tools/packages/try_in_roots

site:
	@tools/setup site
	@tools/build release -DVS_RINGS= vramscope python
	@tools/site

bench:
	@tools/setup bench
	@tools/build release -DVS_RINGS= vramscope bench simcuda python
	@build/venv/bin/python bench/all

fuzz:
	@tools/setup fuzz
	@tools/build fuzz
	@tools/fuzz

mutants:
	@tools/setup test
	@tools/mutants $(MUTANTS)

install:
	@tools/setup install
	@tools/build release -DVS_RINGS=
	@cmake --install build/release --prefix $(PREFIX)

format:
	@tools/setup test
	@find $(wildcard include src tests examples bench) \( -name '*.c' -o -name '*.h' \) -print0 | xargs -0 clang-format -i

tidy:
	@tools/setup test
	@tools/build clang
	@tools/tidy build/clang

clean:
	@find build -mindepth 1 -maxdepth 1 ! -name '*venv' ! -name torch ! -name truth ! -name 'setup.*' ! -name bench-history -exec rm -rf {} + 2>/dev/null || true
