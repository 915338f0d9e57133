package userfiles

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
)

// Hook is a hook in JSON output.
type Hook struct {
	Event       hooks.Event      `json:"event"`
	Matcher     string           `json:"matcher,omitempty"`
	Sequential  bool             `json:"sequential,omitempty"`
	Name        string           `json:"name,omitempty"`
	Command     string           `json:"command"`
	Description string           `json:"description,omitempty"`
	Timeout     int64            `json:"timeout"` // milliseconds
	Source      hooks.Source     `json:"source"`
	Path        string           `json:"path,omitempty"`
	Line        int              `json:"line,omitempty"`
	Extension   string           `json:"extension,omitempty"`
	State       hookresult.State `json:"state"`
	Note        string           `json:"note,omitempty"`
	Files       []string         `json:"files,omitempty"` // project files that an approval covers
	Open        bool             `json:"open,omitempty"`  // the command may run other files, too
}

// Coverage describes the files that an approval of a project hook covers, besides its
// definition. It returns "" for other hooks.
func (l Hook) Coverage() string {
	const most = 10
	if l.Source != hooks.SourceProject || l.Files == nil {
		return ""
	}
	files := "no file of the project"
	if n := len(l.Files); n > most {
		files = fmt.Sprintf("%s and %d more", strings.Join(l.Files[:most], ", "), n-most)
	} else if n > 0 {
		files = strings.Join(l.Files, ", ")
	}
	if l.Open {
		return files + "; it may run other files that the approval does not cover"
	}
	return files
}

// HookOf converts a listed hook.
func HookOf(h hookresult.Listing) Hook {
	timeout := h.Timeout
	if timeout <= 0 {
		timeout = hooks.DefaultTimeout
	}
	l := Hook{
		Event: h.Event, Matcher: h.Matcher, Sequential: h.Sequential, Name: h.Name, Command: h.Shown, Description: h.Description,
		Timeout: timeout.Milliseconds(), Source: h.Source, Path: h.Path, Line: h.Line, Extension: h.Extension, State: h.State, Note: h.Note,
	}
	if h.Approved != nil {
		l.Files, l.Open = h.Approved.Files, h.Approved.Open
	}
	return l
}

// ReportCoverage prints the files that approvals of the project's hooks cover.
func ReportCoverage(ctx context.Context, p *program.Program, c *config.Config) {
	all, err := c.Hooks().List(ctx)
	if err != nil { // the session is closed
		return
	}
	for _, h := range all {
		l := HookOf(h)
		switch text := l.Coverage(); {
		case text != "":
			p.PrintNotice(display.Line(fmt.Sprintf("%s %s: the approval covers %s.", l.Event, escape.Clip(cmp.Or(l.Name, l.Command), display.ListingWidth), text)))
		case l.Source == hooks.SourceProject:
			p.PrintNotice(h.Note)
		}
	}
}

// ApproveHooksOf approves the hooks of the trusted project in a directory and prints
// their names. A failure is reported by the next session.
func ApproveHooksOf(ctx context.Context, p *program.Program, g *program.Flags, dir string) {
	there := *g
	there.Cwd = dir
	_ = p.WithSession(ctx, program.SessionOptions{Flags: &there}, func(s program.Session) error {
		names, err := s.Config().Hooks().Approve(ctx)
		if err == nil && len(names) > 0 {
			p.PrintNotice("The hooks of the project are approved: " + strings.Join(names, ", ") + ". A hook that is new or changed later runs only after fettle hooks trust.")
			ReportCoverage(ctx, p, s.Config())
		}
		return err
	})
}

// SwitchHook adds a hook to the user's list of disabled hooks, or removes it.
func SwitchHook(ctx context.Context, p *program.Program, g *program.Flags, name string, enable, asJSON bool) error {
	const key = "hooksConfig.disabled"
	var known bool
	var mine []string
	err := WithHooks(ctx, p, g, func(c *config.Config) error {
		all, err := c.Hooks().List(ctx)
		if err != nil {
			return err
		}
		known = slices.ContainsFunc(all, func(h hookresult.Listing) bool { return h.Is(name) })
		origins, err := c.Settings().Origins(key)
		for _, o := range origins {
			list, _ := o.Value.([]any)
			for _, entry := range list {
				text, _ := entry.(string)
				switch {
				case o.Layer == settings.LayerUser:
					mine = append(mine, text)
				case enable && text == name && o.Layer != settings.LayerDefault:
					p.PrintError(fault.New(fault.InvalidConfig, "cli.hooks", fmt.Sprintf("%q is also disabled in %s and stays disabled.", name, o.Source), ""))
				}
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if !known && !slices.Contains(mine, name) {
		return fault.New(fault.InvalidToolParams, "cli.hooks", fmt.Sprintf("Unknown hook %q.", name), "fettle hooks list lists them.")
	}
	mine = slices.DeleteFunc(mine, func(entry string) bool { return entry == name })
	if !enable {
		mine = append(mine, name)
	}
	var value any
	if list := make([]any, len(mine)); len(mine) > 0 {
		for i, entry := range mine {
			list[i] = entry
		}
		value = list
	}
	return SetConfig(ctx, p, g, settings.LayerUser, key, value, asJSON)
}

// WithHooks opens a session and reports problems in hook definitions.
func WithHooks(ctx context.Context, p *program.Program, g *program.Flags, use func(*config.Config) error) error {
	return p.WithSession(ctx, program.SessionOptions{Flags: g}, func(s program.Session) error {
		p.ReportHookProblems(s)
		return use(s.Config())
	})
}
