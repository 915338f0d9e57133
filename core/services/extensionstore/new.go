package extensionstore

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

//go:embed templates
var templates embed.FS

// plainTemplate is the template without a name.
const plainTemplate = "plain"

// Placeholders in templates.
const (
	nameMark    = "EXTENSION-NAME"
	contextMark = "CONTEXT-FILE"
)

// Templates returns the names of the templates for new extensions.
func Templates() []string {
	return []string{"custom-commands", "exclude-tools", "hooks", "mcp-server", "policies", "skills"}
}

// Skeleton describes a new extension.
type Skeleton struct {
	Dir         string // of the extension, whose last element is its name; need not exist
	Template    string // one of [Templates]; "": a manifest and a context file
	Manifest    string // name of its manifest, fettle-extension.json or gemini-extension.json; "": the first
	ContextFile string // name of its context file; "": FETTLE.md
}

// New creates a new extension and returns the paths of its files. If one of the files
// exists, nothing is written. The error is of code invalid_tool_params,
// attempt_to_create_existing_file or file_write_failure.
func New(k Skeleton) (written []string, err error) {
	dir, err := filepath.Abs(k.Dir)
	if err != nil || k.Dir == "" {
		return nil, badNew("The directory of the extension is empty or unknown.", "Give a path whose last part is the extension's name.")
	}
	name := filepath.Base(dir)
	if wrong := checkName(name); wrong != "" {
		return nil, badNew(fmt.Sprintf("No extension can be named %q: %s.", clip(name), wrong), "Use letters, digits and dashes.")
	}
	template := k.Template
	if template == "" {
		template = plainTemplate
	} else if !slices.Contains(Templates(), template) {
		return nil, badNew(fmt.Sprintf("There is no template %q.", clip(template)), "The templates are "+strings.Join(Templates(), ", ")+".")
	}
	if k.Manifest == "" {
		k.Manifest = manifestNames()[0]
	}
	k.ContextFile = cmp.Or(k.ContextFile, "FETTLE.md")
	files, err := k.files(template, name)
	if err != nil {
		return nil, err
	}
	return writeNew(dir, files)
}

func badNew(message, remedy string) error {
	return fault.New(fault.InvalidToolParams, "extensions.new", message, remedy)
}

// newFile is a file to be written.
type newFile struct {
	name string // below the directory, with slashes
	text string
}

func (k Skeleton) files(template, name string) ([]newFile, error) {
	top := path.Join("templates", template)
	marks := strings.NewReplacer(nameMark, name, contextMark, k.ContextFile)
	var all []newFile
	err := fs.WalkDir(templates, top, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := templates.ReadFile(at)
		if err != nil {
			return err
		}
		file := marks.Replace(strings.TrimPrefix(at, top+"/"))
		if file == "manifest.json" {
			file = k.Manifest
		}
		all = append(all, newFile{file, marks.Replace(string(text))})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", template, err) // executable
	}
	return all, nil
}

// writeNew creates files. After an error it removes them again.
func writeNew(dir string, files []newFile) (written []string, err error) {
	for _, f := range files {
		at := filepath.Join(dir, filepath.FromSlash(f.name))
		if _, err := os.Lstat(at); err == nil {
			return nil, fault.New(fault.AttemptToCreateExist, "extensions.new", fmt.Sprintf("%s exists; nothing was written.", at), "Give another path, or move it away.")
		}
	}
	defer func() {
		if err != nil {
			for _, at := range written {
				_ = os.Remove(at) // the first error is returned
			}
			written = nil
		}
	}()
	for _, f := range files {
		at := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return written, unwritable(filepath.Dir(at), err)
		}
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(f.text, "#!") {
			mode = 0o755
		}
		file, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return written, unwritable(at, err)
		}
		written = append(written, at)
		_, err = file.WriteString(f.text)
		if err := errors.Join(err, file.Close()); err != nil {
			return written, unwritable(at, err)
		}
	}
	return written, nil
}
