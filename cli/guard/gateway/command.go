package gateway

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/cli/guard"
	"github.com/fettle-dev/fettle/cli/guard/decide"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/oauth"
)

const usage = `mcp [FLAGS] -- COMMAND ARGS…    stand before an MCP server that is a program
  fettle-guard mcp [FLAGS] --url URL             stand before an MCP server at a URL`

// Command returns the command mcp.
func Command() guard.Command {
	return guard.Command{Name: "mcp", Usage: usage, Run: main}
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

// flags are the flags of the command.
type flags struct {
	url, name, record    string
	grants, env, headers list
	policy               list
	layout, dir          string
	o                    Options
}

func main(ctx context.Context, s guard.Streams, args []string) int {
	var f flags
	set := flag.NewFlagSet("fettle-guard mcp", flag.ContinueOnError)
	set.SetOutput(s.Err)
	set.Usage = func() {
		_, _ = fmt.Fprintf(s.Err, "fettle-guard %s\n\n", usage) // a closed stderr cannot be reported
		set.PrintDefaults()
	}
	set.StringVar(&f.url, "url", "", "`URL` of a server that is reached over streamable HTTP")
	set.StringVar(&f.name, "name", "", "`name` of the server in rules; default: the name of the program, or the host")
	set.Var(&f.grants, "grant", "run the `tool` without approval unless a rule requires it: a name, PREFIX* or *; repeatable")
	set.BoolVar(&f.o.Defer, "defer", false, "declare the tools by name only, with a tool that describes them")
	set.BoolVar(&f.o.MaskResults, "mask", false, "mask secrets in results")
	set.StringVar(&f.record, "record", "", "append a JSON line for each call to the private `file`, with secrets masked")
	set.Var(&f.env, "env", "`NAME[=VALUE]` of a variable that the server's process receives; repeatable")
	set.Var(&f.headers, "header", "`NAME: VALUE` of requests to the URL, in which ${NAME} is a variable; repeatable")
	set.DurationVar(&f.o.Timeout, "timeout", 0, "time limit of one request, without the time of questions; default: 10m")
	set.Var(&f.policy, "policy", "policy `file` or directory that replaces the user's; repeatable")
	set.StringVar(&f.layout, "layout", "", "names of fettle's files: fettle or gemini; default: fettle")
	set.StringVar(&f.dir, "dir", "", "`directory` whose rules apply; default: the current one")
	if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
		return guard.ExitDone
	} else if err != nil {
		return guard.ExitUsage
	}
	if err := f.check(set.Args()); err != nil {
		return report(s.Err, err, guard.ExitUsage)
	}
	if err := f.run(ctx, s, set.Args()); err != nil {
		return report(s.Err, err, guard.ExitFailed)
	}
	return guard.ExitDone
}

func report(w io.Writer, err error, code int) int {
	line := err.Error()
	if f := fault.As(err); f != nil {
		line = strings.TrimSpace(f.Message + " " + f.Remedy)
	}
	_, _ = fmt.Fprintln(w, "fettle-guard:", escape.Line(line))
	return code
}

func wrong(message, remedy string) error {
	return fault.New(fault.InvalidConfig, "gateway", message, remedy)
}

// check validates the command line, and sets the server's name.
func (f *flags) check(command []string) error {
	switch {
	case f.url == "" && len(command) == 0:
		return wrong("There is no MCP server.", "Give its command after --, or --url.")
	case f.url != "" && len(command) > 0:
		return wrong("There are two MCP servers: --url and a command.", "Give one of them.")
	case f.url == "" && len(f.headers) > 0:
		return wrong("--header applies only to --url.", "Pass variables with --env.")
	case f.url != "" && len(f.env) > 0:
		return wrong("--env applies only to a command.", "Pass a token with --header.")
	case f.o.Timeout < 0:
		return wrong("--timeout is negative.", "Give a duration such as 30s.")
	}
	if f.name == "" && f.url == "" {
		f.name = strings.TrimSuffix(filepath.Base(command[0]), ".exe")
	} else if u, err := url.Parse(f.url); f.name == "" && err == nil {
		f.name = u.Hostname()
	}
	return mcp.CheckServerName(f.name)
}

// run serves the client on the standard streams.
func (f *flags) run(ctx context.Context, s guard.Streams, command []string) error {
	engine, err := decide.Open(ctx, decide.Options{Dir: f.dir, Layout: f.layout, Policy: f.policy, Servers: []string{f.name}})
	if err != nil {
		return err
	}
	defer engine.Close() //nolint:errcheck // only read
	for _, problem := range engine.Problems() {
		_, _ = fmt.Fprintf(s.Err, "fettle-guard: %s:%d: %s\n", escape.Line(problem.Path), problem.Line, escape.Line(problem.Message+" "+problem.Remedy)) // a closed stderr cannot be reported
	}
	spec := mcp.ServerSpec{Name: f.name, URL: f.url, Env: map[string]string{}, Headers: map[string]string{}}
	for _, variable := range f.env {
		name, value, given := strings.Cut(variable, "=")
		if !given {
			if value, given = os.LookupEnv(name); !given {
				return wrong("The variable "+name+" of --env is not set.", "Set it, or give it a value.")
			}
		}
		spec.Env[name] = value
	}
	for _, header := range f.headers {
		name, value, given := strings.Cut(header, ":")
		if !given || !validHeader(name) {
			return wrong("A --header is not of the form NAME: VALUE.", "Correct it.")
		}
		missing := ""
		spec.Headers[name] = os.Expand(strings.TrimSpace(value), func(variable string) string {
			value, set := os.LookupEnv(variable)
			if !set {
				missing = variable
			}
			return value
		})
		if missing != "" {
			return wrong("The variable "+missing+" of --header is not set.", "Set it.")
		}
	}
	if len(command) > 0 {
		spec.Command, spec.Args = command[0], command[1:]
	}
	o := f.o
	o.Server, o.Decider, o.Grants, o.Log = f.name, engine, f.grants, s.Err
	o.Hide = mcp.NewMask(spec).Hide
	if f.record != "" {
		file, err := openRecord(f.record)
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // each line has been written
		o.Record = file
	}
	if f.url == "" {
		return RunProgram(ctx, o, Program{Command: spec.Command, Args: spec.Args, Env: spec.Env, Environ: os.Environ(), Stderr: s.Err}, s.In, s.Out)
	}
	r := Remote{URL: f.url, Headers: spec.Headers}
	if file, err := tokenFile(f.layout); err == nil {
		r.Auth = oauth.New(oauth.Options{StorePath: file}).Handler(spec, false)
	}
	for name := range spec.Headers {
		if strings.EqualFold(name, "Authorization") {
			r.Auth = nil // a given header takes precedence over a sign-in
		}
	}
	return RunRemote(ctx, o, r, s.In, s.Out)
}

// tokenFile returns the file in which fettle keeps the tokens of servers.
func tokenFile(name string) (string, error) {
	l, _ := layout.Named(name)
	home, err := os.UserHomeDir()
	return filepath.Join(home, l.Dir, "auth-cache.json"), err
}

// openRecord opens the file of the record. It must be private.
func openRecord(path string) (*os.File, error) {
	refused := func(why, remedy string, err error) error {
		return fault.Wrap(fault.InvalidConfig, "gateway", "The record "+escape.Quoted(path)+" cannot be written: "+why+".", remedy, err)
	}
	if info, err := os.Lstat(path); err == nil {
		switch {
		case !info.Mode().IsRegular():
			return nil, refused("it is not a regular file", "Give --record another file.", nil)
		case !private(info):
			return nil, refused("other users can access it", "Run chmod 600, or give --record another file.", nil)
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the user's own flag
	if err != nil {
		return nil, refused(err.Error(), "Give --record a file in a writable directory.", err)
	}
	return file, nil
}
