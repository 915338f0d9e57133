package settings

import (
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/editdistance"
)

// alias is an alternative path of a key or a group.
type alias struct{ from, to string }

// aliases returns the alternative paths: flat keys, older names, and names of
// gemini-cli. If a file sets both, the key itself takes precedence.
func aliases() []alias {
	return []alias{
		{"approvalMode", "general.defaultApprovalMode"},
		{"tools.approvalMode", "general.defaultApprovalMode"},
		{"checkpointing", "general.checkpointing"},
		{"fileFiltering", "context.fileFiltering"},
		{"context.fileFiltering.respectGeminiIgnore", "context.fileFiltering.respectFettleIgnore"},
		{"contextFileName", "context.fileName"},
		{"includeDirectories", "context.includeDirectories"},
		{"sandbox", "tools.sandbox"},
		{"tools.sandboxAllowedPaths", "tools.sandbox.allowedPaths"},
		{"tools.sandboxNetworkAccess", "tools.sandbox.networkAccess"},
		{"coreTools", "tools.core"},
		{"allowedTools", "tools.allowed"},
		{"excludeTools", "tools.exclude"},
		{"toolDiscoveryCommand", "tools.discoveryCommand"},
		{"toolCallCommand", "tools.callCommand"},
		{"fileReadCacheDisabled", "tools.fileReadCacheDisabled"},
		{"maxSessionTurns", "model.maxSessionTurns"},
		{"mcpEnabled", "mcp.enabled"},
		{"mcpServerCommand", "mcp.serverCommand"},
		{"allowMCPServers", "mcp.allowed"},
		{"excludeMCPServers", "mcp.excluded"},
		{"enableHooks", "hooksConfig.enabled"},
		{"enableAgents", "agents.enabled"},
		{"skillsSupport", "skills.enabled"},
		{"excludedProjectEnvVars", "advanced.excludedEnvVars"},
		{"preferredEditor", "general.preferredEditor"},
		{"theme", "ui.theme"},
	}
}

// foreign returns keys and groups of gemini-cli that fettle does not use; all
// unknown keys of ui count as such.
func foreign() []string {
	return []string{
		"ide", "privacy", "modelConfigs", "billing", "contextManagement", "experimental", "admin", "adminPolicyPaths",
		"general.openEditorInNewWindow", "general.vimMode", "general.devtools", "general.debugKeystrokeLogging", "general.logRagSnippets",
		"general.enableAutoUpdate", "general.enableAutoUpdateNotification", "general.disableAutoUpdate", "general.disableUpdateNag",
		"general.previewFeatures", "tools.autoAccept", "tools.enableToolOutputTruncation", "tools.truncateToolOutputLines", "tools.enableHooks",
		"model.chatCompression", "general.enableNotifications", "general.notificationMethod", "general.plan", "general.topicUpdateNarration",
		"agents.overrides", "agents.browser", "tools.disableLLMCorrection", "tools.shell.enableShellOutputEfficiency",
		"context.fileFiltering.disableFuzzySearch",
		"security.toolSandboxing", "security.auth", "security.enableConseca",
		"advanced.autoConfigureMemory", "advanced.dnsResolutionOrder", "advanced.bugCommand", "extensions.workspacesWithMigrationNudge",
	}
}

// shortForm is a single value that a file may give in place of a group.
type shortForm struct {
	group string
	kind  kind
	keys  []string // of the group, that receive the value; a key after ! receives true
}

// shortForms returns the short forms.
func shortForms() []shortForm {
	return []shortForm{
		{"model", aText, []string{"name"}},
		{"output", aText, []string{"format"}},
		{"telemetry", aBool, []string{"enabled"}},
		{"general.checkpointing", aBool, []string{"enabled"}},
		{"tools.sandbox", aBool, []string{"enabled"}},
		{"tools.sandbox", aText, []string{"command", "!enabled"}},
	}
}

// long expands a short form's value to the group's keys, nil if the group has no
// such short form.
func long(group string, value any) map[string]any {
	have := aMap
	switch value.(type) {
	case bool:
		have = aBool
	case string:
		have = aText
	}
	if group == "tools.sandbox" && value == sandboxNone {
		value, have = false, aBool
	}
	for _, s := range shortForms() {
		if s.group != group || s.kind != have {
			continue
		}
		keys := map[string]any{}
		for _, k := range s.keys {
			if name, ok := strings.CutPrefix(k, "!"); ok {
				keys[name] = true
			} else {
				keys[k] = value
			}
		}
		return keys
	}
	return nil
}

// shortFormOf returns the keys that a group's short forms set, without values;
// nil if the group has none.
func shortFormOf(group string) map[string]any {
	var keys map[string]any
	for _, s := range shortForms() {
		if s.group != group {
			continue
		}
		for _, k := range s.keys {
			if keys == nil {
				keys = map[string]any{}
			}
			keys[strings.TrimPrefix(k, "!")] = nil
		}
	}
	return keys
}

// Nearest returns the key, group or other name most similar to a mistyped one, ""
// if none is similar.
func Nearest(path string) string {
	candidates := slices.Collect(maps.Keys(known().byPath))
	for path := range known().byPath {
		for i := range path {
			if path[i] == '.' {
				candidates = append(candidates, path[:i]) // a group
			}
		}
	}
	for _, a := range aliases() {
		candidates = append(candidates, a.from)
		for key := range known().byPath {
			if rest, ok := strings.CutPrefix(key, a.to+"."); ok {
				candidates = append(candidates, a.from+"."+rest)
			}
		}
	}
	best := NearestOf(path, candidates)
	if best != "" {
		return best
	}
	// The right name at another path, as in older files.
	last := path[strings.LastIndexByte(path, '.')+1:]
	for _, k := range known().keys {
		if name := k.Path[strings.LastIndexByte(k.Path, '.')+1:]; strings.EqualFold(name, last) {
			if best != "" {
				return "" // several paths end with it
			}
			best = k.Path
		}
	}
	return best
}

// NearestOf returns the name most similar to a mistyped one, "" if none is
// similar.
func NearestOf(name string, names []string) string {
	best, least := "", 2+len(name)/5
	for _, c := range slices.Sorted(slices.Values(names)) {
		if d := distance(strings.ToLower(name), strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance returns the number of letters to insert, delete or change to turn a
// into b. It is large for long words and for words of very different lengths.
func distance(a, b string) int {
	if max(len(a)-len(b), len(b)-len(a)) > 8 || len(a) > 100 {
		return max(len(a), len(b))
	}
	return editdistance.Of([]byte(a), []byte(b))
}

// Means reports whether a name is that of a key or group, or of a part of it.
// Both may be alternative names.
func Means(name, group string) bool {
	n, of := named(name), named(group)
	return n != nil && of != nil && (n.path == of.path || strings.HasPrefix(n.path, of.path+"."))
}
