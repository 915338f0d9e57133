package unprivileged

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

func TestRun(t *testing.T) {
	top, ok := Run(t, func(top string) {
		if err := os.WriteFile(top+"/private", []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if !ok {
		return
	}
	if os.Getuid() == 0 {
		t.Error("still root")
	}
	if _, err := os.ReadFile(top + "/private"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("reading root's own file = %v, want a refusal", err)
	}
}
