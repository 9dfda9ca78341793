# A thin front over CMake and Ninja. `make` alone lists what there is.
BUILD   ?= build
TYPE    ?= Release
WERROR  ?= OFF
JOBS    ?= $(shell nproc)
PREFIX  ?= /usr/local
DESTDIR ?=
IN      ?= demo:hero
METHOD  ?= auto
CLIP    ?= $(if $(filter demo:hero,$(IN)),walk,)
NAME    ?= $(shell n="$(subst demo:,,$(IN))"; n="$${n##*/}"; echo "$${n%.*}")
FUZZ_SECONDS ?= 60
METHODS ?= auto
DRAW    ?=

CONFIGURE = cmake -G Ninja -S . -DSUPPLE_WERROR=$(WERROR)
COMPILE = cmake --build $(BUILD) -j $(JOBS)
FORMATTED = git ls-files '*.c' '*.h' '*.cc'

.DEFAULT_GOAL := help
.PHONY: help deps build run test report benches bench results instructions format format-check tidy sanitize coverage fuzz corpus interop cluster docs install clean

help: ## this list
	@echo "Supple: physics-based skinning for rigged characters. make TARGET, with VARIABLE=VALUE where named:"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/    \1\t\2/p' Makefile | expand -t 20

deps: ## install what building and testing need (Debian 12, Ubuntu 24.04)
	@scripts/install-deps build test report

build: ## the tool at build/supple and the library at build/libsupple.so; names what is missing for it, and installs nothing
	@scripts/install-deps --check build
	@$(CONFIGURE) -B $(BUILD) -DCMAKE_BUILD_TYPE=$(TYPE) >$(BUILD)-configure.log 2>&1 \
		|| { cat $(BUILD)-configure.log; exit 1; }; rm -f $(BUILD)-configure.log
	@$(COMPILE)

run: ## skin a character: IN=FILE|demo:NAME METHOD= CLIP=; writes out/NAME.glb and out/NAME.png; installs what is missing
	@scripts/install-deps build
	@$(MAKE) --no-print-directory build
	@mkdir -p out
	$(BUILD)/supple skin "$(IN)" --method "$(METHOD)" $(if $(CLIP),--clip "$(CLIP)") \
		-o "out/$(NAME).glb" -o "out/$(NAME).png"
	@ls -l "out/$(NAME).glb" "out/$(NAME).png"

test: ## build and run every test; ends with "N passed, N failed"; installs what is missing
	@scripts/install-deps build test report
	@$(MAKE) --no-print-directory build
	@$(COMPILE) --target supple_tests
	@$(COMPILE) --target supple_report || echo "what tests the player of 'supple compare' is skipped" >&2
	@scripts/run-tests $(BUILD)

report: ## the page of `supple compare` with its 3D player at build/report/report.html; installs node and npm
	@scripts/install-deps report
	@$(MAKE) --no-print-directory build
	@$(COMPILE) --target supple_report

benches: build ## the programs that `supple bench` runs
	@$(COMPILE) --target supple_benches

bench: benches ## measure speed and memory on this machine
	@$(BUILD)/supple bench all

results: benches ## measure all, and write bench/RESULTS.md from it (keep the machine quiet for half an hour)
	@$(BUILD)/supple bench all --json >$(BUILD)/bench.json
	@scripts/bench-report $(BUILD)/bench.json >$(BUILD)/RESULTS.md && mv $(BUILD)/RESULTS.md bench/RESULTS.md

instructions: ## what a frame of each method costs, in instructions, beside bench/instructions.json
	@scripts/install-deps build test instructions
	@$(MAKE) --no-print-directory build
	@BUILD=$(BUILD) scripts/run-instructions

format: ## rewrite the sources in the house style
	@scripts/install-deps format
	@$(FORMATTED) | xargs clang-format -i

format-check: ## fail if `make format` would change something
	@scripts/install-deps format
	@$(FORMATTED) | xargs clang-format --dry-run -Werror && echo "format: clean"

tidy: ## clang-tidy on the whole tree (half an hour); scripts/run-tidy: on the lines that changed
	@scripts/install-deps build tidy
	@$(MAKE) --no-print-directory build
	@BUILD=$(BUILD) scripts/run-tidy --all

sanitize: ## every test under ASan and UBSan (build-asan), the threaded ones under TSan (build-tsan)
	@scripts/install-deps build test
	@scripts/run-sanitizers

coverage: ## which lines the tests run (build-coverage); pages in out/coverage, percentages here
	@scripts/install-deps build test coverage
	@scripts/run-coverage

fuzz: ## FUZZ_SECONDS=60 of libFuzzer per target, and 200 truncations of every glTF file of the tests
	@scripts/install-deps build test fuzz
	@$(MAKE) --no-print-directory build
	@scripts/run-fuzz $(FUZZ_SECONDS) 200

corpus: ## METHODS=auto on the characters beside the clone, if any (DRAW=8: of the day), against their own skinning
	@scripts/install-deps build test
	@$(MAKE) --no-print-directory build
	@scripts/run-corpus --tool $(BUILD)/supple --methods $(METHODS) $(if $(DRAW),--draw $(DRAW))

interop: ## our files in the Khronos validator, Blender, three.js in Chromium; pictures in out/interop
	@scripts/install-deps build test interop
	@$(MAKE) --no-print-directory report
	@scripts/run-interop $(BUILD)

cluster: ## one training by many processes: a shared folder, MPI, Slurm (as root); installs Open MPI and Slurm
	@scripts/install-deps build cluster
	@$(MAKE) --no-print-directory build
	@scripts/run-cluster $(BUILD)

docs: ## the library's reference in out/api/html, by Doxygen; fails if something public is undocumented
	@scripts/install-deps docs
	@mkdir -p out && doxygen docs/Doxyfile && echo "docs: out/api/html/index.html"

install: build ## install to DESTDIR/PREFIX (PREFIX=/usr/local); the player too if `make report` made it
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

clean: ## remove what the targets above made
	rm -rf build build-asan build-tsan build-coverage build-fuzz build-clang build-debug build-scalar out tests/interop/node_modules
