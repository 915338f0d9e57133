package main

import (
	"context"
	"fmt"
)

// Names of programs of npm packages.
const (
	gemini = "gemini"
	qwen   = "qwen"
)

// peerContestants returns the peers by the ID of their case. Peers that are missing have a reason
// in notCompared.
func peerContestants() map[string][]Contestant {
	all := map[string][]Contestant{
		"call/overhead":   {{geminiCore, Peer, inNode(coreNPM, coreDoesNothing)}},
		"read/1000-files": {{geminiCoreAlone, Peer, inNode(coreNPM, coreReadsMany)}},
		"read/unchanged":  {{geminiCore + ", which reads it again", Peer, viaCore(coreReads(1 << 20))[0].Prepare}},
		"schema/validate": {{geminiCore, Peer, inNode(coreNPM, coreValidates)}},
		"bus/ask":         {{geminiCore, Peer, inNode(coreNPM, coreAsks)}},
		"shell/true":      viaCore(coreRuns),
		"start/version":   {startOf(geminiNPM, gemini, "--version"), startOf(qwenNPM, qwen, "--version")},
		"start/help":      {startOf(geminiNPM, gemini, "--help"), startOf(qwenNPM, qwen, "--help")},
		"size/version":    {{gemini, Peer, agentPeak(geminiNPM, gemini, "--version")}, {qwen, Peer, agentPeak(qwenNPM, qwen, "--version")}},
		"size/help":       {{gemini, Peer, agentPeak(geminiNPM, gemini, "--help")}, {qwen, Peer, agentPeak(qwenNPM, qwen, "--help")}},
		"headless/turn":   {{gemini, Peer, prompted(newModelServer, geminiProgram, promptTime)}},
		"headless/memory": {{gemini, Peer, prompted(newModelServer, geminiProgram, promptPeak)}},
	}
	for _, size := range readSizes() {
		all["read/"+size.Name] = viaCore(coreReads(size.Bytes))
	}
	for _, n := range lineCounts() {
		all[fmt.Sprintf("patch/%d-lines", n)] = []Contestant{
			{gitApply, Peer, patching(n, "git", func(diff string) []string { return []string{"apply", diff} })},
			{gnuPatch, Peer, patching(n, "patch", func(diff string) []string { return []string{"-p1", "-s", "-i", diff} })},
			{jsdiff, Peer, inNode(jsdiffNPM, jsdiffApplies(n))},
		}
		all[fmt.Sprintf("edit/%d-lines", n)] = viaCore(coreEdits(n))
		all[fmt.Sprintf("write/%d-lines", n)] = viaCore(coreWrites(n))
	}
	for _, n := range ruleCounts() {
		for kind, call := range map[string]struct {
			tool string
			args map[string]any
		}{
			"plain":   {"read_file", map[string]any{"file_path": "/w/a.go"}},
			"pattern": {"write_file", map[string]any{"content": "package main\n\nfunc main() {}\n", "file_path": "a.go"}},
			"shell":   {"run_shell_command", map[string]any{"command": "git status --short | grep -v '^??' | wc -l"}},
		} {
			all[fmt.Sprintf("policy/%s-%d", kind, n)] = []Contestant{{geminiCore, Peer, inNode(coreNPM, coreDecides(n, call.tool, call.args))}}
		}
	}
	for _, n := range toolCounts() {
		all[fmt.Sprintf("registry/lookup-%d", n)] = []Contestant{{geminiCore, Peer, inNode(coreNPM, coreRegistry("lookup", n))}}
		for _, kind := range []string{"first", "cached"} { // it keeps no list of declarations
			all[fmt.Sprintf("registry/%s-%d", kind, n)] = []Contestant{{geminiCore, Peer, inNode(coreNPM, coreRegistry("declare", n))}}
		}
	}
	for _, n := range sessionCounts() {
		all[fmt.Sprintf("sessions/time-%d", n)] = []Contestant{{geminiCore, Peer, coreSessionsOf(n, creationOf(n))}}
		all[fmt.Sprintf("sessions/memory-%d", n)] = []Contestant{{geminiCore, Peer, coreSessionsOf(n, residentOf)}}
	}
	searchPeers(all)
	return all
}

// searchTree is a tree of the cases search/KEY-NAME, and the suffix of the names that its glob
// matches.
type searchTree struct {
	key, glob string
	get       func(*Lab, context.Context) (Tree, error)
}

func searchTrees() []searchTree {
	return []searchTree{{"generated", "*.ts", (*Lab).Generated}, {"go", "*_test.go", (*Lab).GoSource}}
}

// searchPeers adds the peers of the cases search/NAME.
func searchPeers(all map[string][]Contestant) {
	every := func(t Tree) int { return t.Files }
	aThird := func(t Tree) int { return t.Files / 3 }
	for _, tree := range searchTrees() {
		for _, p := range searchPatterns(tree.key) {
			id := "search/" + tree.key + "-" + p.Key
			all[id] = append(all[id], ripgrepSearch(tree.get, p))
			if p.Key != "rare" {
				continue
			}
			all[id] = append(all[id],
				Contestant{geminiCore + ", grep_search by ripgrep", Peer, inNode(coreNPM, coreSearches(tree.get, true, p))},
				Contestant{geminiCore + ", grep_search without it", Peer, inNode(coreNPM, coreSearches(tree.get, false, p))})
		}
		all["search/"+tree.key+"-walk"] = []Contestant{ripgrepFiles(tree.get, every), fdFiles(tree.get, every)}
		all["search/"+tree.key+"-glob"] = []Contestant{
			ripgrepFiles(tree.get, aThird, tree.glob), fdFiles(tree.get, aThird, tree.glob),
			{geminiCoreAlone, Peer, inNode(coreNPM, coreGlobs(tree.get, "**/"+tree.glob))},
		}
	}
}

func startOf(pkg, program, flag string) Contestant {
	want := func(version string) string { return version }
	if flag == "--help" {
		want = func(string) string { return "--" }
	}
	return Contestant{program, Peer, agentProgram(pkg, program, want, flag)}
}

// peerCases returns the cases that exist only for peers.
func peerCases() []Case { return chatCases() }

// notCompared lists, by peer and work, the comparisons that are not made, and why.
func notCompared() []struct{ Subject, Because string } {
	return []struct{ Subject, Because string }{
		{"qwen's tools in process", "its package is one bundled program and exports no tools"},
		{"grep_search of gemini-cli-core, except for a rare literal", "it is designed for a hundred matches; with many thousands a turn takes many seconds"},
		{"gemini-cli-core and diffs", "it has no tool that accepts a diff"},
		{"start/tools", "gemini and qwen have no command that lists tools"},
		{"bus/publish", "gemini-cli's bus calls listeners one after the other within publish, and has no queue to wait for"},
		{"sessions/goroutines", "Node has none"},
		{"MCP", "gemini and qwen are MCP clients without a command that serves their tools"},
	}
}
