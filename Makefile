# Plimsoll's frame. `make` lists the targets; `make demo` and `make test` do all
# of their own set-up.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.NOTPARALLEL:
.DELETE_ON_ERROR:

# What is built here is of COMMIT; a release is VERSION, by MAINTAINER. FUZZTIME is spent on
# each fuzz target. PREFIX is where make install puts things, below DESTDIR.
VERSION    ?= $(shell cat internal/cli/buildinfo/VERSION)
COMMIT     ?= $(shell git describe --always --abbrev=40 --dirty --exclude '*' 2>/dev/null)
MAINTAINER ?= The maintainers of Plimsoll <plimsoll@localhost>
PREFIX   ?= /usr/local
FUZZTIME ?= 30s
# KUBE_PACKAGES is what make kube-lint looks at, of the module kubernetes; KUBE_TEST is how
# make kube-nodes shows its tests.
KUBE_PACKAGES ?= ./...
KUBE_TEST     ?= -v

GO      := $(CURDIR)/scripts/with-go go
AS_ROOT := $(CURDIR)/scripts/as-root
# Programs of tools/go.mod; what go builds once is kept in its cache.
LINT    := $(GO) tool -modfile=tools/go.mod golangci-lint

# scripts/with-go has the flags with which all is compiled: binaries are static and say the
# same wherever they are built.
BUILD := $(GO) build -ldflags "-s -w -X plimsoll/internal/cli/buildinfo.commit=$(COMMIT)"

# Suites go on when one fails, and end with a table: see scripts/run-tests.
SUITES := $(GO) run ./scripts/run-tests

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: setup-demo build ## install what is missing, build, compare eight stacks, show findings and a report
	$(AS_ROOT) ./plimsoll run quick

.PHONY: test
test: setup-build ## install what is missing, then run every check and test, as root: about 25 minutes
	$(SUITES)

.PHONY: soak
soak: setup-test build ## run all tests, those that take long by nature included: some hours, before a release
	PLIMSOLL_TEST_SOAK=1 $(SUITES) measures pure race host lab arm64 fuzz control nodes kuberace alllint skew loaded release

.PHONY: test-under-load
test-under-load: setup-build ## make test, while two busy loops for each processor and a fio on the disk run beside it
	env -u PLIMSOLL_TEST_SOAK scripts/under-load.sh $(SUITES)

.PHONY: attack
attack: setup-build ## run the tests of make test that attack plimsoll as an adversary would, as root, in seconds once compiled
	$(SUITES) attack

.PHONY: race
race: setup-test ## run the tests of make test that the race detector watches: about two minutes once compiled
	$(SUITES) race

.PHONY: check
check: setup-build ## format, lint and the tests that take no root and little time: up to 4 minutes
	$(SUITES) format lint layers toys static quick kube chart alllint evvet

.PHONY: go-test
go-test: setup-build ## run the Go tests alone, as root; pictures of reports go to bin/screenshots
	PLIMSOLL_SCREENSHOTS=$(CURDIR)/bin/screenshots $(SUITES) measures pure host

.PHONY: lab-test
lab-test: setup-test build ## run the tests that need virtual machines, of an image that all clones share
	scripts/lab-test.sh

.PHONY: build
build: setup-build ## build ./plimsoll, one static binary
	$(BUILD) -o plimsoll ./cmd/plimsoll
	@mkdir -p bin
	@$(GO) run ./scripts/release licenses plimsoll > bin/plimsoll.licenses

# MINOR is the minor version of Kubernetes that kubernetes/ is compiled with, if not that of its go.mod: 1.36 or 1.37.
# KUBE is the version that its programs say they are of, to API servers and in metrics.
MINOR        ?=
KUBE_MOD     := go$(MINOR:%=-%).mod
KUBE         := $(shell awk '$$1 == "k8s.io/kubernetes" { print $$2; exit }' kubernetes/$(KUBE_MOD))
KUBE_VERSION := -X k8s.io/component-base/version.gitVersion=$(KUBE) \
	-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(KUBE)))

.PHONY: kube-build
kube-build: setup-build ## build bin/plimsoll-kubernetes, the scheduler, extender and commands for clusters; with MINOR=1.37 for these
	mkdir -p bin
	cd kubernetes && $(GO) build -modfile=$(KUBE_MOD) -ldflags "-s -w -X plimsoll/internal/cli/buildinfo.commit=$(COMMIT) $(KUBE_VERSION)" \
		-o ../bin/plimsoll-kubernetes$(MINOR:%=-%) ./cmd/plimsoll-kubernetes

.PHONY: kube-skew
kube-skew: setup-build ## the scheduler of each minor version of Kubernetes places pods with API servers of its own version and the next
	scripts/kube-skew.sh

# What the tests with real nodes run: a control plane and kubelets of the same version as the
# modules, and the container runtime, which has NRI.
CONTAINERD   := github.com/containerd/containerd/v2/cmd
.PHONY: kube-test
kube-test: setup-test ## run all tests of kubernetes/, its scheduler's and those on kubelets of this machine included, as root
	$(SUITES) control nodes kuberace alllint

.PHONY: kube-nodes
kube-nodes: setup-test build kube-build ## of these, what needs kubelets and containerd; FLEET="density --budget 8m" measures that on both nodes, too
	mkdir -p bin/kube
	cd kubernetes/containerd && nice $(GO) build -ldflags "-s -w" -o ../../bin/kube/ \
		$(CONTAINERD)/containerd $(CONTAINERD)/containerd-shim-runc-v2 $(CONTAINERD)/ctr
	cd kubernetes && nice $(GO) build -tags providerless -ldflags "-s -w $(KUBE_VERSION)" -o ../bin/kube/ ./hyperkube
	cd kubernetes && $(GO) build -o ../bin/kube/ ./nodetest/pause
	cd kubernetes/helm && nice $(GO) build -ldflags "-s -w" -o ../../bin/kube/ helm.sh/helm/v3/cmd/helm
	cd kubernetes && PLIMSOLL_KUBE_BIN=$(CURDIR)/bin/kube PLIMSOLL_FLEET='$(FLEET)' \
		$(GO) test $(KUBE_TEST) -count=1 -timeout 45m -ldflags "$(KUBE_VERSION)" -exec $(AS_ROOT) ./nodetest

# It builds nothing, so that "sudo make install" leaves nothing of root's here. What is installed is
# what packages have, by scripts/lay-out.
.PHONY: install
install: ## install ./plimsoll, which make build builds, with its manual pages and completions, below PREFIX (/usr/local)
	@[ -x ./plimsoll ] || { echo "make install: there is no ./plimsoll yet: run make build first" >&2; exit 1; }
	scripts/lay-out plimsoll bin/plimsoll.licenses $(DESTDIR)$(PREFIX)

.PHONY: uninstall
uninstall: ## remove what make install installed
	@[ -x ./plimsoll ] || { echo "make uninstall: ./plimsoll says what to remove: run make build first" >&2; exit 1; }
	tree=$$(mktemp -d); trap 'rm -rf "$$tree"' EXIT; \
	scripts/lay-out plimsoll bin/plimsoll.licenses "$$tree"; \
	(cd "$$tree"; find . ! -type d -printf '%P\0') | (cd $(DESTDIR)$(PREFIX); xargs -0 rm -f); \
	if [ -d $(DESTDIR)$(PREFIX)/share/doc/plimsoll ]; then find $(DESTDIR)$(PREFIX)/share/doc/plimsoll -type d -empty -delete; fi

.PHONY: release
release: setup-build ## make archives, packages, image, lists of modules and checksums of VERSION in bin/release, of what is committed
	@[ -z "$$(git status --porcelain)" ] || { echo "make release: commit or stash what git status shows" >&2; exit 1; }
	scripts/with-go nice go run ./scripts/release --version $(VERSION) --commit $(COMMIT) \
		--date "$$(git log -1 --format=%ct)" --maintainer '$(MAINTAINER)'

.PHONY: image
image: setup-build ## make the image of plimsoll-kubernetes for amd64 and arm64, as an OCI archive in bin/image; MINOR=1.37 for these clusters
	scripts/with-go nice go run ./scripts/release --only image --minor '$(MINOR)' --out bin/image --version $(VERSION) \
		--commit $(COMMIT) --date "$$(git log -1 --format=%ct)"

.PHONY: changelog
changelog: setup-build ## move the fragments of changelog/unreleased into the section of VERSION in CHANGELOG.md
	$(GO) run ./scripts/changelog

.PHONY: release-check
release-check: ## make the release twice, of two clones of what is committed, and compare all bytes
	scripts/release-check.sh

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
kube-lint: setup-build ## the same for the module kubernetes, or some packages of it: KUBE_PACKAGES="./fleet ./node"
	linter=$$($(GO) tool -modfile=tools/go.mod -n golangci-lint); \
	cd kubernetes && nice $(CURDIR)/scripts/with-go $$linter run --allow-serial-runners $(KUBE_PACKAGES)

.PHONY: evidence-lint evidence-vet
evidence-lint: setup-build ## the same for the module evidence, which measures plimsoll itself
	linter=$$($(GO) tool -modfile=tools/go.mod -n golangci-lint); \
	cd evidence && nice $(CURDIR)/scripts/with-go $$linter run --allow-serial-runners ./...

evidence-vet: setup-build ## check that the module evidence compiles, and vet it
	$(GO) build -C evidence -o /dev/null ./...
	$(GO) vet -C evidence ./...

.PHONY: layers
layers: setup-build ## prove that the linter's layering rules bite
	scripts/lint-layers-test.sh

.PHONY: toys
toys: setup-build ## prove that a new workload, database, layer, file system, sampler, finding or column is one file and one line of each table
	scripts/toys-test.sh

.PHONY: fuzz
fuzz: setup-build ## run each fuzz target for FUZZTIME (30s)
	FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

.PHONY: bench
bench: setup-build ## list what measures plimsoll itself; run one of them: NAME=record ARGS="-rounds 9". docs/evidence has the results
	@mkdir -p bin
	@$(GO) build -C evidence -o ../bin/evidence .
	@bin/evidence $(NAME) $(ARGS)

.PHONY: pictures
pictures: setup-test build ## measure for twenty minutes what the pages quote, keep it in docs/runs, and draw docs/pictures; then quote it on the pages
	scripts/pictures.sh

.PHONY: screenshots
screenshots: setup-test build ## take pictures of the newest run's report, as a desk, a phone and paper show it
	scripts/screenshots.sh

.PHONY: clean
clean: ## remove what was built; runs, and what a crash left on the host, stay (see plimsoll clean)
	rm -rf plimsoll bin

.PHONY: setup-build setup-demo setup-test
setup-build setup-demo setup-test:
	@scripts/setup.sh $(@:setup-%=%)
