# Everything a contributor runs. Only Go is needed; what else a target wants, it fetches.

GO                ?= go
VERSION           ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS           := -s -w -X main.version=$(VERSION)
PKGS              ?= ./...
RUN               ?= .
COUNT             ?= 1
TEST_TIMEOUT      ?= 8m

CRASH_PKG         ?= ./internal/crashtest/...
CRASH_ROUNDS      ?= 50
CRASH_TIMEOUT     ?= 60m

BENCH             ?= .
BENCH_COUNT       ?= 1
BENCH_TIMEOUT     ?= 60m

GOLANGCI_VERSION  := v2.15.0
TOOLS             := $(CURDIR)/bin/tools
GOLANGCI          := $(TOOLS)/$(GOLANGCI_VERSION)/golangci-lint

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the static binary bin/chatkeep
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/chatkeep ./cmd/chatkeep

.PHONY: run
run: build ## build, then run the gateway with its defaults (SQLite, echo agent)
	bin/chatkeep serve

.PHONY: test
test: ## run every test, MySQL included (PKGS=./store/... RUN=Name to narrow)
	$(GO) test -timeout $(TEST_TIMEOUT) -count $(COUNT) -run '$(RUN)' $(PKGS)

.PHONY: test-race
test-race: ## the same under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -timeout 30m -count $(COUNT) -run '$(RUN)' $(PKGS)

.PHONY: crash
crash: ## kill the gateway at every crash point, CRASH_ROUNDS times each
	@$(GO) test -list '^TestCrash' $(CRASH_PKG) | grep -q '^TestCrash' || { echo 'no crash tests in $(CRASH_PKG)'; exit 1; }
	CHATKEEP_CRASH_ROUNDS=$(CRASH_ROUNDS) $(GO) test -timeout $(CRASH_TIMEOUT) -count 1 -v -run '^TestCrash' $(CRASH_PKG)

.PHONY: lint
lint: $(GOLANGCI) ## gofmt, go vet and golangci-lint
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		echo "not formatted (run 'make fmt'):"; echo "$$unformatted"; exit 1; fi
	$(GO) vet $(PKGS)
	$(GOLANGCI) run $(PKGS)

.PHONY: fmt
fmt: ## format the Go code
	gofmt -s -w .

.PHONY: bench
bench: ## run the benchmarks (BENCH=AppendTurn BENCH_COUNT=10 for benchstat)
	$(GO) test -timeout $(BENCH_TIMEOUT) -run '^$$' -bench '$(BENCH)' -benchmem -count $(BENCH_COUNT) $(PKGS)

.PHONY: generate
generate: ## run go generate
	$(GO) generate $(PKGS)

$(GOLANGCI):
	GOBIN=$(@D) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
