package apply

import (
	"context"
	"fmt"
	"sync"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/process"
)

// sandbox checks that commands can be confined as configured.
func (c *checker) sandbox(ctx context.Context) {
	s := &c.usable.Tools.Sandbox
	c.usable.Networked = s.NetworkAccess && c.isSet("tools.sandbox.networkAccess")
	if c.given.Decides("tools.sandbox") {
		return
	}
	c.unreadSandbox()
	if s.Kind() == settings.SandboxNone {
		return
	}
	defer func() {
		if c.usable.Stops == nil && s.Kind() == settings.SandboxAuto {
			given, networked := *s, c.usable.Networked
			c.usable.Auto = sync.OnceValue(func() process.Confinement { return Confinement(given, networked) })
		} else if c.usable.Stops == nil {
			c.usable.Confinement = Confinement(*s, c.usable.Networked)
		}
		if c.usable.Stops == nil {
			c.usable.ByDefault = s.Kind() == settings.SandboxAuto && !c.isSet("tools.sandbox.command") && !c.isSet("tools.sandbox.enabled")
		}
	}()
	const none = "Commands could not run in this way, so no session is started."
	const paths = "tools.sandbox.allowedPaths"
	s.AllowedPaths = c.paths(paths, true, nil, func(e settings.Entry, why error) {
		c.stop(fault.Problem{
			Message: fmt.Sprintf("The directory %q, which confined commands may write, cannot be used: %v. %s", e.Text, why, none),
			Remedy:  "Create the directory, or remove the entry.",
		}, paths, e.Origin)
	})
	key := "tools.sandbox.command"
	if s.Command == "" {
		if key = "tools.sandbox.enabled"; s.Kind() == settings.SandboxContainer {
			key = "tools.sandbox.image"
		}
	}
	origin := c.loaded.OriginOf(key)
	if s.Kind() == settings.SandboxAuto {
		return // where it cannot be enforced, there is none
	}
	confined := Confinement(*s, s.NetworkAccess)
	confined.Writable = nil
	switch err := confined.Check(ctx); {
	case err == nil, ctx.Err() != nil, c.reportedAt(origin):
	case s.Command != "" && s.Image == "" && s.Kind() == settings.SandboxContainer:
		c.stop(fault.Problem{
			Message: fmt.Sprintf("The value %q names a container program, but tools.sandbox.image names no image. %s", s.Command, none),
			Remedy:  "Set tools.sandbox.image too, or use one of auto, none, landlock.",
			Nearest: settings.NearestOf(s.Command, []string{string(settings.SandboxAuto), "none", string(settings.SandboxLandlock), "docker", "podman"}),
		}, key, origin)
	default:
		p := fault.Problem{Message: fault.As(err).Message + " " + none, Remedy: fault.As(err).Remedy}
		if s.Command != "" {
			p.Message = fmt.Sprintf("The value %q cannot be used. %s", s.Command, p.Message)
		}
		c.stop(p, key, origin)
	}
	c.outside(origin)
}

// mode reports that the mode auto confines nothing on this machine.
func (c *checker) mode(ctx context.Context) {
	if c.given.Decides("tools.sandbox") {
		return
	}
	auto, ctx := c.usable.Auto, context.WithoutCancel(ctx)
	c.usable.AutoNotice = func() string {
		if auto == nil {
			return AutoNotice("tools.sandbox is not auto.")
		}
		if found := auto(); found.Kind == process.Namespaces && found.PerCommand {
			return ""
		}
		why := "the kernel does not permit it."
		if err := (process.Confinement{Kind: process.Namespaces}).Check(ctx); err != nil {
			why = fault.As(err).Message
		}
		return AutoNotice(why)
	}
	if c.given.Decides(KeyMode) || ModeOf(c.loaded.Settings) != policy.ModeAuto {
		return
	}
	if notice := c.usable.AutoNotice(); notice != "" {
		c.tell(fault.Problem{Kind: settings.KindUnusable, Severity: settings.Warning, Remedy: "fettle doctor shows what the machine supports.",
			Message: notice}, KeyMode, c.loaded.OriginOf(KeyMode))
	}
}

// AutoNotice returns the notice that the mode auto is the same as auto_edit, with
// the reason as a sentence.
func AutoNotice(why string) string {
	return "Commands cannot be confined so that protected paths stay as they are: " + why + " The mode auto is the same as auto_edit here."
}

// unreadSandbox prevents a session if an unreadable file, or a mistyped name,
// appears to request a confinement: commands would run without it.
func (c *checker) unreadSandbox() {
	for _, p := range c.loaded.Problems {
		switch {
		case c.usable.Stops != nil:
		case Unreadable(p) && p.Key == "tools.sandbox":
			p.Message += " The entry mentions a sandbox, which would be missing, so no session is started."
			c.usable.Stops = &p
		case p.Kind == settings.KindUnknownKey && p.Open && settings.Means(p.Nearest, "tools.sandbox"):
			p.Message += " No session is started."
			c.usable.Stops = &p
		}
	}
}
