package scaffold

import (
	"embed"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/tools"
)

//go:embed newtool/*.tmpl
var toolTemplates embed.FS

// fettleModule is the module of fettle itself, whose own tools are made otherwise
// than an embedder's.
const fettleModule = "github.com/fettle-dev/fettle"

// newTool is a tool that is to be written.
type newTool struct {
	Name    string // as count_words
	Type    string // as CountWords
	Var     string // as countWords
	Package string

	dir     string
	builtIn bool   // of fettle's own
	module  string // that it is written into; "": there is none
}

func newToolCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var dir, pkg string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tool NAME",
		Short: "Begin a tool in Go: its code, its test and its registration",
		Long: `Writes a tool that compiles and passes its test, to be made into what you need:
its code, a test that checks it against the whole contract of a tool, and a
func that registers it in a session of your program. NAME is what the model calls,
as count_words.

In fettle's own repository it writes a built-in tool, and says what else that
needs. No file that is there is touched.`,
		Example: `  fettle new tool count_words
  fettle new tool count_words --dir internal/agent`,
		Args: program.ExactlyOne("The name of the tool is needed.", "As in fettle new tool count_words."),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := planTool(program.Under(g, "."), args[0], dir, pkg)
			if err != nil {
				return err
			}
			files, err := t.write()
			if err != nil {
				return err
			}
			return tellWritten(p, newAnswer{Name: t.Name, Files: files, Next: t.next()}, asJSON)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`directory` of the package (default: one of the tool's name)")
	cmd.Flags().StringVar(&pkg, "package", "", "its `name` (default: that of the directory's Go files, else the directory's)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

var (
	toolWords   = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	packageName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	moduleLine  = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)
)

// planTool says what is to be written. cwd is the directory that is worked in.
func planTool(cwd, name, dir, pkg string) (newTool, error) {
	t := newTool{Name: name}
	_, known := policy.WellKnown(name)
	switch {
	case !toolWords.MatchString(name) || len(name) > tools.MaxNameLength:
		return t, program.UsageError(fmt.Sprintf("A tool cannot be called %q here.", name), fmt.Sprintf("Use words of a-z and 0-9 with _ between them, at most %d characters: count_words.", tools.MaxNameLength))
	case known:
		return t, program.UsageError(fmt.Sprintf("fettle has a tool %s of its own.", name), "Choose another name.")
	case strings.HasPrefix(name, "mcp_") || strings.HasPrefix(name, "discovered_tool_"):
		return t, program.UsageError(fmt.Sprintf("The name %s is like that of a tool of a server or a program.", name), "Choose another beginning.")
	}
	for _, word := range strings.Split(name, "_") {
		t.Type += string(unicode.ToUpper(rune(word[0]))) + word[1:]
	}
	t.Var = string(unicode.ToLower(rune(t.Type[0]))) + t.Type[1:]
	if token.IsKeyword(t.Var) || isPredeclared(t.Var) {
		t.Type, t.Var = t.Type+"Tool", t.Var+"Tool"
	}
	root, module := moduleAbove(cwd)
	t.module = module
	t.builtIn = module == fettleModule && dir == ""
	short := strings.ReplaceAll(name, "_", "")
	if token.IsKeyword(short) || isPredeclared(short) {
		short += "tool"
	}
	switch {
	case t.builtIn:
		t.dir = filepath.Join(root, "core", "tools", short)
	case dir == "":
		t.dir = filepath.Join(cwd, short)
	case filepath.IsAbs(dir):
		t.dir = dir
	default:
		t.dir = filepath.Join(cwd, dir)
	}
	there := packageOf(t.dir)
	switch t.Package = pkg; {
	case pkg == "" && there != "":
		t.Package = there
	case pkg == "":
		t.Package = strings.ToLower(strings.NewReplacer("-", "", ".", "").Replace(filepath.Base(t.dir)))
	case there != "" && there != pkg:
		return t, program.UsageError(fmt.Sprintf("The Go files in %s are of the package %s.", t.dir, there), "Leave --package out, or give another --dir.")
	}
	if !packageName.MatchString(t.Package) || token.IsKeyword(t.Package) || isPredeclared(t.Package) {
		return t, program.UsageError(fmt.Sprintf("%q is no name of a package.", t.Package), "Give one with --package: lower-case letters and digits.")
	}
	if t.builtIn && t.Package != short {
		return t, program.UsageError("A built-in tool's package is called "+short+" here.", "Leave --package out, or give --dir.")
	}
	return t, nil
}

// isPredeclared reports whether Go gives a name a meaning that code which is
// written needs.
func isPredeclared(name string) bool {
	switch name {
	case "string", "int", "error", "len", "append", "nil", "map", "any", "true", "false", "init",
		"context", "fmt", "fault", "strings", "tools", "config", "json", "testing", "scheduler", "configtest", "tooltest", "sync", "require", "byte", "factory", "factories", "services":
		return true
	}
	return false
}

// moduleAbove returns the directory and the name of the module that a directory is in,
// "" where it is in none.
func moduleAbove(dir string) (root, module string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", ""
	}
	for {
		if data, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil {
			if found := moduleLine.FindSubmatch(data); found != nil {
				return dir, string(found[1])
			}
			return dir, ""
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", ""
		}
		dir = parent
	}
}

// packageOf returns the package of the Go files in a directory, tests aside; "":
// there are none.
func packageOf(dir string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go")) // a directory whose name is a pattern has no package yet
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if name := packageClause(file); name != "" {
			return name
		}
	}
	return ""
}

// packageClause returns the name that a Go file gives its package; "": it does
// not begin like one.
func packageClause(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile(file, -1, len(text)), text, nil, 0)
	if _, first, _ := s.Scan(); first != token.PACKAGE {
		return ""
	}
	_, second, name := s.Scan()
	if second != token.IDENT || s.ErrorCount > 0 {
		return ""
	}
	return name
}

// templates are the files that are to be written, by their templates. Their names
// end so that no build takes the last word of the tool's for a system's.
func (t newTool) templates() (names, from []string) {
	if t.builtIn {
		return []string{t.Name + "_tool.go", t.Name + "_tool_test.go"}, []string{"builtin.go", "builtin_test.go"}
	}
	return []string{t.Name + "_tool.go", t.Name + "_tool_test.go", t.Name + "_register.go"}, []string{"tool.go", "tool_test.go", "register.go"}
}

// fill returns a template with the tool's names in it. The templates are written
// so that gofmt has nothing to change, whatever the names are. No text/template:
// a program that has it keeps each method of each of its types.
func (t newTool) fill(name string) (string, error) {
	text, err := toolTemplates.ReadFile("newtool/" + name + ".tmpl")
	if err != nil {
		return "", err // it is part of the program
	}
	return strings.NewReplacer("{{.Name}}", t.Name, "{{.Type}}", t.Type, "{{.Var}}", t.Var, "{{.Package}}", t.Package).Replace(string(text)), nil
}

// write writes the files. If one of them is there already none is written.
func (t newTool) write() (written []string, err error) {
	names, from := t.templates()
	texts := make([]string, len(names))
	for i, name := range names {
		if at := filepath.Join(t.dir, name); program.Exists(at) {
			return nil, fault.New(fault.AttemptToCreateExist, "cli.new", fmt.Sprintf("%s is there already; nothing has been written.", at), "Choose another name, or give another --dir.")
		}
		if texts[i], err = t.fill(from[i]); err != nil {
			return nil, err
		}
	}
	failed := func(path string, err error) error {
		for _, file := range written {
			_ = os.Remove(file) // the first error is the one to tell
		}
		return fault.Wrap(fault.FileWriteFailure, "cli.new", display.Sentence(fmt.Sprintf("%s cannot be written: %v", path, err)), "Give a --dir that you may write to.", err)
	}
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return nil, failed(t.dir, err)
	}
	for i, name := range names {
		at := filepath.Join(t.dir, name)
		file, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return nil, failed(at, err)
		}
		written = append(written, at)
		_, err = file.WriteString(texts[i])
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return nil, failed(at, err)
		}
	}
	return written, nil
}

// next says what is still to be done.
func (t newTool) next() []string {
	if t.builtIn {
		bound := fmt.Sprintf("bound.add(bind(c, %s.Factories, %s.Services{}, always))", t.Package, t.Package)
		return []string{
			"To make it one of fettle's own, add:",
			"1. core/config/builtin.go: " + bound + " in bindBuiltIns, and defaults(l, " + t.Package + ".Factories, always) in DefaultTools",
			`2. core/config/tools_test.go: "` + t.Name + `" in defaultTools`,
			`3. core/policy/wellknown.go: "` + t.Name + `": {kind: "think"} in wellKnown`,
			"4. docs/architecture.md: the row of core/tools/" + t.Package + " in the import table",
			`5. integration/toolpages_test.go: {"` + t.Package + `", specsOf(` + t.Package + `.Factories)} in toolFamilies`,
			"6. go test ./integration -run TestToolPages -update writes its page. docs/adding-a-tool.md says more.",
		}
	}
	next := []string{}
	if t.module == "" {
		next = append(next, "go mod init NAME makes a module of the directory, which it is not in yet.")
	}
	return append(next,
		"go get "+fettleModule+" fetches what it needs, and go test runs its test.",
		t.Package+".Register"+t.Type+"(&parameters) registers it, before config.New.")
}
