package skillset

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/config/internal/contributions"
	"github.com/fettle-dev/fettle/core/config/internal/paths"
	"github.com/fettle-dev/fettle/core/skills"
)

// Names of directories of skills: below the user's and the project's settings
// directory, and below the directory shared by several programs.
const (
	skillsDir    = "skills"
	agentsShared = ".agents"
)

// Sources are the sources of skills.
type Sources struct {
	Disabled    bool     // no skills
	Off         []string // names of initially disabled skills
	Definitions []skills.Skill
	Dirs        []skills.Dir        // the embedder's
	Extensions  []contributions.Dir // of extensions
	Home        string              // "": there is none
	Target      string              // the project's directory
	Dir         string              // base name of settings directories
	Trusted     bool                // the project's own skills are loaded
	Logger      *slog.Logger
	// ClaudeUser and ClaudeProject are the directories of settings of Claude Code, in the home directory and in the
	// project; "": not read.
	ClaudeUser, ClaudeProject string
}

// Load finds the skills, again if that was done before. The error has code
// cancelled, or is a mistake in fettle.
func (s Sources) Load(ctx context.Context, m *skills.SkillManager) error {
	if !m.Discovered() {
		m.SetDisabled(s.Off)
	}
	if s.Disabled {
		return m.Discover(ctx, nil, nil)
	}
	given, err := skills.BuiltIn()
	if err != nil {
		return err
	}
	for _, own := range s.Definitions {
		own.Scope = skills.ScopeBuiltIn
		given = append(given, own)
	}
	if err := m.Discover(ctx, given, s.dirs()); err != nil {
		return err
	}
	for _, problem := range m.Problems() {
		s.Logger.Warn("skills", slog.String("problem", problem.String()))
	}
	return nil
}

// dirs returns the directories that may contain skills, including the
// project's if it is trusted.
func (s Sources) dirs() []skills.Dir {
	dirs := slices.Clone(s.Dirs)
	for _, f := range s.Extensions {
		dirs = append(dirs, skills.Dir{
			Path: f.Path, Scope: skills.ScopeExtension, Extension: f.Extension, Within: f.Variables["extensionPath"], Expand: contributions.Expand(f.Variables),
		})
	}
	if s.ClaudeUser != "" {
		dirs = append(dirs, skills.Dir{Path: filepath.Join(s.ClaudeUser, skillsDir), Scope: skills.ScopeUser})
	}
	var users []string
	if s.Home != "" {
		users = []string{filepath.Join(s.Home, s.Dir, skillsDir), filepath.Join(s.Home, agentsShared, skillsDir)}
	}
	for _, path := range users {
		dirs = append(dirs, skills.Dir{Path: path, Scope: skills.ScopeUser})
	}
	if !s.Trusted {
		return dirs
	}
	for _, f := range OfProject(s.Target, s.Dir, s.ClaudeProject) {
		if !slices.ContainsFunc(users, func(user string) bool { return paths.Same(f.Path, user) }) {
			dirs = append(dirs, f)
		}
	}
	return dirs
}

// OfProject returns the directories of skills of a project whose settings
// directory is dir, and that of Claude Code claude, "" for none; a later one takes
// precedence.
func OfProject(target, dir, claude string) []skills.Dir {
	var all []skills.Dir
	if claude != "" {
		all = append(all, skills.Dir{Path: filepath.Join(claude, skillsDir), Scope: skills.ScopeWorkspace, Within: target})
	}
	for _, below := range []string{dir, agentsShared} {
		all = append(all, skills.Dir{Path: filepath.Join(target, below, skillsDir), Scope: skills.ScopeWorkspace, Within: target})
	}
	return all
}
