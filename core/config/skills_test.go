package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/skills"
)

// putSkill creates a skill in a directory and returns its directory.
func putSkill(t *testing.T, dir, name, body string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	text := "---\nname: " + name + "\ndescription: About " + name + "\n---\n" + body + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o600))
	return dir
}

// withSkill returns a session with the user's skill "kit", and its directory,
// which lies outside of the workspace.
func withSkill(t *testing.T, change ...func(*config.Parameters)) (*configtest.Session, string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir := putSkill(t, filepath.Join(home, ".fettle", "skills", "kit"), "kit", "Work by the kit.")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "scripts"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "scripts", "run.sh"), []byte("echo needle\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("Obey the skill."), 0o600))
	s := configtest.New(t, append([]func(*config.Parameters){func(p *config.Parameters) { p.Environment.HomeDir = home }}, change...)...)
	return s, dir
}

// js returns literal JSON.
func js(text string) json.RawMessage { return json.RawMessage(text) }

func systemPrompt(t *testing.T, c *config.Config) string {
	t.Helper()
	text, err := c.SystemPrompt(t.Context())
	require.NoError(t, err)
	return text
}

// EX-04: /skill adds the body to the system prompt of its conversation, where it
// stays through compaction, until the next conversation.
func TestActivateSkill(t *testing.T) {
	s, _ := withSkill(t)
	require.Contains(t, systemPrompt(t, s.Config), "<name>kit</name>")
	require.NotContains(t, systemPrompt(t, s.Config), "Work by the kit.")
	child := derive(t, s.Config, config.DeriveParameters{})
	skill, err := s.Skills().Activate(t.Context(), "KIT")
	require.NoError(t, err)
	require.Equal(t, "kit", skill.Name)
	_, err = s.Skills().Activate(t.Context(), "kit")
	require.NoError(t, err, "a second time")
	require.Equal(t, 1, strings.Count(systemPrompt(t, s.Config), "Work by the kit."))
	require.Contains(t, systemPrompt(t, s.Config), "# Skills in use")
	require.NotContains(t, systemPrompt(t, child), "Work by the kit.", "it is this conversation's")
	active, err := s.Skills().Active()
	require.NoError(t, err)
	require.Equal(t, []string{"kit"}, active)
	active, err = child.Skills().Active()
	require.NoError(t, err)
	require.Empty(t, active)

	require.NoError(t, s.Compacted())
	require.Contains(t, systemPrompt(t, s.Config), "Work by the kit.")
	_, err = s.StartNewSession("", 0)
	require.NoError(t, err)
	require.NotContains(t, systemPrompt(t, s.Config), "Work by the kit.")
	active, err = s.Skills().Active()
	require.NoError(t, err)
	require.Empty(t, active)

	_, err = s.Skills().Activate(t.Context(), "nobody")
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	require.NoError(t, s.Skills().SetEnabled("Kit", false))
	_, err = s.Skills().Activate(t.Context(), "kit")
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(s.Skills().SetEnabled("nobody", true)))
}

// A model's activation requires approval, unless the skill is built in; it
// returns the body and makes the directory readable.
func TestActivateSkillTool(t *testing.T) {
	s, dir := withSkill(t)
	s.Answer = func(bus.ToolConfirmationRequest) bus.Outcome { return bus.Cancel }
	refused := s.Call(skills.ActivateSkill, js(`{"name":"kit"}`))
	require.Equal(t, fault.DeniedByUser, refused.Result.Error.Code)
	require.Len(t, s.Confirmations(), 1)
	require.Nil(t, s.Call(skills.ActivateSkill, js(`{"name":"state-mismatch"}`)).Result.Error)
	run := filepath.Join(dir, "scripts", "run.sh")
	require.Equal(t, fault.PathNotInWorkspace, s.Call("read_file", js(`{"file_path":"`+run+`"}`)).Result.Error.Code)

	require.Len(t, s.Confirmations(), 1, "nobody is asked about what is built in")
	s.Answer = nil
	answer := s.Call(skills.ActivateSkill, js(`{"name":"kit"}`))
	require.Nil(t, answer.Result.Error)
	require.Contains(t, answer.Result.LLMContent.String(), "Work by the kit.")
	details, err := json.Marshal(s.Confirmations()[1])
	require.NoError(t, err)
	require.Contains(t, string(details), "Activate Skill: kit")
	require.Contains(t, string(details), "run.sh")

	require.Nil(t, s.Call("read_file", js(`{"file_path":"`+run+`"}`)).Result.Error)
	active, err := s.Skills().Active()
	require.NoError(t, err)
	require.Equal(t, []string{"state-mismatch", "kit"}, active)
}

// The directory of an active skill can be read and searched by its path, is never
// written, and is not part of the project.
func TestSkillDirectoryIsReadOnly(t *testing.T) {
	s, dir := withSkill(t, func(p *config.Parameters) {
		p.Policy.ApprovalMode = policy.ModeYolo
		p.Tools.Core = append(config.DefaultTools(p.Environment.Layout), "edit")
	})
	_, err := s.Skills().Activate(t.Context(), "kit")
	require.NoError(t, err)
	run := filepath.Join(dir, "scripts", "run.sh")
	require.NoError(t, os.Symlink(dir, s.Path("link")))
	text := func(tool string, args json.RawMessage) string {
		answer := s.Call(tool, args)
		require.Nil(t, answer.Result.Error, "%s %s", tool, args)
		return answer.Result.LLMContent.String()
	}
	require.Contains(t, text("read_file", js(`{"file_path":"`+run+`"}`)), "echo needle")
	require.Contains(t, text("read_many_files", js(`{"paths":["`+run+`"]}`)), "echo needle")
	require.Contains(t, text("list_directory", js(`{"dir_path":"`+dir+`"}`)), "scripts")
	require.Contains(t, text("glob", js(`{"pattern":"**/*.sh","dir_path":"`+dir+`"}`)), "run.sh")
	require.Contains(t, text("search_file_content", js(`{"pattern":"needle","dir_path":"`+dir+`"}`)), "run.sh")
	require.NotContains(t, text("search_file_content", js(`{"pattern":"needle"}`)), "run.sh", "the project is searched")
	require.NotContains(t, text("glob", js(`{"pattern":"**/*.sh"}`)), "run.sh")
	require.NotContains(t, systemPrompt(t, s.Config), "Obey the skill.", "its instruction files are not the project's")
	require.NotContains(t, systemPrompt(t, s.Config), "Also part of the workspace: "+dir)

	read := text("read_file", js(`{"file_path":"`+run+`"}`))
	var state struct{ SHA256 string }
	require.NoError(t, json.Unmarshal([]byte(read), &state))
	for _, path := range []string{run, s.Path("link/scripts/run.sh"), "link/scripts/run.sh"} {
		for tool, args := range map[string]string{
			"write_file": `{"file_path":"` + path + `","content":"x","base_content_sha256":"` + state.SHA256 + `"}`,
			"edit":       `{"file_path":"` + path + `","old_string":"needle","new_string":"x"}`,
			"safe_patch": `{"file_path":"` + path + `","unified_diff":"@@ -1 +1 @@\n-echo needle\n+echo x\n","base_content_sha256":"` + state.SHA256 + `"}`,
		} {
			answer := s.Call(tool, js(args))
			require.NotNil(t, answer.Result.Error, "%s %s", tool, path)
			require.Equal(t, fault.PermissionDenied, answer.Result.Error.Code, "%s %s: %s", tool, path, answer.Result.Error.Line())
		}
	}
	answer := s.Call("write_file", js(`{"file_path":"`+filepath.Join(dir, "new", "file")+`","content":"x"}`))
	require.Equal(t, fault.PermissionDenied, answer.Result.Error.Code)
	data, err := os.ReadFile(run)
	require.NoError(t, err)
	require.Equal(t, "echo needle\n", string(data))
	require.NoDirExists(t, filepath.Join(dir, "new"))
}

// EX-05: scopes, in the order of precedence; a project's skills count if it is
// trusted.
func TestSkillScopes(t *testing.T) {
	for name, tt := range map[string]struct {
		trust trust.State
		want  string
	}{
		"trusted": {trust.Trusted, "project's shared"}, "undecided": {trust.Undecided, "user's shared"}, "untrusted": {trust.Untrusted, "user's shared"},
	} {
		home, extra := t.TempDir(), t.TempDir()
		putSkill(t, filepath.Join(extra, "s"), "same", "extra's")
		putSkill(t, filepath.Join(home, ".fettle/skills/s"), "same", "user's")
		putSkill(t, filepath.Join(home, ".agents/skills/s"), "SAME", "user's shared")
		s := configtest.New(t, func(p *config.Parameters) {
			p.Environment.HomeDir, p.Policy.Trust = home, tt.trust
			p.Skills.Definitions = []skills.Skill{{Name: "same", Description: "d", Body: "given"}, {Name: "mine", Description: "d", Body: "of the embedder"}}
			p.Skills.Dirs = []skills.Dir{{Path: extra, Scope: skills.ScopeExtension, Extension: "x"}}
			putSkill(t, filepath.Join(p.TargetDir, ".fettle/skills/s"), "same", "project's")
			putSkill(t, filepath.Join(p.TargetDir, ".agents/skills/s"), "same", "project's shared")
		})
		m, err := s.Skills().Manager()
		require.NoError(t, err)
		got, ok := m.Get("same")
		require.True(t, ok)
		require.Equal(t, tt.want, got.Body, name)
		mine, ok := m.Get("mine")
		require.True(t, ok)
		require.Equal(t, skills.ScopeBuiltIn, mine.Scope)
		require.Nil(t, s.Call(skills.ActivateSkill, js(`{"name":"mine"}`)).Result.Error, "the embedder's own is not asked about")
	}
}

// The tool is removed and added with the skills, in derived Configs too, and
// names them.
func TestSkillToolFollows(t *testing.T) {
	s, dir := withSkill(t)
	child := derive(t, s.Config, config.DeriveParameters{})
	declared := func(c *config.Config) string {
		r, err := c.ToolRegistry()
		require.NoError(t, err)
		for _, d := range r.Declarations() {
			if d.Name == skills.ActivateSkill {
				return string(d.Parameters)
			}
		}
		return ""
	}
	for _, c := range []*config.Config{s.Config, child} {
		require.Contains(t, declared(c), `["fettle-extend","kit","state-mismatch"]`)
	}
	putSkill(t, filepath.Join(filepath.Dir(dir), "late"), "late", "x")
	require.NoError(t, s.Skills().Reload(t.Context()))
	for _, c := range []*config.Config{s.Config, child} {
		require.Contains(t, declared(c), `["fettle-extend","kit","late","state-mismatch"]`)
	}
	for _, name := range []string{"fettle-extend", "kit", "late", "state-mismatch"} {
		require.NoError(t, child.Skills().SetEnabled(name, false))
	}
	for _, c := range []*config.Config{s.Config, child} {
		require.Empty(t, declared(c))
		require.NotContains(t, systemPrompt(t, c), "# Skills")
	}
	require.NoError(t, s.Skills().SetEnabled("kit", true))
	require.Contains(t, declared(child), `["kit"]`)
	require.NoError(t, child.Close())
	require.NoError(t, s.Skills().Reload(t.Context()), "a closed child is not told")

	off := configtest.New(t, func(p *config.Parameters) { p.Skills.Disabled = true })
	require.Empty(t, declared(off.Config))
	excluded := configtest.New(t, func(p *config.Parameters) { p.Tools.Exclude = []string{skills.ActivateSkill} })
	require.Empty(t, declared(excluded.Config))
	require.NotContains(t, systemPrompt(t, excluded.Config), "# Skills")
	require.NoError(t, excluded.Skills().Reload(t.Context()))
	require.Empty(t, declared(excluded.Config))
}

// Settings disable skills by name, and a change that disables more applies at
// once.
func TestSkillSettings(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".fettle", "settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	put := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	put(`{"skills": {"disabled": ["Fettle-Extend"]}}`)
	s := configtest.New(t, func(p *config.Parameters) { p.Environment.HomeDir, p.Settings = home, &settings.Options{} })
	m, err := s.Skills().Manager()
	require.NoError(t, err)
	enabled := func(name string) bool {
		skill, ok := m.Get(name)
		require.True(t, ok)
		return !skill.Disabled
	}
	require.False(t, enabled("fettle-extend"))
	require.True(t, enabled("state-mismatch"))
	put(`{"skills": {"disabled": ["fettle-extend", "Fettle-Extend", "state-mismatch"]}}`)
	require.NoError(t, s.Settings().Reload(t.Context()))
	require.False(t, enabled("state-mismatch"))
	put(`{}`)
	require.NoError(t, s.Settings().Reload(t.Context()))
	require.False(t, enabled("state-mismatch"), "what is less strict waits for the next session")
	put(`{"skills": {"enabled": false}}`)
	s = configtest.New(t, func(p *config.Parameters) { p.Environment.HomeDir, p.Settings = home, &settings.Options{} })
	m, err = s.Skills().Manager()
	require.NoError(t, err)
	require.Empty(t, m.All())
}

// A history shows the activated skills, so that a resumed session may read them
// again; a failed activation shows nothing.
func TestResumeReopensSkills(t *testing.T) {
	s, dir := withSkill(t, playing(t, "", script.Options{}))
	run := filepath.Join(dir, "scripts", "run.sh")
	opening := func(response string) config.Opening {
		call := model.FunctionCall{ID: "c1", Name: skills.ActivateSkill, Args: json.RawMessage(`{"name":"kit"}`)}
		return config.Opening{History: []model.Content{
			model.UserText("Use the kit."),
			{Role: model.RoleModel, Parts: []model.Part{{Call: &call}}},
			{Role: model.RoleUser, Parts: []model.Part{{Response: &model.FunctionResponse{ID: "c1", Name: skills.ActivateSkill, Response: json.RawMessage(response)}}}},
		}}
	}
	_, err := s.Converse(opening(`{"error":{"type":"denied_by_user","message":"No."},"output":""}`))
	require.NoError(t, err)
	require.NotNil(t, s.Call("read_file", js(`{"file_path":"`+run+`"}`)).Result.Error)
	_, err = s.Converse(opening(`{"output":"<activated_skill>"}`))
	require.NoError(t, err)
	require.Nil(t, s.Call("read_file", js(`{"file_path":"`+run+`"}`)).Result.Error)
}

// The tools listed in a skill are not allowed by it, whatever their form and
// wherever the skill comes from.
func TestSkillsAllowNothing(t *testing.T) {
	for _, form := range []string{"Bash(git:*), Write", "[Bash, Write]", `"*"`, "{Bash: yes}", "run_shell_command(git *) write_file", "null"} {
		home := t.TempDir()
		dir := filepath.Join(home, ".fettle", "skills", "kit")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: kit\ndescription: d\nallowed-tools: "+form+"\n---\nDo it.\n"), 0o644))
		s := configtest.New(t, func(p *config.Parameters) { p.Environment.HomeDir = home })
		_, err := s.Skills().Activate(t.Context(), "kit")
		if form == "{Bash: yes}" { // not a list: the skill is not used
			require.ErrorContains(t, err, `no skill "kit"`)
		} else {
			require.NoError(t, err, form)
		}
		require.Equal(t, policy.AskUser, explained(t, s.Config, "run_shell_command", command("git status")).Decision, form)
		require.Equal(t, policy.AskUser, explained(t, s.Config, "write_file", `{"file_path":"a","content":""}`).Decision, form)
	}
}
