package calls

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// DemoCommand returns the fettle demo command.
func DemoCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Demonstrate the tools: a scripted model changes files in a scratch directory",
		Long: `Runs a scripted conversation against the real tools on a scratch copy of a small
project, which is removed afterwards. Only the model's turns are scripted: every
result comes from the tools, and every hash that the model sends is copied from a
result. The exit code is 0 only if each file has exactly the expected content.
Of the global flags only --debug and --debug-file have an effect.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(syscall.SIGPIPE) // a closed pipe must not leave the scratch directory behind
			return runDemo(cmd.Context(), p, g, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per call")
	return cmd
}

// runDemo creates the scratch project, runs the script and reports the outcome.
func runDemo(ctx context.Context, p *program.Program, g *program.Flags, asJSON bool) (err error) {
	scratch, err := os.MkdirTemp("", "fettle-demo-")
	if err != nil {
		return err
	}
	defer func() {
		if removeErr := os.RemoveAll(scratch); err == nil && removeErr != nil {
			err = removeErr
		}
	}()
	dir := filepath.Join(scratch, "project")
	if err := copyDemoFiles("project", dir); err != nil {
		return err
	}
	own := program.Flags{
		Cwd: dir, ApprovalMode: "auto_edit", Layout: "fettle", EditDialect: []string{"safe_patch", "apply_patch"}, Debug: g.Debug, DebugFile: g.DebugFile,
	}
	return p.WithSession(ctx, program.SessionOptions{Flags: &own, Alone: true}, func(s program.Session) error {
		d := &demo{dir: dir, session: s, turns: demoScript(), report: &demoPrinter{out: p.Out, dir: dir, colour: display.WantsColour(p.Out)}}
		if asJSON {
			d.report = demoJSON{p.Out}
		}
		return d.play(ctx)
	})
}

// demo is a running scripted conversation.
type demo struct {
	dir     string
	session program.Session
	report  demoReport
	turns   []demoTurn
	next    int               // index of the next turn
	step    int               // number of the current step
	title   string            // of the current step
	files   map[string]string // hash of each file before the current call
	summary demoSummary
	failed  error // the error that ended it
}

// demoReport reports the progress of a demo.
type demoReport interface {
	Begin(steps int) error
	Step(demoStep) error
	End(demoSummary) error
}

// demoStep is one completed turn. Several turns can have the same number.
type demoStep struct {
	Step     int            `json:"step"`
	Title    string         `json:"title"`
	Scripted string         `json:"scripted_model,omitempty"` // the model's text, from the script
	Outside  string         `json:"outside,omitempty"`        // a change by another program
	Args     map[string]any `json:"args,omitempty"`
	Answer   *answer        `json:"answer,omitempty"`
	Expected bool           `json:"expected"` // it ended as expected
}

// demoSummary is the outcome of a demo.
type demoSummary struct {
	OK        bool       `json:"ok"`
	Prevented []demoRow  `json:"prevented"`
	Mended    []demoRow  `json:"mended"`
	Files     []demoFile `json:"files"`
}

// demoRow is a line of the summary.
type demoRow struct {
	Step int        `json:"step"`
	What string     `json:"what"`
	Code fault.Code `json:"code,omitempty"` // of the refusal
	Held bool       `json:"held"`           // the mistake was in fact prevented or repaired
}

// demoFile is a file of the scratch project at the end.
type demoFile struct {
	File     string `json:"file"`
	SHA256   string `json:"sha256"`
	Expected bool   `json:"expected"` // it has exactly the expected content
}

// play runs the agent with the scripted model and compares the files at the end.
func (d *demo) play(ctx context.Context) error {
	d.summary = demoSummary{OK: true, Prevented: []demoRow{}, Mended: []demoRow{}}
	turns, err := scriptOf(d.turns)
	if err != nil {
		return err
	}
	played := script.New(turns, script.Options{OnTurn: func(context.Context, script.Turn) error {
		d.outside()
		return nil
	}})
	client, err := agent.New(agent.Options{
		Source: model.Always(played), Model: func() string { return "script:demo" }, Scheduler: d,
	})
	if err != nil {
		return err
	}
	if err := d.report.Begin(demoSteps(d.turns)); err != nil {
		return err
	}
	var last agent.Event
	for last = range client.Run(ctx, model.TextPart(demoPrompt)) {
		if last.Type == agent.EventToolResponse && d.failed == nil {
			d.failed = d.answered(last)
		}
		if d.failed != nil {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		return program.Interrupted()
	case d.failed != nil:
		return d.failed
	case last.Type != agent.EventDone && d.summary.OK:
		return last.Err
	}
	return d.end()
}

// RunAll runs the calls of a turn: it is the scheduler of the conversation.
func (d *demo) RunAll(ctx context.Context, requests []scheduler.Request) []scheduler.Response {
	responses := make([]scheduler.Response, len(requests))
	for i, r := range requests {
		responses[i] = d.session.Run(ctx, r)
	}
	return responses
}

// outside makes the changes by another program that precede the model's next turn.
func (d *demo) outside() {
	for d.failed == nil && d.next < len(d.turns) && d.turns[d.next].tool == "" {
		t := d.take()
		if d.failed = saveFromOutside(d.dir, t.saves); d.failed == nil {
			d.failed = d.report.Step(demoStep{Step: d.step, Title: d.title, Outside: "another program saves " + path.Base(t.saves), Expected: true})
		}
	}
	if d.failed == nil {
		d.files, d.failed = demoHashes(d.dir)
	}
}

// take returns the next turn, which begins a step unless it continues one.
func (d *demo) take() demoTurn {
	t := d.turns[d.next]
	d.next++
	if t.title != "" {
		d.step, d.title = d.step+1, t.title
	}
	return t
}

// answered reports the call of a turn with its result.
func (d *demo) answered(e agent.Event) error {
	t := d.take()
	a := answerOf(*e.Response)
	step := demoStep{Step: d.step, Title: d.title, Scripted: t.text, Answer: &a}
	if err := json.Unmarshal(e.Call.Args, &step.Args); err != nil {
		return err
	}
	step.Expected = (a.Error == nil && t.want == "") || (a.Error != nil && a.Error.Code == t.want)
	if t.want != "" {
		now, err := demoHashes(d.dir)
		if err != nil {
			return err
		}
		step.Expected = step.Expected && maps.Equal(now, d.files)
	}
	if t.hides != "" {
		shown, err := d.shows(a, t.hides)
		if err != nil {
			return err
		}
		step.Expected = step.Expected && !shown
	}
	d.summary.OK = d.summary.OK && step.Expected
	if t.stops != "" {
		d.summary.Prevented = append(d.summary.Prevented, demoRow{step.Step, t.stops, t.want, step.Expected})
	}
	if t.mends != "" {
		d.summary.Mended = append(d.summary.Mended, demoRow{Step: step.Step, What: t.mends, Held: step.Expected})
	}
	return d.report.Step(step)
}

// end compares the files and reports the outcome.
func (d *demo) end() (err error) {
	if d.summary.Files, err = compareDemoFiles(d.dir); err != nil {
		return err
	}
	d.summary.OK = d.summary.OK && d.next == len(d.turns)
	for _, f := range d.summary.Files {
		d.summary.OK = d.summary.OK && f.Expected
	}
	if err := d.report.End(d.summary); err != nil {
		return err
	}
	if !d.summary.OK {
		return &program.ExitError{Code: program.ExitToolError, Err: fault.New(fault.ExecutionFailed, "cli.demo",
			"The demo did not end as expected.", "Please report this with the output of fettle demo --json --debug.")}
	}
	return nil
}

// shows reports whether a result contains a line of a file of the project.
func (d *demo) shows(a answer, file string) (bool, error) {
	content, err := os.ReadFile(filepath.Join(d.dir, file))
	if err != nil {
		return false, err
	}
	var b strings.Builder
	if err := program.PrintJSON(&b, a); err != nil {
		return false, err
	}
	for line := range strings.Lines(string(content)) {
		if strings.Contains(b.String(), strings.TrimSpace(line)) {
			return true, nil
		}
	}
	return false, nil
}

// copyDemoFiles copies an embedded directory to dir.
func copyDemoFiles(name, dir string) error {
	files, err := fs.Sub(demoFiles, "demodata/"+name)
	if err != nil {
		return err
	}
	return os.CopyFS(dir, files)
}

// saveFromOutside replaces a file as an editor does: with a new file that is renamed.
func saveFromOutside(dir, version string) error {
	data, err := demoFiles.ReadFile("demodata/outside/" + version)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, path.Base(version))
	if err := os.WriteFile(name+".tmp", data, 0o644); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// demoHashes returns the hash of each file of a directory, by name.
func demoHashes(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	hashes := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		hashes[e.Name()] = hashOf(data)
	}
	return hashes, nil
}

// compareDemoFiles compares the directory with the expected files. An additional or
// missing file is a difference, too.
func compareDemoFiles(dir string) ([]demoFile, error) {
	want := map[string]string{}
	entries, err := demoFiles.ReadDir("demodata/expected")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		data, err := demoFiles.ReadFile("demodata/expected/" + e.Name())
		if err != nil {
			return nil, err
		}
		want[e.Name()] = hashOf(data)
	}
	var files []demoFile
	found, err := demoHashes(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		files = append(files, demoFile{name, found[name], want[name] == found[name]})
		delete(want, name)
	}
	for name := range want {
		files = append(files, demoFile{File: name})
	}
	return files, nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
