// Package discovered provides tools that are programs of the project: a discovery command declares them, and a call
// command runs them. Call [Discover] to obtain the tools.
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

// Options configures the discovery. Commands, Dir and Runner are required.
type Options struct {
	// DiscoveryCommand prints the declarations; CallCommand runs a tool. Each is a program and its arguments, split and
	// unquoted as a shell does. No shell runs it, and operators and expansions are rejected.
	DiscoveryCommand, CallCommand string
	Dir                           string // absolute working directory of both
	Runner                        Runner

	// Prefix is prepended to every declared name. "": discovered_tool_.
	Prefix string
	// DiscoveryTotal and CallTotal limit the run time of a program. Zero: 10 seconds and 10 minutes; negative: no limit.
	DiscoveryTotal, CallTotal time.Duration
	// MaxBytes limits the output of a program to stdout or stderr; a program that prints more is ended. Zero: 10 MiB.
	MaxBytes int64
	// MaxTools is the maximum number of tools; further ones are dropped. Zero: 1,000.
	MaxTools int
}

// Runner runs a program; *process.Service implements it.
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

// The settings, for remedies.
const (
	discoverySetting = "tools.discoveryCommand"
	callSetting      = "tools.callCommand"
)

// Discover runs the discovery command and returns the tools that it declares, in its order. The command must exit with
// code 0 and print a JSON array to stdout; its stderr is only quoted if it fails. An element of the array is a
// declaration, or an object with a list of declarations as function_declarations or functionDeclarations. A declaration
// has a name, and may have a description and parametersJsonSchema, the JSON schema of the arguments; if that is absent,
// parameters is used.
//
// An invalid declaration drops only that tool and is reported in problems, each with code invalid_config. The error has
// code invalid_config for an invalid command line, cancelled, or execution_failed.
//
// A call runs the call command with the declared name as an additional argument and the arguments as JSON on stdin. It
// succeeds if the command exits with code 0 and prints nothing to stderr. The ctx of the call ends the command. The
// tools are safe for concurrent use, and keep using the Runner.
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
			fmt.Sprintf("The last %d of %d discovered tools are dropped: the limit is %d.", over, len(declarations), o.MaxTools),
			"Declare fewer tools."))
		declarations = declarations[:o.MaxTools]
	}
	names := make(map[string]string)
	for _, d := range declarations {
		t, err := newTool(&o, call, d)
		if err == nil {
			if other, ok := names[t.spec.Name]; ok {
				err = fmt.Errorf("its name %s is already used by %.100q", t.spec.Name, other)
			}
		}
		if err != nil {
			problems = append(problems, dropped(d.name, err))
			continue
		}
		names[t.spec.Name] = d.name
		found = append(found, t)
	}
	return found, problems, nil
}

// run runs the discovery command and returns its output.
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
	if line := firstLine(out.Stderr); line != "" {
		why += ", after " + line
	}
	return nil, o.failed(why)
}

func (o *Options) failed(why string) *fault.Error {
	return fault.New(fault.ExecutionFailed, "discovered.discover",
		fmt.Sprintf("The command %.200q, which declares tools, failed: %s.", o.DiscoveryCommand, why),
		"Run it by hand in the project's directory, and correct it or the setting "+discoverySetting+".")
}

// firstLine quotes the first line of a program's output; "" if it is empty.
func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	if len(line) == 0 {
		return ""
	}
	return fmt.Sprintf("%.200q", strings.ToValidUTF8(string(line), "\ufffd"))
}

// dropped returns the problem of a declared tool that is dropped.
func dropped(name string, why error) *fault.Error {
	because := ": " + why.Error() + "."
	if f := fault.As(why); f != nil {
		because = ". " + f.Message
	}
	return fault.New(fault.InvalidConfig, "discovered.discover",
		fmt.Sprintf("The discovered tool %.100q is dropped%s", name, because),
		"Correct the output of the command in "+discoverySetting+".")
}
