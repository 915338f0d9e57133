package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Contestant is a tool layer. A nil func means that it has no such tool.
type Contestant struct {
	Name    string
	Kind    string // MCP, npm in process, HTTP or command line
	Package string // npm
	Program string // Debian
	SetUp   string // the recommended one, for the page
	Refusal string // pattern of answers that refuse without being marked as errors
	Start   func(ctx context.Context, l *Lab, dir string, m Mode) (Session, error)

	Read    func(path string) Call
	More    func(path, answer string) (Call, bool) // the rest of a read that was cut
	Edit    func(c Change) Call
	Write   func(path, text, seen string) Call // seen: the last answer about the file; "": the file is new
	Patch   func(path, diff, seen string) Call
	Replace func(path, old, new string) Call
	Shell   func(command, dir string) Call
	Retry   func(path, refusal string) (Call, bool) // a refused change, made by what the refusal offers
}

var (
	hashPattern   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:sha256|hash)":"((?:sha256:)?[0-9a-f]{64})"`) })
	offsetPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"next_offset":(\d+)`) })
	retryPattern  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`retry-\d+`) })
	headerPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\[.*#[0-9A-F]{4}\]$`) })
)

// lastMatch returns the last match of a pattern's group, "" if there is none.
func lastMatch(p *regexp.Regexp, s string) string {
	all := p.FindAllStringSubmatch(s, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][p.NumSubexp()]
}

type args = map[string]any

// contestants returns all contestants, fettle first.
func contestants() []Contestant {
	return []Contestant{
		fettle(),
		{
			Name: "server-filesystem", Kind: "MCP", Package: "@modelcontextprotocol/server-filesystem", SetUp: "the directory as its argument",
			Start:   overMCP("@modelcontextprotocol/server-filesystem", "dist/index.js", func(dir string) []string { return []string{dir} }, nil),
			Read:    func(p string) Call { return Call{"read_text_file", args{"path": p}} },
			Edit:    func(c Change) Call { return replaceAs("edit_file", c.Path, c.Old, c.New) },
			Replace: func(p, old, new string) Call { return replaceAs("edit_file", p, old, new) },
			Write:   func(p, text, _ string) Call { return Call{"write_file", args{"path": p, "content": text}} },
		},
		{
			Name: "desktop-commander", Kind: "MCP", Package: "@wonderwhy-er/desktop-commander", SetUp: "without onboarding and telemetry; rm is in blockedCommands",
			Refusal: `^(Search content not found|Exact match not found|Expected \d+ occurrences)`,
			Start: overMCP("@wonderwhy-er/desktop-commander", "dist/index.js", func(string) []string { return []string{"--no-onboarding"} }, func(m Mode) []Call {
				set := func(key string, value any) Call {
					return Call{"set_config_value", args{"key": key, "value": value}}
				}
				if m == Default {
					return []Call{set("telemetryEnabled", false)}
				}
				return []Call{set("telemetryEnabled", false), set("blockedCommands", []string{"rm"})}
			}),
			Read: func(p string) Call { return Call{"read_file", args{"path": p}} },
			Edit: func(c Change) Call {
				return Call{"edit_block", args{"file_path": c.Path, "old_string": c.Old, "new_string": c.New}}
			},
			Replace: func(p, old, new string) Call {
				return Call{"edit_block", args{"file_path": p, "old_string": old, "new_string": new}}
			},
			Write: func(p, text, _ string) Call { return Call{"write_file", args{"path": p, "content": text}} },
			Shell: func(c, dir string) Call {
				return Call{"start_process", args{"command": "cd " + dir + " && " + c, "timeout_ms": 5000}}
			},
		},
		{
			Name: "gemini-cli-core", Kind: "npm in process", Package: "@google/gemini-cli-core", SetUp: "calls through its scheduler, edits approved, three lines around a change, a policy file that denies rm, no correction by a model",
			Refusal: `^Command injection detected`,
			Start:   inNode("gemini"),
			Read:    func(p string) Call { return Call{"read_file", args{"file_path": p}} },
			Edit: func(c Change) Call {
				return Call{"replace", args{"file_path": c.Path, "instruction": "Change it.", "old_string": c.Wide, "new_string": c.WideNew}}
			},
			Replace: func(p, old, new string) Call {
				return Call{"replace", args{"file_path": p, "instruction": "Change it.", "old_string": old, "new_string": new}}
			},
			Write: func(p, text, _ string) Call { return Call{"write_file", args{"file_path": p, "content": text}} },
			Shell: func(c, dir string) Call { return Call{"run_shell_command", args{"command": c, "dir_path": dir}} },
		},
		{
			Name: "qwen serve", Kind: "HTTP", Package: "@qwen-code/qwen-code", SetUp: "on the loopback, with the hash of the last answer; no model",
			Start: startQwen,
			Read:  func(p string) Call { return Call{"GET /file", args{"path": p}} },
			Edit: func(c Change) Call {
				return Call{"POST /file/edit", args{"path": c.Path, "oldText": c.Old, "newText": c.New, "expectedHash": lastMatch(hashPattern(), c.Seen)}}
			},
			Write: func(p, text, seen string) Call {
				if seen == "" {
					return Call{"POST /file/write", args{"path": p, "content": text, "mode": "create"}}
				}
				return Call{"POST /file/write", args{"path": p, "content": text, "mode": "replace", "expectedHash": lastMatch(hashPattern(), seen)}}
			},
		},
		{
			Name: "deepagents", Kind: "npm in process", Package: "deepagents", SetUp: "FilesystemBackend in virtual mode, in Node",
			Start: inNode("deepagents"),
			Read:  func(p string) Call { return Call{"read_file", args{"file_path": virtual(p)}} },
			Edit: func(c Change) Call {
				return Call{"edit_file", args{"file_path": virtual(c.Path), "old_string": c.Old, "new_string": c.New}}
			},
			Replace: func(p, old, new string) Call {
				return Call{"edit_file", args{"file_path": virtual(p), "old_string": old, "new_string": new}}
			},
			Write: func(p, text, _ string) Call {
				return Call{"write_file", args{"file_path": virtual(p), "content": text}}
			},
		},
		{
			Name: "hashline", Kind: "npm in process", Package: "@oh-my-pi/hashline", SetUp: "NodeFilesystem and InMemorySnapshotStore, in Bun",
			Start: inNode("hashline"),
			Read:  func(p string) Call { return Call{"read", args{"path": p}} },
			Edit: func(c Change) Call {
				var b strings.Builder
				b.WriteString(lastMatch(headerPattern(), c.Seen) + "\n")
				switch {
				case c.Last < c.First:
					fmt.Fprintf(&b, "PUT <%d:\n", c.First)
				case len(c.Lines) == 0:
					fmt.Fprintf(&b, "CUT %d.=%d\n", c.First, c.Last)
				default:
					fmt.Fprintf(&b, "PUT %d.=%d:\n", c.First, c.Last)
				}
				for _, l := range c.Lines {
					b.WriteString("+" + l + "\n")
				}
				return Call{"apply", args{"patch": b.String()}}
			},
		},
		{
			Name: "pi", Kind: "npm in process", Package: "@mariozechner/pi-coding-agent", SetUp: "its read, edit, write and bash tools",
			Start:   inNode("pi"),
			Read:    func(p string) Call { return Call{"read", args{"path": p}} },
			Edit:    func(c Change) Call { return replaceAs("edit", c.Path, c.Old, c.New) },
			Replace: func(p, old, new string) Call { return replaceAs("edit", p, old, new) },
			Write:   func(p, text, _ string) Call { return Call{"write", args{"path": p, "content": text}} },
		},
		{
			Name: "git apply", Kind: "command line", Program: "git", SetUp: "in the directory of the file",
			Start: startCommand, Read: catFile,
			Edit:  func(c Change) Call { return pipedTo(c.Path, c.Diff, "git", "apply", "-") },
			Patch: func(p, diff, _ string) Call { return pipedTo(p, diff, "git", "apply", "-") },
		},
		{
			Name: "GNU patch", Kind: "command line", Program: "patch", SetUp: "-p1, without files of rejects and backups",
			Start: startCommand, Read: catFile,
			Edit:  func(c Change) Call { return gnuPatch(c.Path, c.Diff) },
			Patch: func(p, diff, _ string) Call { return gnuPatch(p, diff) },
		},
		{
			Name: "jsdiff", Kind: "npm in process", Package: "diff", SetUp: "applyPatch between a read and a write of the file",
			Start: inNode("jsdiff"), Read: catFile,
			Edit:  func(c Change) Call { return Call{"apply", args{"path": c.Path, "patch": c.Diff}} },
			Patch: func(p, diff, _ string) Call { return Call{"apply", args{"path": p, "patch": diff}} },
		},
	}
}

// fettle is fettle over MCP.
func fettle() Contestant {
	patch := func(path, diff, seen string) Call {
		return Call{"safe_patch", args{"file_path": path, "unified_diff": diff, "base_content_sha256": lastMatch(hashPattern(), seen)}}
	}
	return Contestant{
		Name: "fettle", Kind: "MCP", SetUp: "fettle --approval-mode auto_edit mcp serve, and a policy file that denies rm",
		Start: startFettle,
		Read:  func(p string) Call { return Call{"read_file", args{"file_path": p}} },
		More: func(p, answer string) (Call, bool) {
			next := offsetPattern().FindStringSubmatch(answer)
			if next == nil || lastMatch(hashPattern(), answer) != "" {
				return Call{}, false
			}
			return Call{"read_file", args{"file_path": p, "offset": json.Number(next[1])}}, true
		},
		Edit:  func(c Change) Call { return patch(c.Path, c.Diff, c.Seen) },
		Patch: patch,
		Write: func(p, text, seen string) Call {
			if seen == "" {
				return Call{"write_file", args{"file_path": p, "content": text}}
			}
			return Call{"write_file", args{"file_path": p, "content": text, "base_content_sha256": lastMatch(hashPattern(), seen)}}
		},
		Shell: func(c, dir string) Call { return Call{"run_shell_command", args{"command": c, "dir_path": dir}} },
		Retry: func(p, refusal string) (Call, bool) {
			token := retryPattern().FindString(refusal)
			return patch(p, token, refusal), token != ""
		},
	}
}

// replaceAs is the call of a tool with a list of replacements.
func replaceAs(tool, path, old, new string) Call {
	return Call{tool, args{"path": path, "edits": []args{{"oldText": old, "newText": new}}}}
}

// virtual returns a path in the directory of a case, below the root of all cases.
func virtual(path string) string {
	return "/" + filepath.ToSlash(filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)))
}

func startCommand(_ context.Context, _ *Lab, dir string, _ Mode) (Session, error) {
	return &commandSession{dir: dir}, nil
}

func catFile(path string) Call { return Call{"read", args{"path": path}} }

func pipedTo(path, stdin, program string, argv ...string) Call {
	return Call{program, args{"args": argv, "stdin": stdin, "dir": filepath.Dir(path)}}
}

func gnuPatch(path, diff string) Call {
	return pipedTo(path, diff, "patch", "-p1", "-s", "-f", "--no-backup-if-mismatch", "-r", "-")
}
