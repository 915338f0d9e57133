package settings

import (
	"encoding/json"

	"github.com/fettle-dev/fettle/core/config/layout"
)

// Defaults returns what holds where no layer says otherwise, in the layout of
// fettle. In one with FullContent tools.changedRegionsAbove is 0.
func Defaults() Settings {
	var s Settings
	s.UseWriteTodos = true
	s.General = General{
		DefaultApprovalMode: "default", MaxAttempts: 10, RetryFetchErrors: true,
		Checkpointing:    Checkpointing{Enabled: true},
		SessionRetention: SessionRetention{Enabled: true, MaxAge: "30d", MinRetention: "1d"},
	}
	s.Output.Format = "text"
	s.UI.ErrorVerbosity = "low"
	s.UI.Animations = true
	s.Model = Model{Name: "auto", MaxSessionTurns: -1, CompressionThreshold: 0.5, SkipNextSpeakerCheck: true}
	s.Context = Context{
		ImportFormat: "tree", IncludeDirectoryTree: true, DiscoveryMaxDirs: 200, MemoryBoundaryMarkers: []string{".git"},
		FileFiltering: FileFiltering{
			RespectGitIgnore: true, RespectFettleIgnore: true, MaxFileCount: 20_000, EnableRecursiveFileSearch: true, EnableFuzzySearch: true,
		},
	}
	s.Tools = Tools{
		Sandbox:    Sandbox{NetworkAccess: true},
		Shell:      Shell{InactivityTimeout: 300, Timeout: 3600, BackgroundCompletionBehavior: "silent", Pager: "cat", ShowColor: true},
		UseRipgrep: true, TruncateToolOutputThreshold: 40_000, DeferSchemasAbove: 32 << 10, ChangedRegionsAbove: 16 << 10,
	}
	s.Web.Search.Method = "GET"
	s.MCP.Enabled = true
	s.Security = Security{EnablePermanentToolApproval: true, FolderTrust: FolderTrust{Enabled: true}}
	s.Advanced.ExcludedEnvVars = []string{"DEBUG", "DEBUG_MODE"}
	s.Agents.Enabled = true
	s.Skills.Enabled = true
	s.HooksConfig = HooksConfig{Enabled: true, Notifications: true}
	s.Telemetry = Telemetry{Target: "local", OTLPEndpoint: "http://localhost:4317", OTLPProtocol: "grpc", LogPrompts: true}
	return s
}

// defaultIn returns the value that a key has in a layout where no layer gives one.
func defaultIn(l layout.Layout, key string) (any, bool) {
	if key == "tools.changedRegionsAbove" && l.FullContent {
		return float64(0), true // as JSON holds it
	}
	v, ok := known().defaults[key]
	return v, ok
}

// valuesOf returns what settings hold, by the path of each key. Absent pointers,
// lists and maps are left out.
func valuesOf(root *node, s Settings) map[string]any {
	found := map[string]any{}
	text, err := json.Marshal(s)
	if err != nil {
		return found // a struct of plain values can be written
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return found // what was written can be read
	}
	var walk func(n *node, tree map[string]any)
	walk = func(n *node, tree map[string]any) {
		for name, below := range n.below {
			switch v := tree[name].(type) {
			case nil:
			case map[string]any:
				if below.key == nil {
					walk(below, v)
				} else {
					found[below.path] = v
				}
			default:
				found[below.path] = v
			}
		}
	}
	walk(root, tree)
	return found
}
