package commandfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// Dir is a directory that may contain commands, as files *.toml in it and in its subdirectories.
type Dir struct {
	Path string // absolute; a missing one has none. With Markdown it may be a file
	// Markdown: the commands are files *.md, as those of Claude Code.
	Markdown bool
	// Namespace precedes the names of the commands, with a colon. "": none.
	Namespace string
	// Extension and ID identify its extension; "" if it has none.
	Extension, ID string
	// Variables are available in the prompts as ${NAME}: unchanged in text and paths, quoted
	// in commands. Unknown names are left unchanged.
	Variables map[string]string
}

// Options configure a loader of files. Shell and Files are required to run its
// commands.
type Options struct {
	Dirs  []Dir // in order: of two commands with the same name the later wins
	Shell Shell
	Files Files
	// Hold is called before a command reads files. The returned function is called after
	// the expansion, with whether the prompt is submitted. nil: no call.
	Hold func(ctx context.Context) (context.Context, func(submitted bool))
}

// New returns the loader of commands in TOML files, and in Markdown files for directories
// that say so; see [Dir]. A TOML file has a prompt, and may have a
// description; other keys are ignored. In the prompt {{args}} is replaced by the
// arguments, @{PATH} by the content of a file, and !{COMMAND} by the output of a command.
// Inserted text is never expanded again. In @{…} and !{…} braces are counted, so that
// commands may contain pairs of braces; there are no escapes. A command with a brace that
// is not closed fails with code invalid_config when it is run. The name is the path
// in the directory, without .toml and with ":" for each slash. In each part any
// character but A-Z, a-z, 0-9, "_", "." and "-" becomes "_", and a part of more than 50
// characters is cut to 47 and "...". An invalid file is a Problem, with its line, and
// affects no other. Links that lead out of the directory and links to directories are
// not followed.
func New(o Options) commands.Loader { return &fileLoader{o} }

type fileLoader struct{ o Options }

func (l *fileLoader) Name() string { return "files" }

func (l *fileLoader) Load(ctx context.Context) ([]*commands.Command, []fault.Problem, error) {
	var all []*commands.Command
	var problems []fault.Problem
	for _, f := range l.o.Dirs {
		w := &walk{options: l.o, dir: f}
		if err := w.run(ctx); err != nil {
			return nil, nil, err
		}
		all, problems = append(all, w.found...), append(problems, w.problems...)
	}
	return all, problems, nil
}

// Bounds of a directory and a file.
const (
	maxFile  = 1 << 20
	maxFiles = 5000 // of one directory, including subdirectories
	maxDepth = 16
)

// walk is the scan of one directory.
type walk struct {
	options  Options
	dir      Dir
	root     *os.Root
	seen     int
	found    []*commands.Command
	problems []fault.Problem
}

// run reads the directory. The error is that of ctx.
func (w *walk) run(ctx context.Context) error {
	dir, only := w.dir.Path, ""
	if info, err := os.Stat(dir); w.dir.Markdown && err == nil && info.Mode().IsRegular() {
		dir, only = filepath.Split(dir)
		w.dir.Path = filepath.Clean(dir)
	}
	root, err := os.OpenRoot(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		w.fail(w.dir.Path, 0, "The directory of commands cannot be read: "+cause(err)+".", "Check that it is a directory, and who may read it.")
		return nil
	}
	defer root.Close()
	w.root = root
	if only != "" {
		w.file(only)
		return ctx.Err()
	}
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			w.fail(w.path(path), 0, "It cannot be read: "+cause(err)+".", "Check who may read it.")
		case d.IsDir() && strings.Count(path, "/") >= maxDepth:
			w.fail(w.path(path), 0, fmt.Sprintf("The directory is nested more than %d deep and was not read.", maxDepth), "")
			return fs.SkipDir
		case d.IsDir():
		case d.Type()&fs.ModeSymlink != 0 && w.isDir(path):
			w.fail(w.path(path), 0, "It is a link to a directory, which is not followed.", "Copy the files there instead.")
		case strings.HasSuffix(path, w.suffix()):
			if w.seen++; w.seen > maxFiles {
				w.fail(w.dir.Path, 0, fmt.Sprintf("The directory has more than %d commands; the rest were not read.", maxFiles), "")
				return fs.SkipAll
			}
			w.file(path)
		}
		return nil
	})
}

// suffix is the extension of command files.
const suffix = ".toml"

// path returns the absolute path of a file in the directory.
func (w *walk) path(path string) string {
	return filepath.Join(w.dir.Path, filepath.FromSlash(path))
}

func (w *walk) fail(path string, line int, message, remedy string) {
	w.problems = append(w.problems, fault.Problem{Path: path, Line: line, Message: message, Remedy: remedy, Severity: fault.SeverityError})
}

// isDir reports whether a link leads to a directory, inside or outside.
func (w *walk) isDir(path string) bool {
	info, err := os.Stat(w.path(path))
	return err == nil && info.IsDir()
}

// file reads the command of a file.
func (w *walk) file(path string) {
	full := w.path(path)
	data, err := w.read(path)
	if err != nil {
		w.fail(full, 0, "The command cannot be read: "+cause(err)+".", "Check the file, and who may read it.")
		return
	}
	if w.dir.Markdown {
		w.markdown(path, data)
		return
	}
	root, err := position.ParseTOML(data)
	if err != nil {
		e, remedy := position.As(err), "Correct the line."
		if strings.Contains(e.Message, "new line") {
			remedy = "Use three quotes for text of several lines."
		}
		w.fail(full, e.Line, "The command is invalid: "+e.Message+".", remedy)
		return
	}
	texts := map[string]string{"prompt": "", "description": ""}
	for _, m := range root.Members {
		key := strings.ToLower(m.Key)
		if _, known := texts[key]; !known {
			continue
		}
		text, ok := m.Value.(string)
		if !ok {
			w.fail(full, m.Line, fmt.Sprintf("The command is invalid: %s is %s, and must be a string.", m.Key, typeName(m.Value)),
				fmt.Sprintf("Put it in quotes, as %s = \"…\".", m.Key))
			return
		}
		texts[key] = text
	}
	if strings.TrimSpace(texts["prompt"]) == "" {
		w.fail(full, 1, "The command has no prompt.", `Add a line as prompt = "Review the changes."`)
		return
	}
	w.take(path, texts["prompt"], texts["description"])
}

// typeName names the type of a TOML value that is not a string.
func typeName(value any) string {
	switch value.(type) {
	case int64, float64:
		return "a number"
	case bool:
		return "true or false"
	case []position.Node:
		return "a list"
	case *position.Table:
		return "a table"
	}
	return "a date or time"
}

// read returns the content of a file in the directory.
func (w *walk) read(path string) ([]byte, error) {
	info, err := w.root.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxFile:
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	file, err := w.root.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxFile:
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	return data, nil
}

// take creates the command of a prompt.
func (w *walk) take(path, prompt, description string) {
	full := w.path(path)
	template, err := parseTemplate(prompt, w.dir.Variables)
	if err != nil {
		f := fault.As(err)
		w.problems = append(w.problems, fault.Problem{Path: full, Message: f.Message + " The command fails when it is run.", Remedy: f.Remedy})
		err = fault.Wrap(f.Code, f.Op, f.Message+" The command is from "+full+".", f.Remedy, err)
	}
	w.add(path, description, template, err)
}

// command returns the command of a template; err is the reason why it cannot run.
func (w *walk) command(name, description, full string, template *template, err error) *commands.Command {
	o := w.options
	return &commands.Command{
		Name: name, Description: description, Kind: commands.KindFile, Source: full,
		ExtensionName: w.dir.Extension, ExtensionID: w.dir.ID,
		Action: func(ctx context.Context, c *commands.Context, _ string) (commands.Result, error) {
			if err != nil {
				return nil, err
			}
			e := expansion{template: template, shell: o.Shell, files: o.Files, c: c}
			release := func(bool) {}
			if o.Hold != nil {
				ctx, release = o.Hold(ctx)
			}
			content, ask, err := e.run(ctx)
			release(err == nil && len(ask) == 0)
			switch {
			case err != nil:
				return nil, err
			case len(ask) > 0:
				return commands.ConfirmShellCommands{Commands: ask}, nil
			}
			return commands.SubmitPrompt{Content: content, Expanded: true}, nil
		},
	}
}

// maxDescription bounds the characters of a description.
const maxDescription = 100

// commandName returns the name of the command in a file of the directory, whose path has
// no extension.
func commandName(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = segment(part)
	}
	return strings.Join(parts, ":")
}

// segment converts a part of a path to a part of a name.
func segment(part string) string {
	const most, kept = 50, 47
	r := []rune(strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_.-", r)) {
			return r
		}
		return '_'
	}, part))
	if len(r) > most {
		return string(r[:kept]) + "..."
	}
	return string(r)
}

// cause returns an error of a file without the path.
func cause(err error) string {
	if e := new(fs.PathError); errors.As(err, &e) {
		err = e.Err
	}
	if strings.Contains(err.Error(), "escapes") { // os.Root has no error value for it
		return "it is a link out of the directory"
	}
	return err.Error()
}
