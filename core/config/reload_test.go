package config_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/tools"
)

// heard collects the announcements on a bus until stop.
func heard(t *testing.T, c *config.Config) (stop func() []bus.ConfigChanged) {
	t.Helper()
	var mu sync.Mutex
	var all []bus.ConfigChanged
	ctx, cancel := context.WithCancel(t.Context())
	last := make(chan struct{})
	bus.Subscribe(ctx, c.MessageBus(), func(_ context.Context, m bus.ConfigChanged) {
		if m.Key == "test.end" {
			close(last)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, m)
	})
	return func() []bus.ConfigChanged {
		require.NoError(t, c.MessageBus().Publish(bus.ConfigChanged{Key: "test.end"}))
		<-last // messages come in order
		cancel()
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// SB-04: that the mode auto confines nothing is reported once in a session, however
// the mode is entered.
func TestAutoNotice(t *testing.T) {
	t.Parallel()
	none := func(p *config.Parameters) { p.Tools.Shell.Confinement = process.Confinement{} }
	for name, tt := range map[string]struct {
		change []func(*config.Parameters)
		want   int
	}{
		"set later":           {[]func(*config.Parameters){none}, 1},
		"set by the settings": {[]func(*config.Parameters){withUser(t, `{"approvalMode": "auto", "tools": {"sandbox": "none"}}`)}, 0},
		"set by the caller":   {[]func(*config.Parameters){none, func(p *config.Parameters) { p.Policy.ApprovalMode = policy.ModeAuto }}, 0},
	} {
		s := configtest.New(t, tt.change...)
		stop := heard(t, s.Config)
		for _, mode := range []policy.ApprovalMode{policy.ModeDefault, policy.ModeAuto, policy.ModeDefault, policy.ModeAuto} {
			require.NoError(t, s.SetApprovalMode(mode), name)
		}
		notices := 0
		for _, m := range stop() {
			if m.Notice != "" {
				notices++
			}
		}
		require.Equal(t, tt.want, notices, name)
	}
}

func later(t *testing.T, c *config.Config) (keys []string) {
	t.Helper()
	problems, err := c.Settings().Problems()
	require.NoError(t, err)
	for _, p := range problems {
		if p.Kind == settings.KindLater {
			require.Contains(t, p.Message, "next session")
			keys = append(keys, p.Key)
		}
	}
	return keys
}

// The effect of a changed file on a running session: neutral settings and
// stricter ones apply at once, all others in the next session.
func TestReload(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after string
		announced     map[string]string // values by key
		waits         []string
		change        func(p *config.Parameters)
	}{
		"nothing":                {`{"approvalMode": "plan"}`, `{ "approvalMode": "plan" } // again`, nil, nil, nil},
		"a stricter mode":        {`{}`, `{"approvalMode": "plan"}`, map[string]string{"general.defaultApprovalMode": `"plan"`}, nil, nil},
		"the other spelling":     {`{"approvalMode": "yolo"}`, `{"approvalMode": "auto_edit"}`, map[string]string{"general.defaultApprovalMode": `"autoEdit"`}, nil, nil},
		"a looser mode":          {`{}`, `{"approvalMode": "auto_edit"}`, nil, []string{"general.defaultApprovalMode"}, nil},
		"yolo":                   {`{}`, `{"approvalMode": "yolo"}`, nil, []string{"general.defaultApprovalMode"}, nil},
		"the default again":      {`{"approvalMode": "auto_edit"}`, `{}`, map[string]string{"general.defaultApprovalMode": `"default"`}, nil, nil},
		"a tool less":            {`{}`, `{"tools": {"exclude": ["write_file"]}}`, map[string]string{"tools.exclude": `["write_file"]`}, nil, nil},
		"a tool more":            {`{"tools": {"exclude": ["write_file"]}}`, `{}`, nil, []string{"tools.exclude"}, nil},
		"another tool":           {`{"tools": {"exclude": ["a"]}}`, `{"tools": {"exclude": ["b"]}}`, nil, []string{"tools.exclude"}, nil},
		"reads remembered":       {`{"fileReadCacheDisabled": true}`, `{}`, map[string]string{"tools.fileReadCacheDisabled": `false`}, nil, nil},
		"reads not remembered":   {`{}`, `{"fileReadCacheDisabled": true}`, nil, []string{"tools.fileReadCacheDisabled"}, nil},
		"no private network":     {`{"web": {"allowPrivateAddresses": true}}`, `{}`, map[string]string{"web.allowPrivateAddresses": `false`}, nil, nil},
		"a private network":      {`{}`, `{"web": {"allowPrivateAddresses": true}}`, nil, []string{"web.allowPrivateAddresses"}, nil},
		"proxy not asked":        {`{"web": {"proxyDecides": true}}`, `{}`, map[string]string{"web.proxyDecides": `false`}, nil, nil},
		"proxy asked":            {`{}`, `{"web": {"proxyDecides": true}}`, nil, []string{"web.proxyDecides"}, nil},
		"a host less":            {`{"web": {"allowedHosts": ["a", "b"]}}`, `{"web": {"allowedHosts": ["b"]}}`, map[string]string{"web.allowedHosts": `["b"]`}, nil, nil},
		"no host":                {`{"web": {"allowedHosts": ["a"]}}`, `{}`, map[string]string{"web.allowedHosts": `null`}, nil, nil},
		"a host more":            {`{"web": {"allowedHosts": ["a"]}}`, `{"web": {"allowedHosts": ["a", "b"]}}`, nil, []string{"web.allowedHosts"}, nil},
		"files":                  {`{}`, `{"fileFiltering": {"maxFileCount": 7, "respectGitIgnore": false}}`, map[string]string{"context.fileFiltering.maxFileCount": `7`, "context.fileFiltering.respectGitIgnore": `false`}, nil, nil},
		"tools without asking":   {`{}`, `{"tools": {"allowed": ["run_shell_command"]}}`, nil, []string{"tools.allowed"}, nil},
		"a network less":         {`{}`, `{"tools": {"sandbox": {"networkAccess": false}}}`, nil, []string{"tools.sandbox.networkAccess"}, nil},
		"time limits":            {`{}`, `{"tools": {"shell": {"timeout": 1}}}`, nil, []string{"tools.shell.timeout"}, nil},
		"what nothing reads":     {`{}`, `{"ui": {"errorVerbosity": "full"}}`, nil, nil, nil},
		"a value that is none":   {`{"fileFiltering": {"maxFileCount": 7}}`, `{"fileFiltering": {"maxFileCount": "many"}}`, nil, nil, nil},
		"a group that is none":   {`{"context": {"fileFiltering": {"maxFileCount": 7}}}`, `{"context": 5}`, nil, nil, nil},
		"by its other name":      {`{"fileFiltering": {"maxFileCount": 7}}`, `{"fileFiltering": []}`, nil, nil, nil},
		"an entry that is none":  {`{"fileFiltering": {"customIgnoreFilePaths": [".secret"]}}`, `{"fileFiltering": {"customIgnoreFilePaths": [5]}}`, nil, nil, nil},
		"one entry of two":       {`{"tools": {"exclude": ["glob"]}}`, `{"tools": {"exclude": ["glob", "edit", {}]}}`, nil, nil, nil},
		"a mode in such a group": {`{"approvalMode": "auto_edit"}`, `{"general": "plan"}`, nil, nil, nil},
		"a file that is none":    {`{"fileFiltering": {"maxFileCount": 7}}`, `{"fileFiltering": {"maxFileCount": 8}, oops`, nil, nil, nil},
		"one of two":             {`{}`, `{"approvalMode": "plan", "tools": {"allowed": ["glob"]}}`, map[string]string{"general.defaultApprovalMode": `"plan"`}, []string{"tools.allowed"}, nil},
		"what the embedder says": {`{}`, `{"approvalMode": "plan", "tools": {"exclude": ["glob"]}}`, nil, nil, func(p *config.Parameters) { p.Policy.ApprovalMode, p.Tools.Exclude = policy.ModeAutoEdit, []string{} }},
	} {
		t.Run(name, func(t *testing.T) {
			changes := []func(*config.Parameters){withUser(t, tt.before)}
			if tt.change != nil {
				changes = append(changes, tt.change)
			}
			s := configtest.New(t, changes...)
			mode := s.ApprovalMode()
			before, err := s.Settings().Current()
			require.NoError(t, err)
			wrong, err := s.Settings().Problems()
			require.NoError(t, err)
			stop := heard(t, s.Config)
			file := filepath.Join(storageOf(t, s.Config).GlobalDir, "settings.json")
			require.NoError(t, os.WriteFile(file, []byte(tt.after), 0o644))
			require.NoError(t, s.Settings().Reload(t.Context()))
			require.NoError(t, s.Settings().Reload(t.Context()), "a second time changes nothing")
			announced := map[string]string{}
			for _, m := range stop() {
				require.NotContains(t, announced, m.Key, "once")
				announced[m.Key] = string(m.Value)
				require.Equal(t, s.SessionID(), m.SessionID)
				require.Empty(t, m.Subagent)
				if m.Key != "" {
					require.Contains(t, []string{file, "default"}, m.Origin)
				}
			}
			problems, err := s.Settings().Problems()
			require.NoError(t, err)
			others, told := announced[""]
			require.Equal(t, !slices.Equal(wrong, problems), told, "problems that are others are announced")
			require.Empty(t, others)
			delete(announced, "")
			if len(tt.announced) > 0 {
				require.Equal(t, tt.announced, announced)
			} else {
				require.Empty(t, announced)
				require.Equal(t, mode, s.ApprovalMode())
				now, err := s.Settings().Current()
				require.NoError(t, err)
				require.Equal(t, before, now)
			}
			require.ElementsMatch(t, tt.waits, later(t, s.Config))
		})
	}
}

// A value that takes effect names its own file, not one without effect, nor an
// earlier one.
func TestReloadOrigin(t *testing.T) {
	var home, refused string
	s := configtest.New(t, withUser(t, `{"approvalMode": "auto_edit", "web": {"allowedHosts": ["a"]}}`), func(p *config.Parameters) {
		home = p.Environment.HomeDir
		refused = settingsIn(t, p.TargetDir, `{"approvalMode": "yolo", "web": {"allowedHosts": ["b"]}}`)
	})
	stop := heard(t, s.Config)
	file := settingsIn(t, home, `{"approvalMode": "plan"}`)
	require.NoError(t, s.Settings().Reload(t.Context()))
	got := map[string]string{}
	for _, m := range stop() {
		got[m.Key] = m.Origin
	}
	require.Equal(t, map[string]string{"general.defaultApprovalMode": file, "web.allowedHosts": "default"}, got)

	settingsIn(t, home, `{"approvalMode": "default"}`)
	require.NoError(t, s.Settings().Reload(t.Context()))
	problems, err := s.Settings().Problems()
	require.NoError(t, err)
	i := slices.IndexFunc(problems, func(p fault.Problem) bool { return p.Kind == settings.KindLater })
	require.Equal(t, file, problems[i].Path)
	require.NotEqual(t, refused, problems[i].Path)
}

// A file's value is announced to every conversation that it affects: to one whose
// own mode yields to it, and to the main agent even if its mode is stricter
// already.
func TestReloadIsAnnouncedToAll(t *testing.T) {
	s := configtest.New(t, withUser(t, `{"approvalMode": "auto_edit", "fileReadCacheDisabled": true}`))
	child := derive(t, s.Config, config.DeriveParameters{Subagent: "helper"})
	require.NoError(t, s.SetApprovalMode(policy.ModePlan))
	s.SetFileReadCacheDisabled(false)
	file := filepath.Join(storageOf(t, s.Config).GlobalDir, "settings.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"approvalMode": "default"}`), 0o644))
	stop := heard(t, s.Config)
	require.NoError(t, s.Settings().Reload(t.Context()))
	require.Equal(t, policy.ModeDefault, child.ApprovalMode())
	require.Equal(t, policy.ModeDefault, child.ApprovalMode(), "it is told once")
	var got []string
	for _, m := range stop() {
		text, err := json.Marshal([]any{m.Subagent, m.Key, m.Value, m.Origin})
		require.NoError(t, err)
		got = append(got, string(text))
	}
	require.ElementsMatch(t, []string{
		`["","general.defaultApprovalMode","plan","` + file + `"]`,
		`["","tools.fileReadCacheDisabled",false,"default"]`,
		`["helper","general.defaultApprovalMode","default","` + file + `"]`,
	}, got)
}

// A file of settings.Options.File that becomes unreadable is a problem like any
// other, and no problem once it is restored.
func TestReloadWithoutGivenFile(t *testing.T) {
	given := filepath.Join(t.TempDir(), "given.json")
	write := func(text string) { require.NoError(t, os.WriteFile(given, []byte(text), 0o600)) }
	write(`{"approvalMode": "auto_edit"}`)
	s := configtest.New(t, withUser(t, `{}`), func(p *config.Parameters) { p.Settings.File = given })
	before, err := s.Settings().Problems()
	require.NoError(t, err)
	stop := heard(t, s.Config)
	for _, text := range []string{"{ oops", ""} {
		write(text)
		if text == "" {
			require.NoError(t, os.Remove(given))
		}
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(s.Settings().Reload(t.Context())))
		problems, err := s.Settings().Problems()
		require.NoError(t, err)
		require.Len(t, problems, 1)
		require.Equal(t, []any{given, settings.LayerFile}, []any{problems[0].Path, problems[0].Layer})
		require.Contains(t, problems[0].Message, "unchanged")
		require.NotEmpty(t, problems[0].Remedy)
		require.Equal(t, policy.ModeAutoEdit, s.ApprovalMode())
	}
	write(`{"approvalMode": "auto_edit"}`)
	require.NoError(t, s.Settings().Reload(t.Context()))
	problems, err := s.Settings().Problems()
	require.NoError(t, err)
	require.Equal(t, before, problems)
	for _, m := range stop() {
		require.Equal(t, bus.ConfigChanged{SessionID: s.SessionID()}, m)
	}
}

// A problem is logged when it is new, and not at each reload.
func TestReloadLogsWhatIsNew(t *testing.T) {
	var log bytes.Buffer
	var home string
	s := configtest.New(t, withUser(t, `{"nokey": 1}`), func(p *config.Parameters) {
		home, p.Environment.Logger = p.Environment.HomeDir, slog.New(slog.NewTextHandler(&log, nil))
	})
	require.Equal(t, 1, strings.Count(log.String(), "nokey"))
	require.NoError(t, s.Settings().Reload(t.Context()))
	settingsIn(t, home, `{"nokey": 1, "other": 1, "approvalMode": "auto_edit"}`)
	for range 2 {
		require.NoError(t, s.Settings().Reload(t.Context()))
	}
	require.Equal(t, []int{1, 1, 1}, []int{strings.Count(log.String(), "nokey"), strings.Count(log.String(), "other"), strings.Count(log.String(), "next session")}, log.String())
}

// Tools of Bind find files like the built-in ones.
func TestReloadFinderOfServices(t *testing.T) {
	var home string
	var lent config.Services
	s := configtest.New(t, withUser(t, `{}`), func(p *config.Parameters) {
		home = p.Environment.HomeDir
		p.Tools.Bind = func(v config.Services) ([]tools.DeclarativeTool, error) { lent = v; return nil, nil }
	})
	settingsIn(t, home, `{"fileFiltering": {"maxFileCount": 7}}`)
	require.NoError(t, s.Settings().Reload(t.Context()))
	require.Equal(t, 7, lent.Finder.Options().MaxFiles)
}

// A value that was never set cannot be invalidated: a project cannot prevent a
// stricter value of the user from taking effect.
func TestReloadBesideWrongValues(t *testing.T) {
	var home string
	s := configtest.New(t, withUser(t, `{"approvalMode": "auto_edit"}`), func(p *config.Parameters) {
		home = p.Environment.HomeDir
		settingsIn(t, p.TargetDir, `{"approvalMode": "yolo"}`)
	})
	settingsIn(t, s.Dir, `{"general": "x", "tools": {"exclude": ["edit", 5]}}`)
	settingsIn(t, home, `{"approvalMode": "plan"}`)
	require.NoError(t, s.Settings().Reload(t.Context()))
	require.Equal(t, policy.ModePlan, s.ApprovalMode())
	require.Equal(t, []string{"edit"}, s.Policy().ExcludedTools())
}

// A malformed file keeps the previous values, is reported, and recovers.
func TestReloadBroken(t *testing.T) { // CF-05
	s := configtest.New(t, withUser(t, `{"fileFiltering": {"maxFileCount": 7}, "tools": {"exclude": ["glob"]}}`))
	home := filepath.Dir(storageOf(t, s.Config).GlobalDir)
	for _, step := range []struct {
		text string
		want int
		kind settings.Kind
	}{
		{"{\n oops", 7, settings.KindSyntax},
		{`{"fileFiltering": {"maxFileCount": 0}}`, 7, settings.KindValue},
		{`{"fileFiltering": {"maxFileCount": 8}, "tools": {"exclude": ["glob"]}}`, 8, ""},
	} {
		file := settingsIn(t, home, step.text)
		require.NoError(t, s.Settings().Reload(t.Context()))
		now, err := s.Settings().Current()
		require.NoError(t, err)
		require.Equal(t, step.want, now.Context.FileFiltering.MaxFileCount)
		require.Equal(t, []string{"glob"}, now.Tools.Exclude)
		problems, err := s.Settings().Problems()
		require.NoError(t, err)
		if step.kind == "" {
			require.Empty(t, problems)
			continue
		}
		require.Equal(t, step.kind, problems[0].Kind)
		require.Equal(t, file, problems[0].Path)
	}
}

// Derived Configs follow, including existing ones.
func TestReloadDerived(t *testing.T) {
	s := configtest.New(t, withUser(t, `{"approvalMode": "auto_edit"}`))
	for _, name := range []string{".gitignore", "a.log"} {
		s.Write(name, "*.log\n")
	}
	child := derive(t, s.Config, config.DeriveParameters{})
	planner := derive(t, child, config.DeriveParameters{ApprovalMode: policy.ModePlan})
	free := derive(t, child, config.DeriveParameters{ApprovalMode: policy.ModeYolo})
	require.Equal(t, scheduler.StatusSuccess, call(t, child, "write_file", map[string]any{"file_path": "x", "content": "x"}).Status)
	require.NotContains(t, call(t, child, "glob", map[string]any{"pattern": "*.log"}).Result.LLMContent.String(), "a.log")

	settingsIn(t, filepath.Dir(storageOf(t, s.Config).GlobalDir),
		`{"approvalMode": "default", "tools": {"exclude": ["list_directory"]}, "fileFiltering": {"respectGitIgnore": false}}`)
	require.NoError(t, child.Settings().Reload(t.Context()), "it is the parent's")
	for _, c := range []*config.Config{s.Config, child, free} {
		require.Equal(t, policy.ModeDefault, c.ApprovalMode())
	}
	require.Equal(t, policy.ModePlan, planner.ApprovalMode(), "that is stricter still")
	require.Contains(t, call(t, child, "glob", map[string]any{"pattern": "*.log"}).Result.LLMContent.String(), "a.log")
	refused := call(t, child, "list_directory", map[string]any{"dir_path": "."})
	require.Equal(t, scheduler.StatusDenied, refused.Status, "a registered tool that is excluded later is denied")
	require.Equal(t, filepath.Join(storageOf(t, s.Config).GlobalDir, "settings.json"), refused.Decision.Source)
	next := derive(t, s.Config, config.DeriveParameters{})
	require.NotContains(t, names(t, next), "list_directory", "and is not there in a later one")
	grandchild := derive(t, child, config.DeriveParameters{})
	require.NotContains(t, names(t, grandchild), "list_directory", "nor in one of an earlier one")
	for _, c := range []*config.Config{s.Config, child, planner, next, grandchild} {
		require.Equal(t, []string{"list_directory"}, c.Policy().ExcludedTools())
	}

	// A later mode of the user applies, and leaving plan mode restores no less
	// strict mode than the file's.
	require.NoError(t, child.SetApprovalMode(policy.ModeAutoEdit))
	require.Equal(t, policy.ModeAutoEdit, child.ApprovalMode())
	require.Equal(t, policy.ModeDefault, s.ApprovalMode())
}

// Plan mode restores no less strict mode than the file's: its mode if plan mode
// was set before it, and the default mode if the file requests plan mode.
func TestReloadInPlanMode(t *testing.T) {
	for name, tt := range map[string]struct {
		entered bool
		file    string
	}{
		"entered, then default": {true, `{"approvalMode": "default"}`},
		"entered, then plan":    {true, `{"approvalMode": "plan"}`},
		"brought by the file":   {false, `{"approvalMode": "plan"}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, withUser(t, `{"approvalMode": "auto_edit"}`))
			if tt.entered {
				require.NoError(t, s.SetApprovalMode(policy.ModePlan))
			}
			settingsIn(t, filepath.Dir(storageOf(t, s.Config).GlobalDir), tt.file)
			require.NoError(t, s.Settings().Reload(t.Context()))
			require.Equal(t, policy.ModePlan, s.ApprovalMode())
			s.Write(".fettle/plans/plan.md", "Do it.\n")
			r := s.Call("exit_plan_mode", map[string]any{"plan_path": ".fettle/plans/plan.md"})
			require.Equal(t, scheduler.StatusSuccess, r.Status, "%v", r.Result.Error)
			require.Equal(t, policy.ModeDefault, s.ApprovalMode())
		})
	}
}

// A mode set by a call after a file has become stricter applies, whether or not
// the mode was read in between, and so does that of a derived Config.
func TestCallAfterReload(t *testing.T) {
	s := configtest.New(t, withUser(t, `{"approvalMode": "auto_edit"}`))
	child := derive(t, s.Config, config.DeriveParameters{})
	settingsIn(t, filepath.Dir(storageOf(t, s.Config).GlobalDir), `{"approvalMode": "plan"}`)
	require.NoError(t, s.Settings().Reload(t.Context()))
	for _, c := range []*config.Config{child, s.Config} {
		require.NoError(t, c.SetApprovalMode(policy.ModeYolo))
		require.Equal(t, policy.ModeYolo, c.ApprovalMode())
		require.Equal(t, policy.ModeYolo, derive(t, c, config.DeriveParameters{}).ApprovalMode())
	}
}

// Each value set by a call is announced, in order and only if it changes.
func TestKnobsAreAnnounced(t *testing.T) {
	s := configtest.New(t, func(p *config.Parameters) { p.Session.ID = "one" })
	child := derive(t, s.Config, config.DeriveParameters{Subagent: "helper"})
	stop := heard(t, s.Config)
	require.NoError(t, s.SetApprovalMode(policy.ModeDefault), "as it is")
	require.NoError(t, s.SetApprovalMode("auto_edit"))
	require.NoError(t, s.SetApprovalMode("autoEdit"))
	require.Error(t, s.SetApprovalMode("maybe"))
	s.SetFileReadCacheDisabled(false)
	s.SetFileReadCacheDisabled(true)
	s.SetFileReadCacheDisabled(true)
	child.SetFileReadCacheDisabled(true) // because it follows its parent
	child.SetFileReadCacheDisabled(false)
	s.SetModel("")
	s.SetModel("clever")
	s.SetModel("")
	require.Equal(t, scheduler.StatusSuccess, call(t, child, "enter_plan_mode", map[string]any{}).Status)
	var got []string
	for _, m := range stop() {
		require.Empty(t, m.Origin)
		require.Equal(t, map[string]string{"": "one", "helper": child.SessionID()}[m.Subagent], m.SessionID)
		text, err := json.Marshal([]any{m.Subagent, m.Key, m.Value})
		require.NoError(t, err)
		got = append(got, string(text))
	}
	require.Equal(t, []string{
		`["","general.defaultApprovalMode","autoEdit"]`,
		`["","tools.fileReadCacheDisabled",true]`,
		`["helper","tools.fileReadCacheDisabled",false]`,
		`["","model.name","clever"]`,
		`["","model.name","auto"]`,
		`["helper","general.defaultApprovalMode","plan"]`,
	}, got)
}
