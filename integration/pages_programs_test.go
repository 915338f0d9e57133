package integration_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/creack/pty"
	"github.com/pelletier/go-toml/v2"
)

// typist is a program for the pages,
//
//	typist FILE PROGRAM ARGS…
//
// It runs PROGRAM in a terminal without cursor control. Whenever the output ends with "> ", it
// types the next line of FILE, and Ctrl-D after the last one. At the end it prints the output of
// the terminal.
func typist() {
	if err := typeInto(os.Args[1], exec.Command(os.Args[2], os.Args[3:]...)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func typeInto(file string, program *exec.Cmd) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	screen, err := pty.StartWithSize(program, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		return err
	}
	defer screen.Close()
	shown, seen, piece := "", 0, make([]byte, 4096)
	for {
		n, err := screen.Read(piece)
		shown += string(piece[:n])
		if err != nil { // the program has ended
			break
		}
		if !strings.HasSuffix(shown[seen:], "> ") {
			continue
		}
		seen = len(shown)
		next := "\x04"
		if len(lines) > 0 {
			next, lines = strings.TrimSuffix(lines[0], "\n")+"\n", lines[1:]
		}
		if _, err := io.WriteString(screen, next); err != nil {
			return err
		}
	}
	fmt.Print(strings.ReplaceAll(shown, "\r\n", "\n"))
	return program.Wait()
}

// mcpstarts is a program for the pages,
//
//	mcpstarts FILE
//
// It reads the configuration of an MCP client in which every server is fettle. It starts each
// server in the current directory, as that client would, and prints its name.
func mcpstarts() {
	if err := startServers(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

// clientServer is a server in the configuration of a client.
type clientServer struct {
	Type    string            `json:"type" toml:"type"`
	Source  string            `json:"source" toml:"source"`
	Command string            `json:"command" toml:"command"`
	Args    []string          `json:"args" toml:"args"`
	Env     map[string]string `json:"env" toml:"env"`
}

func startServers(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	groups := map[string]map[string]clientServer{} // by the client's key
	if filepath.Ext(file) == ".toml" {
		err = toml.NewDecoder(strings.NewReader(string(data))).DisallowUnknownFields().Decode(&groups)
	} else {
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.DisallowUnknownFields()
		err = d.Decode(&groups)
	}
	if err != nil {
		return err
	}
	started := 0
	for key, servers := range groups {
		for name, s := range servers {
			if key != "mcpServers" && key != "servers" && key != "context_servers" && key != "mcp_servers" || name != "fettle" || s.Command != "fettle" {
				return fmt.Errorf("%s.%s, which runs %q, is not a server in a client's configuration", key, name, s.Command)
			}
			if err := startServer(s.Args); err != nil {
				return err
			}
			started++
		}
	}
	if started == 0 {
		return errors.New("the file has no server")
	}
	return nil
}

func startServer(args []string) error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	for i, arg := range args {
		if arg == "/path/of/project" || arg == "${workspaceFolder}" {
			args[i] = here
		}
	}
	cmd := exec.Command("fettle", args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"page","version":"1"}}}`
	if _, err := fmt.Fprintln(in, hello); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return err
	}
	var answer struct {
		Result struct{ ServerInfo struct{ Name string } }
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return err
	}
	if answer.Result.ServerInfo.Name == "" {
		return fmt.Errorf("it answered %s", line)
	}
	fmt.Println(answer.Result.ServerInfo.Name)
	return errors.Join(in.Close(), cmd.Wait())
}
