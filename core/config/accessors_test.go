package config_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model/script"
)

// methods calls each method of *Config, and of the services that it locates, that
// returns an error, and each that returns only a value, with zero arguments.
// Initialize and Close are left out.
func methods(t *testing.T, c *config.Config, withError func(name string, call func() (any, error)), plain func(name string, call func() any)) {
	t.Helper()
	methodsOf(t, "", reflect.ValueOf(c), withError, plain)
}

func methodsOf(t *testing.T, prefix string, v reflect.Value, withError func(name string, call func() (any, error)), plain func(name string, call func() any)) {
	t.Helper()
	for m := range v.Type().Methods() {
		f := v.MethodByName(m.Name)
		if m.Name == "Initialize" || m.Name == "Close" {
			continue
		}
		if isLocated(f.Type()) {
			methodsOf(t, m.Name+".", f.Call(nil)[0], withError, plain)
			continue
		}
		args := make([]reflect.Value, f.Type().NumIn())
		for i := range args {
			args[i] = reflect.Zero(f.Type().In(i))
			if f.Type().In(i) == reflect.TypeFor[context.Context]() {
				args[i] = reflect.ValueOf(t.Context())
			}
		}
		switch out := f.Type().NumOut(); {
		case out == 2 && f.Type().Out(1) == reflect.TypeFor[error]():
			withError(prefix+m.Name, func() (any, error) {
				results := f.Call(args)
				err, _ := results[1].Interface().(error)
				return results[0].Interface(), err
			})
		case out == 1 && f.Type().Out(0) == reflect.TypeFor[error]() && m.Name != "SetApprovalMode": // a setter that is valid at any time
			withError(prefix+m.Name, func() (any, error) {
				err, _ := f.Call(args)[0].Interface().(error)
				return nil, err
			})
		case out == 1:
			plain(prefix+m.Name, func() any { return f.Call(args)[0].Interface() })
		}
	}
}

// isLocated reports whether f is the type of a method of Config that locates a
// service.
func isLocated(f reflect.Type) bool {
	if f.NumIn() != 0 || f.NumOut() != 1 {
		return false
	}
	out := f.Out(0)
	return out.Kind() == reflect.Struct && (strings.HasSuffix(out.Name(), "Service") || strings.HasSuffix(out.Name(), "Services"))
}

func requireSame(t *testing.T, a, b any, name string) {
	t.Helper()
	if k := reflect.ValueOf(a).Kind(); k == reflect.Pointer {
		require.Same(t, a, b, name)
		return
	}
	require.Equal(t, a, b, name)
}

// AR-01, AR-02, AR-03: services are available from Initialize to Close and are
// the same at each call; before and after, the error has a type. Accessors
// without an error never fail.
func TestEveryAccessor(t *testing.T) {
	for name, p := range map[string]config.Parameters{"without settings": {}, "with settings": {Settings: &settings.Options{}}} {
		t.Run(name, func(t *testing.T) {
			p.Environment.Layout = quietLayout(t)
			playing(t, "", script.Options{})(&p) // otherwise there is no Client
			c := newConfig(t, p)
			values := 0
			plain := func(name string, call func() any) {
				values++
				requireSame(t, call(), call(), name)
			}
			refuses := func(name string, call func() (any, error)) {
				_, err := call()
				e := fault.As(err)
				require.NotNil(t, e, name)
				require.Equal(t, fault.NotInitialized, e.Code, name)
				require.Contains(t, e.Message, name)
				require.NotEmpty(t, e.Remedy, name)
			}
			methods(t, c, refuses, plain)
			require.NoError(t, c.Initialize(t.Context()))
			services := 0
			methods(t, c, func(name string, call func() (any, error)) {
				one, err := call()
				if name == "Skills.Activate" || name == "Skills.SetEnabled" { // no skill has an empty name
					require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err), name)
					return
				}
				if name == "Extensions.Enable" || name == "Extensions.Disable" { // nor does an extension
					require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), name)
					return
				}
				require.NoError(t, err, name)
				again, err := call()
				require.NoError(t, err, name)
				if name == "Derive" || name == "StartNewSession" || name == "Converse" || name == "MCP.Serve" || name == "RunCommand" { // these make something new
					require.NotEqual(t, one, again, name)
					return
				}
				services++
				requireSame(t, one, again, name)
			}, plain)
			require.NoError(t, c.Close())
			methods(t, c, refuses, plain)
			require.GreaterOrEqual(t, services, 46, "the methods were found")
			require.GreaterOrEqual(t, values, 3*13)
		})
	}
}

// AR-32: data is kept in the user's directory, separately for each project.
func TestStorage(t *testing.T) {
	home := t.TempDir()
	var all []config.Storage
	for range 2 {
		c := newConfig(t, config.Parameters{Environment: config.Environment{HomeDir: home}})
		require.NoError(t, c.Initialize(t.Context()))
		s, err := c.Storage()
		require.NoError(t, err)
		child, err := c.Derive(config.DeriveParameters{})
		require.NoError(t, err)
		of, err := child.Storage()
		require.NoError(t, err)
		require.Equal(t, s, of)
		require.Equal(t, home+"/.fettle", s.GlobalDir)
		require.Regexp(t, "^"+home+"/.fettle/tmp/[0-9a-f]{16}$", s.ProjectTempDir)
		require.NoError(t, child.Close())
		all = append(all, s)
	}
	require.NotEqual(t, all[0].ProjectTempDir, all[1].ProjectTempDir)
	require.NoDirExists(t, all[0].GlobalDir, "nothing is made before it is needed")
}
