package archtest

// Rules are what [Check] enforces. Directories are relative to the module's
// root; "store" is that directory alone, "store/..." includes what is below it.
type Rules struct {
	// Module is the module path.
	Module string
	// Layers say what of the module a directory may import besides itself. The
	// most specific row counts; a directory without a row may import nothing.
	Layers []Layer
	// TestImports may be imported by every test file besides what its layer allows.
	TestImports []string
	// Libraries confine a library to some directories.
	Libraries []Library
	// Banned are functions that may be used in some directories only.
	Banned []Banned
	// BannedMethods may not be called on anything in the directories given.
	BannedMethods []BannedMethods
	// PackageNames say nothing about what a package is for.
	PackageNames []string
	// TestingIn are packages that may import testing outside of test files.
	TestingIn []string
	// MaxLines is how long a file written by hand may get; LongFiles are
	// exceptions, each with its reason.
	MaxLines  int
	LongFiles map[string]string
	// UntypedMaps are exported declarations ("dir.Name") that may mention
	// map[string]any, each with its reason.
	UntypedMaps map[string]string
}

// Layer is what the files of a directory may import from the module.
type Layer struct {
	Dir string
	May []string
}

// Library confines every package under Path to the files of In and, for tests,
// of Tests as well.
type Library struct {
	Path  string
	In    []string
	Tests []string
}

// Banned is a set of functions of one package.
type Banned struct {
	Package string
	Names   []string
	Except  []string
	// Tests says whether test files are held to it too.
	Tests bool
	// UnlessImported lifts the ban in a file with this import.
	UnlessImported string
	Instead        string
}

// BannedMethods is a set of methods, known by name alone.
type BannedMethods struct {
	In      []string
	Names   []string
	Instead string
}

// Chatkeep returns the rules of this code base.
func Chatkeep() Rules {
	contracts := []string{"store", "sessionmgr/chatctx", "models", "internal/..."}
	return Rules{
		Module: "github.com/chatkeep/chatkeep",

		// cmd → gateway → sessionmgr, adapters, agents → store, chatctx → models
		Layers: []Layer{
			{"cmd/...", []string{"..."}},
			{"internal/crashtest/...", []string{"..."}}, // drives the whole program
			{"internal/e2e/...", []string{"..."}},       // drives the whole gateway
			{"examples/...", []string{"..."}},           // programs of users of the product
			{"deploy", []string{"config"}},
			{"internal/...", []string{"internal/...", "models"}},

			{"models", nil},
			{"config/...", []string{"models", "sessionmgr/key", "internal/..."}},

			{"gateway/...", with(contracts, "gateway/...", "sessionmgr/...", "adapters", "agents", "config")},
			{"gateway/httpapi/...", with(contracts, "gateway/...", "sessionmgr/...", "adapters", "adapters/api", "agents", "config")},

			{"sessionmgr/...", with(contracts, "sessionmgr/...")},
			{"sessionmgr/key", []string{"models", "internal/..."}},
			{"sessionmgr/window", []string{"models", "sessionmgr/prune", "internal/..."}},
			{"sessionmgr/chatctx", []string{"models", "internal/..."}},

			{"adapters", contracts},
			{"adapters/adaptertest", with(contracts, "adapters")},
			{"adapters/feishu/...", with(contracts, "adapters", "adapters/feishu/...")},
			{"adapters/dingtalk/...", with(contracts, "adapters", "adapters/dingtalk/...")},
			{"adapters/api/...", with(contracts, "adapters", "adapters/api/...")},

			// What agents share is below agents/internal and agents/toolloop.
			{"agents/...", with(contracts, "agents", "agents/internal/...", "agents/toolloop")},
			{"agents", contracts},
			{"agents/mcp/...", with(contracts, "agents", "agents/internal/...", "agents/mcp/...")},

			{"store", []string{"models", "internal/..."}},
			{"store/storetest", []string{"store", "models", "internal/..."}},
			{"store/gormstore/...", []string{"store", "store/gormstore/...", "models", "internal/..."}},
			// One implementation of the semantics: memstore is gormstore in memory, filestore
			// gormstore with the sessions written out beside it.
			{"store/filestore/...", []string{"store", "store/gormstore", "store/filestore/...", "models", "internal/..."}},
			{"store/memstore/...", []string{"store", "store/gormstore", "store/memstore/...", "models", "internal/..."}},
		},
		TestImports: []string{
			"internal/...", "store", "models",
			"store/memstore", "store/gormstore", "store/filestore", "store/storetest", "sessionmgr/storagetest",
			"agents", "agents/echo", "agents/openai", "agents/webhook", "agents/mcp", "agents/mcp/mcptest", "agents/agenttest",
			"adapters", "adapters/adaptertest", "adapters/feishu/feishutest", "adapters/dingtalk/dingtalktest",
		},

		Libraries: []Library{
			{Path: "github.com/gin-gonic/gin", In: []string{"gateway/httpapi/..."}},
			{Path: "github.com/gin-contrib", In: []string{"gateway/httpapi/..."}},
			{Path: "gorm.io", In: []string{"store/gormstore/..."}},
			{Path: "github.com/libtnb/sqlite", In: []string{"store/gormstore/..."}},
			{Path: "modernc.org/sqlite", In: []string{"store/gormstore/..."}},
			{Path: "github.com/pressly/goose", In: []string{"store/gormstore/..."}},
			{
				Path: "github.com/go-sql-driver/mysql", In: []string{"store/gormstore/...", "config", "internal/testmysql"},
				Tests: []string{"cmd/...", "internal/crashtest/..."},
			},
			{Path: "github.com/larksuite", In: []string{"adapters/feishu/..."}},
			{Path: "github.com/open-dingtalk", In: nil}, // its stream client crashes the process on a lost pong
			{
				Path: "github.com/openai/openai-go", In: []string{"agents/openai/..."},
				Tests: []string{"gateway/httpapi/...", "cmd/..."}, // a stock client for our own endpoint
			},
			{
				Path: "github.com/modelcontextprotocol/go-sdk", In: []string{"agents/mcp/..."},
				Tests: []string{"agents/...", "cmd/..."},
			},
			{Path: "go.opentelemetry.io", In: []string{"internal/tracing/..."}},
			{Path: "github.com/spf13", In: []string{"cmd/..."}},
			{Path: "github.com/goccy/go-yaml", In: []string{"config/..."}, Tests: []string{"deploy", "cmd/...", "gateway/httpapi/..."}},
			{Path: "github.com/robfig/cron", In: []string{"internal/cronspec"}},
			{Path: "github.com/tiktoken-go/tokenizer", In: []string{"internal/tokens"}},
			{Path: "github.com/gorilla/websocket", In: []string{"adapters/..."}},
			{Path: "github.com/chromedp", In: []string{"internal/testbrowser"}, Tests: []string{"gateway/console/...", "gateway/httpapi/...", "cmd/..."}},
			{Path: "github.com/stretchr/testify", In: nil}, // the standard library's testing is enough
		},

		Banned: []Banned{
			{
				Package: "time", Names: []string{"Now", "Since", "Until"},
				Except: []string{"internal/clock"}, Instead: "take an internal/clock.Clock",
			},
			{
				Package: "time", Names: []string{"Sleep"}, Except: []string{"internal/clock"}, Tests: true,
				UnlessImported: "testing/synctest", // inside a bubble it costs nothing and is exact
				Instead:        "clock.Sleep with a context; in tests wait on a condition, or use testing/synctest",
			},
			{
				Package: "runtime/debug", Names: []string{"Stack"}, Except: []string{"internal/panics"},
				Instead: "internal/panics, which leaves out what a recovered value may quote",
			},
			{Package: "math/rand", Names: []string{"Seed"}, Tests: true, Instead: "math/rand/v2"},
		},
		BannedMethods: []BannedMethods{
			{
				In: []string{"store/gormstore/..."}, Names: []string{"Save", "FirstOrCreate", "AutoMigrate"},
				Instead: "guarded column updates and versioned migrations",
			},
		},

		PackageNames: []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base"},
		// feishutest and dingtalktest are missing on purpose: `chatkeep simulate` serves them.
		TestingIn: []string{
			"store/storetest", "sessionmgr/storagetest", "agents/agenttest", "adapters/adaptertest", "internal/testmysql",
			"internal/crashtest/...", "internal/testbrowser",
		},

		MaxLines:    500,
		LongFiles:   map[string]string{},
		UntypedMaps: map[string]string{},
	}
}

func with(base []string, more ...string) []string {
	return append(more, base...)
}
