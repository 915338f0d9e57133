package main

import (
	"context"
	"os/exec"
	"strings"
)

// peerVersions returns the versions of all installed programs and packages by name. It leaves out
// missing ones; their contestants report the reason.
func peerVersions(ctx context.Context, lab *Lab) map[string]string {
	all := map[string]string{}
	for name, programs := range map[string][]string{
		ripgrep: {"rg"}, fd: {"fd", "fdfind"}, "git": {"git"}, gnuPatch: {"patch"}, "bash": {"bash"}, "Node": {"node"},
	} {
		if version, err := programVersion(ctx, lab, programs...); err == nil {
			all[name] = version
		}
	}
	for _, name := range []string{coreNPM, geminiNPM, qwenNPM, jsdiffNPM} {
		if version, _, err := npmVersion(ctx, lab, name); err == nil {
			all["npm "+name] = version
		}
	}
	return all
}

// programVersion returns the first word with a digit in the first line of a program's --version
// output.
func programVersion(ctx context.Context, lab *Lab, names ...string) (string, error) {
	path, err := lab.Program(names...)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(out), "\n")
	for word := range strings.FieldsSeq(line) {
		if strings.ContainsAny(word, "0123456789") {
			return strings.TrimPrefix(word, "v"), nil
		}
	}
	return "", absent("%s --version prints %.80q", names[0], line)
}
