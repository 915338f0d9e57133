// Package slash loads the slash commands of a session: those of prompts, skills,
// agents and files.
package slash

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/commands/commandfile"
	"github.com/fettle-dev/fettle/core/config/internal/contributions"
	"github.com/fettle-dev/fettle/core/config/internal/paths"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mention"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/tools"
)

// maxDescription is the maximum number of characters of a command's description
// from outside.
const maxDescription = 200

// DirName is the name of the directory of commands, below the user's and the
// project's settings directory.
const DirName = "commands"

// Options are the sources of commands.
type Options struct {
	Servers    *mcp.Manager // nil: there are none
	Skills     *skills.SkillManager
	Activate   func(ctx context.Context, skill string) (skills.Skill, error)
	Registry   *tools.Registry // contains the tools of agents
	Lines      *Lines
	UserDir    string // the user's settings directory; "": there is none
	ProjectDir string // the project's
	Trusted    bool   // the project's own commands are loaded
	// ClaudeUser and ClaudeProject are the directories of settings of Claude Code, in the home directory and in the
	// project; "": not read.
	ClaudeUser, ClaudeProject string
	Extensions                []contributions.Dir
	Files                     mention.Files                                                // resolves the files that commands name
	Tools                     mention.Tools                                                // used to read these files
	Hold                      func(ctx context.Context) (context.Context, func(sent bool)) // see [commandfile.Options]
}

// Load returns the commands of extra, in their order, then those of the options.
func Load(ctx context.Context, o Options, extra ...commands.Loader) (*commands.Set, []fault.Problem, error) {
	loaders := append(slices.Clone(extra), promptCommands{o.Servers}, skillCommands{o.Skills, o.Activate, o.Lines}, agentCommands{o.Registry})
	dirs, problems := o.dirs()
	set, more, err := commands.Assemble(ctx, append(loaders, commandfile.New(commandfile.Options{
		Dirs: dirs, Shell: o.Lines, Files: templateFiles{o.Files, o.Tools}, Hold: o.Hold,
	}))...)
	more = slices.DeleteFunc(more, func(p fault.Problem) bool { return p.Severity == fault.SeverityNotice }) // remarks for authors
	return set, append(problems, more...), err
}

// dirs returns the directories of commands, in the order of their precedence.
func (o Options) dirs() (dirs []commandfile.Dir, problems []fault.Problem) {
	claude := func(dir string) {
		if dir != "" {
			dirs = append(dirs, commandfile.Dir{Path: filepath.Join(dir, DirName), Markdown: true})
		}
	}
	claude(o.ClaudeUser)
	if o.UserDir != "" {
		dirs = append(dirs, commandfile.Dir{Path: filepath.Join(o.UserDir, DirName)})
	}
	claude(o.ClaudeProject)
	if !paths.Same(o.ProjectDir, o.UserDir) {
		dir := filepath.Join(o.ProjectDir, DirName)
		switch {
		case o.Trusted:
			dirs = append(dirs, commandfile.Dir{Path: dir})
		case paths.IsDir(dir):
			problems = append(problems, fault.Problem{Path: dir, Severity: fault.SeverityError,
				Message: "The project's own commands are not available, because its directory is not trusted.", Remedy: "Check them, then trust the directory with fettle trust."})
		}
	}
	brought := slices.SortedStableFunc(slices.Values(o.Extensions), func(a, b contributions.Dir) int {
		return strings.Compare(a.Extension, b.Extension)
	})
	for _, f := range brought {
		dirs = append(dirs, commandfile.Dir{Path: f.Path, Extension: f.Extension, ID: f.ID, Variables: f.Variables, Markdown: f.Markdown, Namespace: f.Namespace})
	}
	return dirs, problems
}

// templateFiles reads the files named in prompts of commands.
type templateFiles struct {
	files mention.Files
	tools mention.Tools
}

var _ commandfile.Files = templateFiles{}

// Read implements [commandfile.Files].
func (f templateFiles) Read(ctx context.Context, path string) (commandfile.Injected, error) {
	found, err := f.files.Stat(ctx, path)
	switch {
	case ctx.Err() != nil:
		return commandfile.Injected{}, fault.WasCancelled("config.Read", ctx.Err())
	case err != nil:
		return commandfile.Injected{Notices: []string{fault.MessageOf(err)}}, nil
	case found.Ignored:
		return commandfile.Injected{Ignored: true, Notices: []string{"An ignore rule matches it, so it is not included."}}, nil
	}
	expanded, err := mention.New(mention.Options{Files: f.files, Tools: f.tools}).Expand(ctx, "@"+escapedName(found.Path))
	if err != nil {
		return commandfile.Injected{}, err
	}
	var in commandfile.Injected
	if len(expanded.Content.Parts) > 1 {
		in.Parts = expanded.Content.Parts[1:] // the first is the name itself
	}
	for _, n := range expanded.Notices {
		in.Notices = append(in.Notices, n.Message)
	}
	if len(in.Parts) == 0 && len(in.Notices) == 0 {
		in.Notices = []string{"It contains nothing to read."}
	}
	return in, nil
}

// escapedName returns a path as a mention of only that file.
func escapedName(path string) string {
	var b strings.Builder
	for _, r := range path {
		b.WriteByte('\\')
		b.WriteRune(r)
	}
	return b.String()
}
