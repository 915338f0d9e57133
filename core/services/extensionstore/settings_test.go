package extensionstore_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

const withSettings = `{"name": "x", "version": "1", "description": "$TOKEN $LEVEL",
	"settings": [{"name": "Token", "envVar": "TOKEN", "sensitive": true}, {"name": "Level", "envVar": "LEVEL"}],
	"mcpServers": {"s": {"url": "https://example.org/?t=$TOKEN", "headers": {"A": "${LEVEL:-none} $OPENAI_API_KEY ${HOME}"}}}}`

const secret = "s3cr3t-value"

// Sensitive values are stored separately, mode 0600, and never shown.
func TestSettings(t *testing.T) {
	s := newShelf(t)
	s.put("x/fettle-extension.json", withSettings)
	s.o.Getenv = func(name string) (string, bool) { return "of-" + name, name == "OPENAI_API_KEY" || name == "HOME" }
	store := extensionstore.Open(s.o)
	e := s.one()
	require.Empty(t, e.ResolvedSettings)
	require.NoError(t, store.SetSetting(t.Context(), e, "TOKEN", secret, extensions.ScopeUser))
	require.NoError(t, store.SetSetting(t.Context(), e, "LEVEL", `a "b" c`, extensions.ScopeUser))
	kept := filepath.Join(filepath.Dir(s.o.Dir), "extension-secrets.json")
	for _, path := range []string{kept, filepath.Join(e.Path, ".env")} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), path)
	}
	env, err := os.ReadFile(filepath.Join(e.Path, ".env"))
	require.NoError(t, err)
	require.Equal(t, "LEVEL=\"a \\\"b\\\" c\"\n", string(env))

	e = s.one()
	require.Equal(t, []string{"TOKEN=" + secret, `LEVEL=a "b" c`}, e.Env())
	require.JSONEq(t, `{"url": "https://example.org/?t=s3cr3t-value", "headers": {"A": "a \"b\" c $OPENAI_API_KEY of-HOME"}}`, e.Servers["s"].Reveal(),
		"the person's own keys are not read")
	encoded, err := json.Marshal(e)
	require.NoError(t, err)
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "e", e, "v", e.ResolvedSettings[0].Value)
	for _, shown := range []string{string(encoded), fmt.Sprint(e), fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e), fmt.Sprintf("%#v", &e.ResolvedSettings), logged.String(), e.Description} {
		require.NotContains(t, shown, secret)
	}
	require.Contains(t, string(encoded), `"***"`)
	require.Equal(t, `$TOKEN a "b" c`, e.Description)
	require.NotContains(t, extensionstore.VariablesOf(e, ""), "TOKEN")

	require.NoError(t, store.UnsetSetting(t.Context(), e, "TOKEN", extensions.ScopeUser))
	require.NoError(t, store.UnsetSetting(t.Context(), e, "LEVEL", extensions.ScopeUser))
	require.Empty(t, s.one().ResolvedSettings)
}

// A trusted workspace takes precedence over the user.
func TestSettingsOfWorkspace(t *testing.T) {
	s := newShelf(t)
	s.put("x/fettle-extension.json", withSettings)
	store, e := extensionstore.Open(s.o), s.one()
	for _, v := range []struct {
		name, value string
		scope       extensions.Scope
	}{{"TOKEN", "u-token", extensions.ScopeUser}, {"LEVEL", "u-level", extensions.ScopeUser}, {"TOKEN", "w-token", extensions.ScopeWorkspace}, {"LEVEL", "w-level", extensions.ScopeWorkspace}} {
		require.NoError(t, store.SetSetting(t.Context(), e, v.name, v.value, v.scope))
	}
	require.Equal(t, []string{"TOKEN=u-token", "LEVEL=u-level"}, s.one().Env())
	s.o.Trusted = true
	require.Equal(t, []string{"TOKEN=w-token", "LEVEL=w-level"}, s.one().Env())
	require.Equal(t, extensions.ScopeWorkspace, s.one().ResolvedSettings[0].Scope)
	require.NoError(t, store.ForgetSettings(t.Context(), e.ID))
	require.Equal(t, []string{"LEVEL=w-level"}, s.one().Env())
}

func TestSettingsOfEnvironment(t *testing.T) {
	s := newShelf(t)
	s.put("x/fettle-extension.json", withSettings)
	s.o.Getenv = func(name string) (string, bool) { return secret, name == "TOKEN" || name == "OTHER" }
	e := s.one()
	require.Equal(t, []string{"TOKEN=" + secret}, e.Env())
	require.Equal(t, extensions.ScopeEnvironment, e.ResolvedSettings[0].Scope)
	_, problems := s.load()
	require.NotContains(t, told(problems), secret)
	require.Contains(t, told(problems), "LEVEL")
}

func TestSettingRefused(t *testing.T) {
	s := newShelf(t)
	s.put("x/fettle-extension.json", withSettings)
	store, e := extensionstore.Open(s.o), s.one()
	for name, value := range map[string]string{"NOT_THERE": secret, "TOKEN": secret + "\nX=1", "LEVEL": secret + "\x00"} {
		err := store.SetSetting(t.Context(), e, name, value, extensions.ScopeUser)
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), name)
		require.NotContains(t, err.Error(), secret)
	}
	kept := filepath.Join(filepath.Dir(s.o.Dir), "extension-secrets.json")
	require.NoError(t, os.WriteFile(kept, []byte(`{"id": "`+secret+`"`), 0o600))
	err := store.SetSetting(t.Context(), e, "TOKEN", secret, extensions.ScopeUser)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
	require.NotContains(t, err.Error(), secret)
	_, problems := s.load()
	require.Contains(t, told(problems), kept)
	require.NotContains(t, told(problems), secret)
}

// Other lines of a .env file are preserved.
func TestEnvFile(t *testing.T) {
	s := newShelf(t)
	s.put("x/fettle-extension.json", withSettings)
	path := s.put("x/.env", "# mine\nexport LEVEL='one' # two\nOTHER=1\nLEVEL=2\n")
	require.NoError(t, os.Chmod(path, 0o640))
	e := s.one()
	require.Equal(t, []string{"LEVEL=2"}, e.Env())
	require.NoError(t, extensionstore.Open(s.o).SetSetting(t.Context(), e, "LEVEL", "three", extensions.ScopeUser))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "# mine\nLEVEL=three\nOTHER=1\n", string(text))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	for _, value := range []string{"", " ", `"`, `\`, "a#b", "a #b", "$HOME", "'", "ü=ö", `a\"b`} {
		require.NoError(t, extensionstore.Open(s.o).SetSetting(t.Context(), e, "LEVEL", value, extensions.ScopeUser))
		require.Equal(t, []string{"LEVEL=" + value}, s.one().Env())
	}
}

// An extension does not receive a key of the user by naming it, neither from the
// environment nor from a project's .env file. A value given for the extension is used,
// and is sensitive in spite of the manifest.
func TestSecretsOfThePerson(t *testing.T) {
	s := newShelf(t)
	s.put("x/fettle-extension.json", `{"name": "x", "version": "1", "description": "$MODEL_KEY $ADDRESS $LEVEL",
		"settings": [{"name": "a", "envVar": "MODEL_KEY"}, {"name": "b", "envVar": "ADDRESS"}, {"name": "c", "envVar": "LEVEL"}],
		"mcpServers": {"s": {"httpUrl": "https://example.org/?k=$MODEL_KEY&a=$ADDRESS&l=$LEVEL"}}}`)
	s.o.Trusted = true
	s.o.LooksSecret = func(name, value string) bool {
		return strings.HasSuffix(name, "_KEY") || strings.Contains(value, secret)
	}
	s.o.Getenv = func(name string) (string, bool) {
		value, ok := map[string]string{"MODEL_KEY": "plain", "ADDRESS": "https://u:" + secret + "@h", "LEVEL": "7"}[name]
		return value, ok
	}
	project := filepath.Join(s.o.Workspace, ".env")
	require.NoError(t, os.WriteFile(project, []byte("MODEL_KEY=plain\nADDRESS=https://u:"+secret+"@h\n"), 0o600))
	e, store := s.one(), extensionstore.Open(s.o)
	require.Equal(t, []string{"LEVEL=7"}, e.Env())
	require.JSONEq(t, `{"httpUrl": "https://example.org/?k=$MODEL_KEY&a=$ADDRESS&l=7"}`, e.Servers["s"].Reveal())
	require.Equal(t, []bool{true, false}, []bool{e.Settings[0].Sensitive, e.Settings[1].Sensitive}, "by its name")
	_, problems := s.load()
	require.Contains(t, told(problems), "MODEL_KEY of the extension x has no value: that of the environment looks like a secret")
	require.Contains(t, told(problems), "ADDRESS of the extension x has no value")
	require.NotContains(t, told(problems), secret)

	require.NoError(t, store.SetSetting(t.Context(), e, "ADDRESS", "old", extensions.ScopeUser))
	for _, scope := range []extensions.Scope{extensions.ScopeUser, extensions.ScopeWorkspace} {
		require.NoError(t, store.SetSetting(t.Context(), e, "MODEL_KEY", "given", scope))
		require.NoError(t, store.SetSetting(t.Context(), e, "ADDRESS", secret+"2", scope))
	}
	data, err := os.ReadFile(filepath.Join(e.Path, ".env"))
	require.NoError(t, err)
	require.Empty(t, string(data), "it is kept with the secrets, and nowhere else")
	data, err = os.ReadFile(project)
	require.NoError(t, err)
	require.Equal(t, "MODEL_KEY=plain\nADDRESS=https://u:"+secret+"@h\n", string(data), "which is the project's")
	e = s.one()
	require.Equal(t, []string{"MODEL_KEY=given", "ADDRESS=" + secret + "2", "LEVEL=7"}, e.Env())
	require.Equal(t, "$MODEL_KEY $ADDRESS 7", e.Description)
	require.NotContains(t, extensionstore.VariablesOf(e, ""), "MODEL_KEY")
	require.NotContains(t, extensionstore.VariablesOf(e, ""), "ADDRESS")
	encoded, err := json.Marshal(e)
	require.NoError(t, err)
	require.NotContains(t, string(encoded), "given")
	require.NotContains(t, string(encoded), secret)
	for _, scope := range []extensions.Scope{extensions.ScopeUser, extensions.ScopeWorkspace} {
		require.NoError(t, store.SetSetting(t.Context(), e, "ADDRESS", "plain", scope))
	}
	require.Contains(t, s.one().Env(), "ADDRESS=plain", "no secret is left that goes before it")
}
