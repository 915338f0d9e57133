// Package discovered holds the tools that a project's own programs bring: a
// discovery command declares them, and a call command runs them (TO-16).
package discovered

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/tools"
)

// Options say which programs to ask. Commands, Dir and Runner are required.
type Options struct {
	// DiscoveryCommand prints the declarations, CallCommand runs a tool. Each is
	// a program and its arguments, split and unquoted as a shell would; no shell
	// runs it, and what only a shell could do (operators, expansions) is refused.
	DiscoveryCommand, CallCommand string
	Dir                           string // absolute directory that both run in
	Runner                        Runner

	// Prefix comes before every declared name. "": discovered_tool_.
	Prefix string
	// DiscoveryTotal and CallTotal end a program that runs longer. Zero: 10
	// seconds and 10 minutes; negative: no limit.
	DiscoveryTotal, CallTotal time.Duration
	// MaxBytes ends a program that prints more, to stdout or to stderr. Zero: 10
	// MiB.
	MaxBytes int64
	// MaxTools is how many tools are taken, the first. Zero: 1,000.
	MaxTools int
}

// Runner runs a program; *process.Service has it.
type Runner interface {
	Program(ctx context.Context, p process.Program) (process.Output, error)
}

func (o Options) withDefaults() Options {
	o.Prefix = cmp.Or(o.Prefix, "discovered_tool_")
	o.DiscoveryTotal = cmp.Or(o.DiscoveryTotal, 10*time.Second)
	o.CallTotal = cmp.Or(o.CallTotal, 10*time.Minute)
	if o.MaxBytes == 0 {
		o.MaxBytes = 10 << 20
	}
	o.MaxTools = cmp.Or(o.MaxTools, 1000)
	return o
}

// The settings, as remedies name them.
const (
	discoverySetting = "tools.discoveryCommand"
	callSetting      = "tools.callCommand"
)

// Discover runs the discovery command and returns the tools that it declares,
// in its order. It must exit with code 0 and print a JSON array to stdout; what
// it prints to stderr is only quoted where it fails. An element of the array is
// a declaration, or an object with a list of them as function_declarations or
// functionDeclarations. A declaration has a name, and may have a description
// and parametersJsonSchema, the JSON schema of the arguments; parameters is read
// in its place where that is absent.
//
// What is wrong with one declaration drops that tool alone and is told by
// problems, each of code invalid_config. The error is of code invalid_config
// for a command line that cannot be used, cancelled, or execution_failed.
//
// A call runs the call command with the declared name as one more argument and
// the arguments as JSON on stdin. It succeeds if that exits with code 0 and
// prints nothing to stderr. ctx of the call ends it. The tools may be called
// from many goroutines, and keep calling the Runner.
func Discover(ctx context.Context, o Options) (found []tools.DeclarativeTool, problems []error, err error) {
	o = o.withDefaults()
	discovery, err := Words(discoverySetting, o.DiscoveryCommand)
	if err != nil {
		return nil, nil, err
	}
	call, err := Words(callSetting, o.CallCommand)
	if err != nil {
		return nil, nil, err
	}
	printed, err := o.run(ctx, discovery)
	if err != nil {
		return nil, nil, err
	}
	declarations, problems, err := read(printed)
	if err != nil {
		return nil, nil, o.failed(err.Error())
	}
	if over := len(declarations) - o.MaxTools; over > 0 {
		problems = append(problems, fault.New(fault.InvalidConfig, "discovered.discover",
			fmt.Sprintf("The last %d of %d discovered tools are dropped: there may be at most %d.", over, len(declarations), o.MaxTools),
			"Declare fewer tools."))
		declarations = declarations[:o.MaxTools]
	}
	taken := make(map[string]string)
	for _, d := range declarations {
		t, err := newTool(&o, call, d)
		if err == nil {
			if other, ok := taken[t.spec.Name]; ok {
				err = fmt.Errorf("its name %s is that of %.100q already", t.spec.Name, other)
			}
		}
		if err != nil {
			problems = append(problems, dropped(d.name, err))
			continue
		}
		taken[t.spec.Name] = d.name
		found = append(found, t)
	}
	return found, problems, nil
}

// run runs the discovery command and returns what it printed.
func (o *Options) run(ctx context.Context, command []string) ([]byte, error) {
	out, err := o.Runner.Program(ctx, process.Program{
		Path: command[0], Args: command[1:], Dir: o.Dir, MaxBytes: o.MaxBytes, Total: o.DiscoveryTotal,
	})
	if err != nil {
		return nil, err
	}
	why := ""
	switch {
	case out.Ending == process.Cancelled || out.Ending == process.Closed:
		return nil, fault.New(fault.Cancelled, "discovered.discover", "The discovery of tools was cancelled.", "")
	case out.Ending == process.TotalLimit:
		why = fmt.Sprintf("it ran for more than %v", o.DiscoveryTotal)
	case out.Ending == process.OutputLimit:
		why = fmt.Sprintf("it printed more than %d bytes", o.MaxBytes)
	case out.Signal != "":
		why = "it was ended by " + out.Signal
	case out.Code != 0:
		why = fmt.Sprintf("it exited with code %d", out.Code)
	default:
		return out.Stdout, nil
	}
	if said := firstLine(out.Stderr); said != "" {
		why += ", after " + said
	}
	return nil, o.failed(why)
}

func (o *Options) failed(why string) *fault.Error {
	return fault.New(fault.ExecutionFailed, "discovered.discover",
		fmt.Sprintf("The command %.200q, which declares tools, failed: %s.", o.DiscoveryCommand, why),
		"Run it by hand in the project's directory, and correct it or the setting "+discoverySetting+".")
}

// firstLine quotes the first line of what a program printed, "" where it is empty.
func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	if len(line) == 0 {
		return ""
	}
	return fmt.Sprintf("%.200q", strings.ToValidUTF8(string(line), "\ufffd"))
}

// dropped says that a declared tool cannot be used.
func dropped(name string, why error) *fault.Error {
	because := ": " + why.Error() + "."
	if f := fault.As(why); f != nil {
		because = ". " + f.Message
	}
	return fault.New(fault.InvalidConfig, "discovered.discover",
		fmt.Sprintf("The discovered tool %.100q is dropped%s", name, because),
		"Correct what the command of "+discoverySetting+" prints.")
}
