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
	"sync"
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

// fettleModule is the module of fettle, whose built-in tools differ from an
// embedder's tools.
const fettleModule = "github.com/fettle-dev/fettle"

// newTool is a tool to create.
type newTool struct {
	Name    string // such as count_words
	Type    string // such as CountWords
	Var     string // such as countWords
	Package string

	dir     string
	builtIn bool   // built into fettle
	module  string // of the package; "": none
}

func newToolCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var dir, pkg string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tool NAME",
		Short: "Create a tool in Go with its test and its registration",
		Long: `Creates a tool that compiles and passes its test, as a starting point: its code, a
test that checks it against the contract of a tool, and a function that registers it
in a session of your program. NAME is the tool name for the model, such as
count_words.

In fettle's own repository it creates a built-in tool and lists the remaining steps.
Existing files are not changed.`,
		Example: `  fettle new tool count_words
  fettle new tool count_words --dir internal/agent`,
		Args: program.ExactlyOne("The tool name is missing.", "Example: fettle new tool count_words."),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := planTool(program.Under(g, "."), args[0], dir, pkg)
			if err != nil {
				return err
			}
			files, err := t.write()
			if err != nil {
				return err
			}
			return printWritten(p, newAnswer{Name: t.Name, Files: files, Next: t.next()}, asJSON)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`directory` of the package (default: named after the tool)")
	cmd.Flags().StringVar(&pkg, "package", "", "package `name` (default: that of the directory's Go files, otherwise the directory's)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

var (
	toolWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	})
	packageName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	})
	moduleLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)
	})
)

// planTool returns the tool to create. cwd is the working directory.
func planTool(cwd, name, dir, pkg string) (newTool, error) {
	t := newTool{Name: name}
	_, known := policy.WellKnown(name)
	switch {
	case !toolWords().MatchString(name) || len(name) > tools.MaxNameLength:
		return t, program.UsageError(fmt.Sprintf("Invalid tool name %q.", name), fmt.Sprintf("Use words of a-z and 0-9 with _ between them, at most %d characters: count_words.", tools.MaxNameLength))
	case known:
		return t, program.UsageError(fmt.Sprintf("fettle has a built-in tool %s.", name), "Choose another name.")
	case strings.HasPrefix(name, "mcp_") || strings.HasPrefix(name, "discovered_tool_"):
		return t, program.UsageError(fmt.Sprintf("The name %s has the prefix of MCP tools or discovered tools.", name), "Choose another prefix.")
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
		return t, program.UsageError(fmt.Sprintf("The Go files in %s belong to package %s.", t.dir, there), "Omit --package, or give another --dir.")
	}
	if !packageName().MatchString(t.Package) || token.IsKeyword(t.Package) || isPredeclared(t.Package) {
		return t, program.UsageError(fmt.Sprintf("%q is not a valid package name.", t.Package), "Give one with --package: lower-case letters and digits.")
	}
	if t.builtIn && t.Package != short {
		return t, program.UsageError("The package of this built-in tool must be called "+short+" here.", "Omit --package, or give --dir.")
	}
	return t, nil
}

// isPredeclared reports whether a name is a predeclared identifier that the generated
// code needs.
func isPredeclared(name string) bool {
	switch name {
	case "string", "int", "error", "len", "append", "nil", "map", "any", "true", "false", "init",
		"context", "fmt", "fault", "strings", "tools", "config", "json", "testing", "scheduler", "configtest", "tooltest", "sync", "require", "byte", "factory", "factories", "services":
		return true
	}
	return false
}

// moduleAbove returns the root directory and the path of the module that contains a
// directory, "" if there is none.
func moduleAbove(dir string) (root, module string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", ""
	}
	for {
		if data, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil {
			if found := moduleLine().FindSubmatch(data); found != nil {
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

// packageOf returns the package of the Go files in a directory, without tests; "":
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

// packageClause returns the package name of a Go file; "": it does not start with a
// package clause.
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

// templates returns the files to create and their templates. The suffix of the names
// ensures that the last word of the tool is not taken for a GOOS or GOARCH.
func (t newTool) templates() (names, from []string) {
	if t.builtIn {
		return []string{t.Name + "_tool.go", t.Name + "_tool_test.go"}, []string{"builtin.go", "builtin_test.go"}
	}
	return []string{t.Name + "_tool.go", t.Name + "_tool_test.go", t.Name + "_register.go"}, []string{"tool.go", "tool_test.go", "register.go"}
}

// fill returns a template with the names of the tool. The result is formatted as by
// gofmt for all names. It does not use text/template, because a program that links it
// keeps every method of every type.
func (t newTool) fill(name string) (string, error) {
	text, err := toolTemplates.ReadFile("newtool/" + name + ".tmpl")
	if err != nil {
		return "", err // it is embedded in the program
	}
	return strings.NewReplacer("{{.Name}}", t.Name, "{{.Type}}", t.Type, "{{.Var}}", t.Var, "{{.Package}}", t.Package).Replace(string(text)), nil
}

// write creates the files. If one of them exists, it creates none.
func (t newTool) write() (written []string, err error) {
	names, from := t.templates()
	texts := make([]string, len(names))
	for i, name := range names {
		if at := filepath.Join(t.dir, name); program.Exists(at) {
			return nil, fault.New(fault.AttemptToCreateExist, "cli.new", fmt.Sprintf("%s already exists; no file was created.", at), "Choose another name, or give another --dir.")
		}
		if texts[i], err = t.fill(from[i]); err != nil {
			return nil, err
		}
	}
	failed := func(path string, err error) error {
		for _, file := range written {
			_ = os.Remove(file) // the first error is reported
		}
		return fault.Wrap(fault.FileWriteFailure, "cli.new", display.Sentence(fmt.Sprintf("cannot write %s: %v", path, err)), "Give a writable --dir.", err)
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

// next lists the remaining steps.
func (t newTool) next() []string {
	if t.builtIn {
		bound := fmt.Sprintf("bound.add(bind(c, %s.Factories, %s.Services{}, always))", t.Package, t.Package)
		return []string{
			"To make it a built-in tool, add:",
			"1. core/config/builtin.go: " + bound + " in bindBuiltIns, and defaults(l, " + t.Package + ".Factories, always) in DefaultTools",
			`2. core/config/tools_test.go: "` + t.Name + `" in defaultTools`,
			`3. core/policy/wellknown.go: "` + t.Name + `": {kind: "think"} in wellKnown`,
			"4. docs/architecture.md: the row of core/tools/" + t.Package + " in the import table",
			`5. integration/toolpages_test.go: {"` + t.Package + `", specsOf(` + t.Package + `.Factories)} in toolFamilies`,
			"6. go test ./integration -run TestToolPages -update creates its page. See docs/adding-a-tool.md.",
		}
	}
	next := []string{}
	if t.module == "" {
		next = append(next, "go mod init NAME creates a module for the directory.")
	}
	return append(next,
		"go get "+fettleModule+" fetches the dependencies, and go test runs the test.",
		t.Package+".Register"+t.Type+"(&parameters) registers it, before config.New.")
}
