package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/webfetch"
	"github.com/fettle-dev/fettle/core/services/websearch"
)

// usable are settings without what cannot be used.
type usable struct {
	settings.Settings // with paths that are absolute

	search   func(websearch.Transport) (searcher, error) // makes who searches the web; nil: nobody does
	problems []settings.Problem
	// stops is the first of the problems that leaves no session: something that
	// protects the person is not there. nil: there is none.
	stops *settings.Problem
}

// searcher searches the web.
type searcher interface {
	Search(ctx context.Context, query string) (websearch.Answer, error)
}

// checker looks at settings for what the services that they are for cannot use.
type checker struct {
	loaded *settings.Result
	o      settings.Options
	env    variables
	usable *usable
}

// checkSettings finds what only shows once settings are used. It makes and
// starts nothing. The error is that ctx has ended.
func checkSettings(ctx context.Context, g *globalFlags, loaded *settings.Result, o settings.Options) (*usable, error) {
	c := &checker{loaded: loaded, o: o, env: variables{loaded}, usable: &usable{Settings: loaded.Settings}}
	if len(g.policyPaths) == 0 { // which go in the place of the setting
		c.policies()
	}
	c.folders()
	c.sandbox(ctx)
	c.commands()
	c.hosts()
	c.search()
	c.core()
	if ctx.Err() != nil {
		return nil, interrupted()
	}
	return c.usable, nil
}

// tell notes a problem with a key whose value was given at the origin.
func (c *checker) tell(p settings.Problem, key string, origin settings.Origin) settings.Problem {
	p.Key, p.Source, p.Layer, p.Line, p.Column = key, origin.Source, origin.Layer, origin.Line, origin.Column
	if p.Kind == "" {
		p.Kind, p.Severity = settings.KindUnusable, settings.Error
	}
	if p.Nearest != "" {
		p.Remedy = fmt.Sprintf("Perhaps %s is meant.", p.Nearest)
	}
	c.usable.problems = append(c.usable.problems, p)
	return p
}

// stop notes a problem that leaves no session.
func (c *checker) stop(p settings.Problem, key string, origin settings.Origin) {
	p.Open = true
	if p = c.tell(p, key, origin); c.usable.stops == nil {
		c.usable.stops = &p
	}
}

// origin says where the value of a key comes from that is in force.
func (c *checker) origin(key string) settings.Origin {
	for _, o := range c.loaded.Origins(key) {
		if o.Refused == "" {
			return o
		}
	}
	return settings.Origin{}
}

// absolute is a path of the settings as it counts from the target folder.
func (c *checker) absolute(path string) string { return absolute(c.o.ProjectDir, []string{path})[0] }

// there says why a file or folder cannot be used, nil if it can.
func there(path string, folder bool) error {
	if path == "" {
		return errors.New("the path is empty")
	}
	info, err := os.Stat(path)
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	if err == nil && folder && !info.IsDir() {
		return errors.New("it is no folder")
	}
	return err
}

// paths returns the entries of a list of paths, as absolute ones. missing is
// told of each that is not there.
func (c *checker) paths(key string, folders bool, missing func(e settings.Entry, why error)) []string {
	var all []string
	for _, e := range c.loaded.Entries(key) {
		path := c.absolute(e.Text)
		if err := there(path, folders); err != nil {
			missing(e, err)
			continue
		}
		all = append(all, path)
	}
	return all
}

func (c *checker) policies() {
	const key = "policyPaths"
	c.usable.PolicyPaths = c.paths(key, false, func(e settings.Entry, why error) {
		c.stop(settings.Problem{
			Message: fmt.Sprintf("The policy %q cannot be read: %v. As rules that protect you may be missing, there is no session.", e.Text, why),
			Remedy:  "Name a file or a folder that exists, or remove the entry.",
		}, key, e.Origin)
	})
}

func (c *checker) folders() {
	const key = "context.includeDirectories"
	c.usable.Context.IncludeDirectories = c.paths(key, true, func(e settings.Entry, why error) {
		p := settings.Problem{Message: fmt.Sprintf("The folder %q cannot be used: %v.", e.Text, why), Remedy: "Name a folder that exists."}
		if e.Origin.Layer == settings.LayerFlags { // who has just typed it waits for nothing else
			c.stop(p, key, e.Origin)
			return
		}
		p.Message += " It is left out."
		c.tell(p, key, e.Origin)
	})
}

// sandbox checks that commands can be confined as they are to be.
func (c *checker) sandbox(ctx context.Context) {
	s := &c.usable.Tools.Sandbox
	if s.Kind() == settings.SandboxNone {
		return
	}
	const none = "No command can be run so, and there is no session."
	const paths = "tools.sandbox.allowedPaths"
	s.AllowedPaths = c.paths(paths, true, func(e settings.Entry, why error) {
		c.stop(settings.Problem{
			Message: fmt.Sprintf("Confined commands are to write in %q, which cannot be used: %v. %s", e.Text, why, none),
			Remedy:  "Make the folder, or remove the entry.",
		}, paths, e.Origin)
	})
	key := "tools.sandbox.command"
	if s.Command == "" {
		if key = "tools.sandbox.enabled"; s.Kind() == settings.SandboxContainer {
			key = "tools.sandbox.image"
		}
	}
	origin := c.origin(key)
	confined := confinement(*s)
	confined.Writable = nil
	switch err := confined.Check(ctx); {
	case err == nil, ctx.Err() != nil:
	case c.toldAt(origin):
	case s.Command != "" && s.Image == "" && s.Kind() == settings.SandboxContainer:
		c.stop(settings.Problem{
			Message: fmt.Sprintf("The value %q names a program that runs containers, and tools.sandbox.image names no image. %s", s.Command, none),
			Remedy:  "Set tools.sandbox.image too, or landlock for the confinement of the system's kernel.",
			Nearest: settings.NearestOf(s.Command, []string{string(settings.SandboxLandlock)}),
		}, key, origin)
	default:
		p := settings.Problem{Message: fault.As(err).Message + " " + none, Remedy: fault.As(err).Remedy}
		if s.Command != "" {
			p.Message = fmt.Sprintf("The value %q cannot be used. %s", s.Command, p.Message)
		}
		c.stop(p, key, origin)
	}
	c.outside(origin)
}

// toldAt reports whether the settings tell of a mistake at the place of a value
// already, which then is what stops the session.
func (c *checker) toldAt(origin settings.Origin) bool {
	for _, p := range c.loaded.Problems {
		if p.Severity == settings.Error && p.Source == origin.Source && p.Line == origin.Line && p.Column == origin.Column {
			if c.usable.stops == nil {
				c.usable.stops = &p
			}
			return true
		}
	}
	return false
}

// outside warns where commands can write what says how they are confined.
func (c *checker) outside(origin settings.Origin) {
	if c.o.HomeDir == "" {
		return
	}
	dir := filepath.Join(c.o.HomeDir, c.o.Layout.Dir)
	real := realPath(dir)
	for _, folder := range slices.Concat([]string{c.o.ProjectDir}, c.usable.Context.IncludeDirectories, c.usable.Tools.Sandbox.AllowedPaths) {
		if within(real, realPath(folder)) {
			c.tell(settings.Problem{
				Kind: settings.KindUnusable, Severity: settings.Warning, Remedy: "Work in a narrower folder.",
				Message: fmt.Sprintf("Confined commands can write your settings folder %s, which lies in %s: what they write there holds for later sessions.", dir, folder),
			}, "tools.sandbox", origin)
			return
		}
	}
}

// realPath is a path with its links followed, as far as it is there.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(realPath(dir), filepath.Base(path))
	}
	return path
}

// within reports whether a path is a folder or lies below it.
func within(path, folder string) bool {
	below, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(below)
}

// commands checks that tools that a program declares have one that runs them.
func (c *checker) commands() {
	t := &c.usable.Tools
	const discovery, call = "tools.discoveryCommand", "tools.callCommand"
	switch {
	case t.DiscoveryCommand != "" && t.CallCommand == "":
		c.tell(settings.Problem{Message: "Nothing would run the tools that it declares, so it is not run.", Remedy: "Set " + call + " too."}, discovery, c.origin(discovery))
	case t.DiscoveryCommand == "" && t.CallCommand != "":
		c.tell(settings.Problem{Message: "There are no tools for it to run, as nothing declares any.", Remedy: "Set " + discovery + " too."}, call, c.origin(call))
	default:
		return
	}
	t.DiscoveryCommand, t.CallCommand = "", ""
}

func (c *checker) hosts() {
	const key = "web.allowedHosts"
	var usable []string
	for _, e := range c.loaded.Entries(key) {
		if _, err := webfetch.New(webfetch.Options{Allow: []string{e.Text}}); err != nil { // nothing is opened by it
			c.tell(settings.Problem{Message: fault.As(err).Message + " The entry is left out.", Remedy: fault.As(err).Remedy}, key, e.Origin)
			continue
		}
		usable = append(usable, e.Text)
	}
	c.usable.Web.AllowedHosts = usable
}

// search decides who searches the web: the service of the settings, else
// Gemini where there is a key for it, else nobody.
func (c *checker) search() {
	s := c.usable.Web.Search
	if s.URL != "" {
		c.usable.search = func(t websearch.Transport) (searcher, error) {
			return websearch.NewJSON(websearch.JSONOptions{
				URL: s.URL, Method: s.Method, Headers: s.Headers, Body: s.Body, ResultsPath: s.ResultsPath, TitlePath: s.TitlePath,
				URLPath: s.URLPath, SnippetPath: s.SnippetPath, AnswerPath: s.AnswerPath, Limit: s.Limit, Transport: t,
			})
		}
		if _, err := c.usable.search(websearch.Transport{}); err != nil {
			c.usable.search = nil
			message := fault.As(err).Message
			key := searchKey(message)
			c.tell(settings.Problem{Message: message + " There is no tool web_search.", Remedy: "Correct it."}, key, c.origin(key))
		}
		return
	}
	key, address := c.gemini()
	if key == "" {
		return
	}
	c.usable.search = func(t websearch.Transport) (searcher, error) {
		return websearch.NewGemini(websearch.GeminiOptions{Key: key, BaseURL: address, Transport: t})
	}
	if _, err := c.usable.search(websearch.Transport{}); err != nil {
		c.usable.search = nil
		source := "the variable " + geminiKey
		if address != "" {
			source += ", or " + geminiAddress
		}
		c.tell(settings.Problem{Message: fault.As(err).Message + " There is no tool web_search.", Remedy: fault.As(err).Remedy}, "",
			settings.Origin{Layer: settings.LayerEnvironment, Source: source})
	}
}

// The variables that say with which key and where Gemini searches.
const (
	geminiKey     = "GEMINI_API_KEY"
	geminiAddress = "GOOGLE_GEMINI_BASE_URL"
)

// gemini returns what the variables hold, "" for what is not used.
func (c *checker) gemini() (key, address string) {
	key, ofProject := c.env.get(geminiKey)
	if key == "" || ofProject && !c.o.Trusted { // a stranger's key would show him what is searched for
		return "", ""
	}
	address, elsewhere := c.env.get(geminiAddress)
	if elsewhere && !ofProject { // a person's key is for nobody else
		address = ""
	}
	return key, address
}

// searchKey returns the key that a complaint about the search service is about:
// it names the option, which the key is named like.
func searchKey(message string) string {
	_, words, _ := strings.Cut(message, ": ")
	name, _, _ := strings.Cut(words, " ")
	for _, k := range settings.Keys() {
		if k.Path == "web.search."+name {
			return k.Path
		}
	}
	return "web.search.url"
}

// core warns of names that are none of a built-in tool that there is here.
func (c *checker) core() {
	const key = "tools.core"
	known := append(config.DefaultTools(c.o.Layout), "edit", "replace") // the only ones that are not in the default set
	for _, e := range c.loaded.Entries(key) {
		name, _, _ := strings.Cut(e.Text, "(")
		p := settings.Problem{Kind: settings.KindUnknown, Severity: settings.Warning}
		switch name = strings.TrimSpace(name); {
		case !slices.Contains(known, name):
			p.Message = fmt.Sprintf("There is no built-in tool %q; the entry has no effect.", name)
			p.Nearest = settings.NearestOf(name, known)
			p.Remedy = "fettle tools lists those that there are."
		case c.usable.search == nil && (name == "web_search" || name == "google_web_search"):
			p.Message = fmt.Sprintf("There is no tool %s here, as no service searches the web.", name)
			p.Remedy = "Set web.search.url, or the variable GEMINI_API_KEY."
		default:
			continue
		}
		c.tell(p, key, e.Origin)
	}
}
