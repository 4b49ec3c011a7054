# Plimsoll's frame. `make` lists the targets; `make demo` and `make test` do all
# of their own set-up.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.NOTPARALLEL:
.DELETE_ON_ERROR:

# VERSION and COMMIT tell binaries apart; FUZZTIME is spent on each fuzz target.
# PREFIX is where make install puts things, below DESTDIR.
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT   ?= $(shell git rev-parse HEAD 2>/dev/null)
PREFIX   ?= /usr/local
FUZZTIME ?= 30s

GO      := $(CURDIR)/scripts/with-go go
AS_ROOT := $(CURDIR)/scripts/as-root
# Programs of tools/go.mod; what go builds once is kept in its cache.
LINT    := $(GO) tool -modfile=tools/go.mod golangci-lint

# scripts/with-go has the flags with which all is compiled: binaries are static and say the
# same wherever they are built.
BUILD := $(GO) build -ldflags "-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)"

# Suites go on when one fails, and end with a table: see scripts/run-tests.
SUITES := $(GO) run ./scripts/run-tests

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: setup-demo build ## install what is missing, build, compare nine stacks, show findings and a report
	$(AS_ROOT) ./plimsoll run quick

.PHONY: test
test: setup-build ## install what is missing, then run every check and test, as root: some 25 minutes
	$(SUITES)

.PHONY: soak
soak: setup-test build ## run the tests that take long by nature, some two hours: before a release and after changes to what they test
	$(SUITES) soak arm64 fuzz

.PHONY: check
check: setup-build ## format, lint and the tests that take no root and little time: up to 3 minutes
	$(SUITES) format lint layers quick kube kubelint

.PHONY: go-test
go-test: setup-build ## run the Go tests alone, as root; pictures of reports go to bin/screenshots
	PLIMSOLL_SCREENSHOTS=$(CURDIR)/bin/screenshots $(SUITES) measures pure host

.PHONY: lab-test
lab-test: setup-test build ## run the tests that need virtual machines, of an image that all clones share
	scripts/lab-test.sh

.PHONY: build
build: setup-build ## build ./plimsoll, one static binary
	$(BUILD) -o plimsoll ./cmd/plimsoll

.PHONY: kube-build
kube-build: setup-build ## build bin/plimsoll-kubernetes, the scheduler, extender and commands for clusters
	mkdir -p bin
	cd kubernetes && $(BUILD) -o ../bin/plimsoll-kubernetes ./cmd/plimsoll-kubernetes

# What the tests with real nodes run: a control plane and kubelets of the same version as the
# modules, and the container runtime, which has NRI.
KUBE_VERSION := -X k8s.io/component-base/version.gitVersion=v1.35.4 \
	-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=35
CONTAINERD   := github.com/containerd/containerd/v2/cmd
.PHONY: kube-test
kube-test: setup-test build kube-build ## run the tests that need kubelets and containerd, on this machine, as root; FLEET="density --budget 8m" measures that on both nodes, too
	mkdir -p bin/kube
	cd kubernetes/containerd && nice $(GO) build -ldflags "-s -w" -o ../../bin/kube/ \
		$(CONTAINERD)/containerd $(CONTAINERD)/containerd-shim-runc-v2 $(CONTAINERD)/ctr
	cd kubernetes && nice $(GO) build -tags providerless -ldflags "-s -w $(KUBE_VERSION)" -o ../bin/kube/ ./hyperkube
	cd kubernetes && $(GO) build -o ../bin/kube/ ./nodetest/pause
	cd kubernetes && $(GO) test -c -o ../bin/kube/nodetest ./nodetest
	cd kubernetes/nodetest && $(AS_ROOT) env PLIMSOLL_KUBE_BIN=$(CURDIR)/bin/kube PLIMSOLL_FLEET='$(FLEET)' \
		$(CURDIR)/bin/kube/nodetest -test.v -test.timeout 20m

# It builds nothing, so that "sudo make install" leaves nothing of root's here.
SHARE = $(DESTDIR)$(PREFIX)/share
.PHONY: install
install: ## install ./plimsoll, which make build builds, with its manual pages and completions, below PREFIX (/usr/local)
	@[ -x ./plimsoll ] || { echo "make install: there is no ./plimsoll yet: run make build first" >&2; exit 1; }
	install -D -m 755 plimsoll $(DESTDIR)$(PREFIX)/bin/plimsoll
	./plimsoll man $(SHARE)/man/man1
	mkdir -p $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	./plimsoll completion bash > $(SHARE)/bash-completion/completions/plimsoll
	./plimsoll completion zsh > $(SHARE)/zsh/site-functions/_plimsoll
	./plimsoll completion fish > $(SHARE)/fish/vendor_completions.d/plimsoll.fish

.PHONY: uninstall
uninstall: ## remove what make install installed
	rm -f $(DESTDIR)$(PREFIX)/bin/plimsoll $(SHARE)/man/man1/plimsoll{,-*}.1 \
		$(SHARE)/bash-completion/completions/plimsoll $(SHARE)/zsh/site-functions/_plimsoll $(SHARE)/fish/vendor_completions.d/plimsoll.fish

.PHONY: man
man: build ## write the manual pages into bin/man/man1
	./plimsoll man bin/man/man1

.PHONY: static
static: build ## check that the binary is static
	$(GO) run -C tools ./static $(CURDIR)/plimsoll

.PHONY: static-arm64
static-arm64: setup-build ## check that the binary for arm64 builds, and is static
	GOOS=linux GOARCH=arm64 $(BUILD) -o bin/plimsoll-linux-arm64 ./cmd/plimsoll
	$(GO) run -C tools ./static $(CURDIR)/bin/plimsoll-linux-arm64

.PHONY: format
format: setup-build ## check that every Go file is formatted
	@unformatted=$$($(CURDIR)/scripts/with-go gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi

.PHONY: lint
lint: setup-build ## run golangci-lint, go vet included
	$(LINT) run --allow-serial-runners ./...

.PHONY: kube-lint
kube-lint: setup-build ## the same for the module kubernetes
	linter=$$($(GO) tool -modfile=tools/go.mod -n golangci-lint); \
	cd kubernetes && nice $(CURDIR)/scripts/with-go $$linter run --allow-serial-runners ./...

.PHONY: layers
layers: setup-build ## prove that the linter's layering rules bite
	scripts/lint-layers-test.sh

.PHONY: toys
toys: setup-build ## prove that a new workload, database, layer, sampler or finding is one file and one line of each table
	scripts/toys-test.sh

.PHONY: fuzz
fuzz: setup-build ## run each fuzz target for FUZZTIME (30s)
	FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

.PHONY: bench-overhead
bench-overhead: setup-demo build ## compare bare fio with plimsoll on the same stack and job
	scripts/bench-overhead.sh

.PHONY: bench-stopping
bench-stopping: setup-build ## replay 68 series through the stopping rule: time saved, and how often it is right
	$(GO) run ./scripts/bench-stopping

.PHONY: bench-model
bench-model: setup-build ## train a model on one half of the points of kept runs, and predict the other: the table in docs/model.md
	$(GO) run ./scripts/bench-model

.PHONY: bench-study
bench-study: setup-build ## run the rule across trials on points whose truth is known: trials saved, and how often it is right
	$(GO) run ./scripts/bench-study

.PHONY: bench-aa
bench-aa: setup-demo ## measure copies of equal stacks: how many pairs are called different, and what slower is recognised
	mkdir -p bin
	$(GO) build -o bin/bench-aa ./scripts/bench-aa
	$(AS_ROOT) bin/bench-aa

.PHONY: bench-report
bench-report: setup-test ## open the report of a run of 200 trials in Chromium: how long it takes, and its size
	$(GO) test -count=1 -run '^$$' -bench BrowserOpensReport -benchtime 9x ./internal/report

.PHONY: bench-plan
bench-plan: setup-test ## plan 500 small fleets beside brute force, and large ones: how far from the bound, and how long it takes
	python3 -c "import highspy" 2>/dev/null && export HIGHS_PYTHON=python3; \
		FLEETS=500 $(GO) test -count=1 -run 'SmallFleets|HiGHS' -v -bench Plan -benchtime 1x ./internal/placement

.PHONY: bench-kube
bench-kube: setup-build ## place 2,000 pods on 1,000 nodes by the default scheduler and by IOFit: pods a second, and what they would do
	cd kubernetes/kwok && nice $(GO) build -ldflags "-s -w" -o ../../bin/kube/ sigs.k8s.io/kwok/cmd/kwok
	cd kubernetes && PLIMSOLL_KWOK=$(CURDIR)/bin/kube/kwok $(GO) test -count=1 -run '^$$' -bench Cluster -benchtime 1x ./scheduler 2>&1 | grep 'pods/s'

.PHONY: bench-trace
bench-trace: setup-test ## analyse captures of many shapes beside blkparse and btt: CPU time and memory
	scripts/bench-trace.sh

.PHONY: bench-record
bench-record: setup-demo ## tell what each way of recording block requests costs, on a loop device over memory
	mkdir -p bin
	$(GO) build -o bin/bench-record ./scripts/bench-record
	$(AS_ROOT) bin/bench-record

.PHONY: bench-load
bench-load: setup-build ## run the load generator at several rates on one CPU: how late operations begin
	mkdir -p bin
	$(GO) build -o bin/bench-load ./scripts/bench-load
	bin/bench-load

.PHONY: bench-clients
bench-clients: setup-build build ## drive the same servers with our clients and those of go-ycsb and go-tpc: the table in docs/databases.md
	mkdir -p bin/clients
	cp plimsoll bin/clients
	cd tools/clients && $(GO) build -o ../../bin/clients ./go-ycsb github.com/pingcap/go-tpc/cmd/go-tpc
	scripts/driver-sizes.sh
	$(GO) test -c -o bin/bench-clients ./internal/database/loader
	cd internal/database/loader && PLIMSOLL_BENCH_CLIENTS=$(CURDIR)/bin/clients $(AS_ROOT) $(CURDIR)/bin/bench-clients \
		-test.run '^$$' -test.bench Clients -test.benchtime 1x

.PHONY: bench-sample
bench-sample: setup-build ## take samples of 16 instances, a miniature, two devices and the host: how much of a core that costs
	mkdir -p bin
	$(GO) test -c -o bin/bench-sample ./internal/observe
	$(AS_ROOT) bin/bench-sample -test.run '^$$' -test.bench Sample

.PHONY: screenshots
screenshots: setup-test build ## take the README's pictures of the newest run's report
	scripts/screenshots.sh

.PHONY: clean
clean: ## remove what was built; runs, and what a crash left on the host, stay (see plimsoll clean)
	rm -rf plimsoll bin

.PHONY: setup-build setup-demo setup-test
setup-build setup-demo setup-test:
	@scripts/setup.sh $(@:setup-%=%)
