package process

import (
	"context"
	"fmt"
	"os"
)

// Feature is a property of the machine that confining commands or changing files
// depends on.
type Feature struct {
	Name   string `json:"name"`
	Works  bool   `json:"works"`
	Detail string `json:"detail"` // a version, or why it does not work
	Use    string `json:"use"`    // what fettle uses it for
}

// Features tests the machine's features. dir is a directory for temporary files, on the
// file system of interest; "": [os.TempDir]. The files are removed.
func Features(ctx context.Context, dir string) []Feature {
	features := []Feature{
		tested("namespaces", "confine commands with tools.sandbox auto, and the approval mode auto", "user, mount, network and process namespaces", Confinement{Kind: Namespaces}.Check(ctx)),
		tested("landlock", "a second layer in addition to namespaces; confine commands without them", "", Confinement{Kind: Landlock}.Check(ctx)),
	}
	more := machineFeatures(dir)
	if version, ok := more["landlock"]; ok && features[1].Works {
		features[1].Detail = version.Detail
	}
	for _, name := range []string{"seccomp", "overlay", "leases", "exchange"} {
		f, ok := more[name]
		if !ok {
			f.Detail = "not supported on this system"
		}
		f.Name = name
		f.Use = map[string]string{
			"seccomp": "refuse system calls of confined commands", "overlay": "show commands the changes of a fork",
			"leases": "notice programs that have a file open while it is changed", "exchange": "replace a file and keep its previous content in one step",
		}[name]
		features = append(features, f)
	}
	return features
}

// tested returns a feature after its test.
func tested(name, use, detail string, err error) Feature {
	f := Feature{Name: name, Works: err == nil, Detail: detail, Use: use}
	if err != nil {
		f.Detail = err.Error()
	}
	return f
}

// withFile calls f with the path of a temporary file, and returns its error.
func withFile(dir string, f func(path string) error) error {
	file, err := os.CreateTemp(dir, ".fettle-doctor-")
	if err != nil {
		return fmt.Errorf("create a temporary file: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // nothing depends on it
	if err := file.Close(); err != nil {
		return err
	}
	return f(file.Name())
}
